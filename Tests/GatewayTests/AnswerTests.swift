import CRDT
import Chat
import HTTP
import JSON
import LineProtocol
import Node
import TestKit
import Testing
import Wire

@testable import Admin
@testable import Gateway

@Suite struct AnswerTests {
    private func answer(
        _ form: HTTPEndpoint.Answer, newID: String? = nil, to response: Response
    ) -> String {
        let resource = Resource(
            HTTPEndpoint(.get, "test", "test", in: .events, form), of: Verb.named("PING"))
        do throws(LineError) {
            let pieces = try resource.pieces(of: response, newID: newID)
            return String(decoding: pieces.joined(), as: UTF8.self)
        } catch {
            return error.description
        }
    }

    private func found(_ findings: some Findings, isPartial: Bool = false) -> Response {
        .found(Listing(AnyFindings(findings), .whole, isPartial: isPartial))
    }

    private func profile(_ name: String) -> ProfileView {
        ProfileView(
            user: UserID(checked: "alice"), name: name, email: nil, photo: "x",
            createdAt: HybridTimestamp(milliseconds: 0))
    }

    @Test func `a long answer is whole, and one that is too long an error`() throws {
        let edit = EditView(
            at: HybridTimestamp(milliseconds: 0), text: String(repeating: "x", count: 16_384))
        func edits(_ count: Int) -> String {
            answer(
                .list("edits", View<EditView>.edit, []),
                to: found(Array(repeating: edit, count: count)))
        }
        let value = try JSONValue(reading: Array(edits(400).utf8))
        guard case .list(let list)? = value["edits"] else { return #expect(Bool(false)) }
        #expect(list.count == 400)
        #expect(edits(600).hasPrefix("ERR 413 "))
    }

    @Test func `any text is the same text of JSON`() throws {
        var random = SplitMix64(seed: 5)
        let pieces = [
            "a", " ", "\"", "\\", "\n", "\r", "\t", "\u{1}", "\u{1F}", "\u{7F}", "\u{80}",
            "\u{9F}", "é", "👋🏽", "=", "u{41}", ",",
        ]
        for _ in 0..<2_000 {
            let text = (0..<Int.random(in: 0...8, using: &random)).map { _ in
                pieces[Int.random(in: 0..<pieces.count, using: &random)]
            }.joined()
            let json = answer(.one(View<ProfileView>.profile), to: found(profile(text)))
            let value = try JSONValue(reading: Array(json.utf8))
            #expect(value["name"] == .text(text))
            #expect(value["photo"] == .text("x"))
        }
    }

    @Test func `each value has the type of its field, and a missing one is left out`() {
        let item = ItemView(
            id: ItemID(checked: "7"), isDone: true, due: DueTime(milliseconds: 0), priority: .high,
            chat: nil, message: nil, title: #"a "b""#)
        #expect(
            answer(
                .list("items", View<ItemView>.action, ["partial"]),
                to: found([item], isPartial: true))
                == #"{"items":[{"id":"7","done":true,"due":"1970-01-01T00:00:00.000Z","#
                + #""priority":"high","title":"a \"b\""}],"partial":true}"#)
    }

    @Test func `an empty list is one`() {
        #expect(
            answer(.list("unread", View<UnreadCount>.unread, ["total"]), to: found([UnreadCount]()))
                == #"{"unread":[],"total":0}"#)
    }

    @Test func `a single row is its object, and a status shows the keys that it has`() {
        #expect(
            answer(.one(View<ProfileView>.profile), to: found(profile("")))
                == #"{"user":"alice","name":"","photo":"x","#
                + #""createdAt":"1970-01-01T00:00:00.000Z"}"#)
        let watching = Response.watching(StreamStart(token: "t", stream: nil), isExact: false)
        #expect(answer(.status(["token"]), to: watching) == #"{"token":"t"}"#)
        #expect(answer(.status(["id"]), to: watching) == "{}")
        #expect(answer(.status(["id"]), newID: "c1", to: .done) == #"{"id":"c1"}"#)
        #expect(answer(.status([]), to: .failed(.notUTF8)) == LineError.notUTF8.description)
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
