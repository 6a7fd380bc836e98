import HTTP
import JSON
import LineProtocol
import TestKit
import Testing

@testable import Gateway

@Suite struct AnswerTests {
    private func answer(
        _ answer: Resource.Answer, newID: String? = nil, _ lines: String...
    ) -> String {
        var writer = AnswerWriter(Resource(.get, "test", "PING", as: "test", answer), newID: newID)
        var text = ""
        for line in lines {
            Array(line.utf8).withUnsafeBytes { bytes in
                guard let line = LineView(bytes) else { return }
                if line.isOK {
                    text = AnswerTests.finish(&writer, line)
                } else {
                    writer.append(line)
                }
            }
        }
        return text
    }

    private static func finish(_ writer: inout AnswerWriter, _ line: LineView) -> String {
        do throws(LineError) {
            return String(decoding: try writer.finish(line).joined(), as: UTF8.self)
        } catch {
            return error.description
        }
    }

    @Test func `a long answer is whole, and one that is too long an error`() throws {
        let line = "EDIT at=2026-11-25T00:00:00.000Z text=" + String(repeating: "x", count: 16_384)
        func edits(_ count: Int) -> String {
            var writer = AnswerWriter(
                Resource(.get, "test", "PING", as: "test", .list("edits", .edit, [])), newID: nil)
            var text = ""
            for line in Array(repeating: line, count: count) + ["OK"] {
                Array(line.utf8).withUnsafeBytes { bytes in
                    guard let line = LineView(bytes) else { return }
                    if line.isOK {
                        text = Self.finish(&writer, line)
                        #expect(writer.heldBytes == 0)
                    } else {
                        writer.append(line)
                        #expect(writer.heldBytes <= AppLimits.answerBytesMax + 100_000)
                    }
                }
            }
            return text
        }
        let value = try JSONValue(reading: Array(edits(400).utf8))
        guard case .list(let list)? = value["edits"] else { return #expect(Bool(false)) }
        #expect(list.count == 400)
        #expect(edits(600).hasPrefix("ERR 413 "))
    }

    /// What a line spells, JSON spells: read back, it is the same text.
    @Test func `any text of a line is the same text of JSON`() throws {
        var random = SplitMix64(seed: 5)
        let pieces = [
            "a", " ", "\"", "\\", "\n", "\r", "\t", "\u{1}", "\u{1F}", "\u{7F}", "\u{80}",
            "\u{9F}", "é", "👋🏽", "=", "u{41}", ",",
        ]
        for _ in 0..<2_000 {
            let text = (0..<Int.random(in: 0...8, using: &random)).map { _ in
                pieces[Int.random(in: 0..<pieces.count, using: &random)]
            }.joined()
            let json = answer(
                .one(.profile), "PROFILE user=alice name=\(text.asLineValue) photo=x", "OK")
            let value = try JSONValue(reading: Array(json.utf8))
            #expect(value["name"] == .text(text))
            #expect(value["photo"] == .text("x"))
        }
    }

    @Test func `each value has the type of its key`() {
        #expect(
            answer(
                .list("chats", .chat, ["partial"]),
                #"CHAT id=c1 unread=3 archived=true participants=alice,bob lastText="a \"b\"""#,
                "CHAT id=7 unread=0", "OK partial=true")
                == #"{"chats":[{"id":"c1","unread":3,"archived":true,"#
                + #""participants":["alice","bob"],"lastText":"a \"b\""},"#
                + #"{"id":"7","unread":0}],"partial":true}"#)
    }

    @Test func `an empty list is one`() {
        #expect(
            answer(.list("unread", .unread, ["total"]), "OK total=0") == #"{"unread":[],"total":0}"#
        )
    }

    @Test func `a single line is its object, and a status shows the keys that it has`() {
        #expect(
            answer(.one(.profile), #"PROFILE user=alice name="""#, "OK")
                == #"{"user":"alice","name":""}"#)
        #expect(
            answer(.status(["id", "at"]), "OK id=m1 at=2026-11-25T00:00:00.000Z replicas=2/3")
                == #"{"id":"m1","at":"2026-11-25T00:00:00.000Z"}"#)
        #expect(
            answer(.status(["id", "replicas"]), "OK id=m1 replicas=2/3")
                == #"{"id":"m1","replicas":2,"owners":3}"#)
        #expect(answer(.status(["id"]), newID: "c1", "OK") == #"{"id":"c1"}"#)
    }

    @Test func `an error repeats the sentence without how a line is written`() {
        let told = [
            "Missing <text>; usage: SEND <conversation>": "Missing text",
            "title= too long: at most 512 bytes": "title too long: at most 512 bytes",
            "Empty find=; write -- before a text that begins so": "Empty find",
            "A secret; a=b == c": "A secret; a=b = c",
        ]
        for (sentence, message) in told {
            #expect(
                String(decoding: LineError(400, sentence).json, as: UTF8.self)
                    == #"{"error":{"code":400,"reason":"bad_request","message":"\#(message)"}}"#)
        }
    }

    @Test func `a limit that no waiting changes is a conflict, another one says how long to wait`()
        throws
    {
        let lasting = [
            "A message has at most 100 edits": "too_many_edits",
            "A user has at most 32 devices": "too_many_devices",
        ]
        for (sentence, reason) in lasting {
            let error = LineError(429, sentence)
            let response = AppResponse(error)
            #expect(response.status.rawValue == 409 && response.retryAfter == nil)
            #expect(
                String(decoding: response.body.joined(), as: UTF8.self)
                    == #"{"error":{"code":409,"reason":"\#(reason)","message":"\#(sentence)"}}"#)
        }
        let passing = AppResponse(LineError(429, "Too many type at once"))
        #expect(passing.status.rawValue == 429 && passing.retryAfter == 1)
    }

    @Test func `lines are cut wherever the pieces end`() {
        let bytes = Array("DEVICE id=a token=t\nOK\nERR 404 No such\n".utf8)
        for first in 0...bytes.count {
            var cutter = ReplyCutter()
            var nouns: [String] = []
            var error: LineError?
            for piece in [bytes[..<first], bytes[first...]] {
                cutter.cut(Array(piece)) { line in
                    nouns.append(String(decoding: line.noun, as: UTF8.self))
                    error = line.error
                }
            }
            #expect(nouns == ["DEVICE", "OK", "ERR"] && cutter.heldBytes == 0)
            #expect(error == LineError(404, "No such"))
        }
    }

    @Test func `a client without a place is told so in a page, too`() {
        let answer = String(
            decoding: AppConnection.refusal(at: 0, isEncrypted: true), as: UTF8.self)
        #expect(answer.hasPrefix("HTTP/1.1 503 "))
        for field in [
            "Access-Control-Allow-Origin: *", "Strict-Transport-Security: max-age=31536000",
            "Date: Thu, 01 Jan 1970 00:00:00 GMT", "Retry-After: ", "Connection: close",
        ] {
            #expect(answer.contains("\r\n" + field), "\(field)")
        }
    }
}
