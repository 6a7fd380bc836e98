import LineProtocol
import Testing

@testable import Gateway

@Suite struct AnswerTests {
    private func answer(_ answer: Resource.Answer, newID: String? = nil, _ lines: String...)
        -> String
    {
        var writer = AnswerWriter(answer, newID: newID)
        for line in lines {
            switch ReplyLine(line) {
            case .data(_, let fields)?: writer.append(fields)
            case .ok(let status)?: return String(decoding: writer.finish(status), as: UTF8.self)
            case .error?, nil: break
            }
        }
        return ""
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
        #expect(answer(.status(["id"]), newID: "c1", "OK") == #"{"id":"c1"}"#)
    }

    @Test func `an error repeats the sentence without how a line is written`() {
        let error = LineError(400, "Missing <text>; usage: SEND <conversation>")
        #expect(
            String(decoding: error.json, as: UTF8.self)
                == #"{"error":{"code":400,"message":"Missing <text>"}}"#)
    }

    @Test func `lines are cut wherever the pieces end`() {
        let bytes = Array("DEVICE id=a token=t\nOK\nERR 404 No such\n".utf8)
        for first in 0...bytes.count {
            var cutter = ReplyCutter()
            var lines: [ReplyLine] = []
            cutter.cut(Array(bytes[..<first])) { lines.append($0) }
            cutter.cut(Array(bytes[first...])) { lines.append($0) }
            #expect(lines.count == 3 && cutter.heldBytes == 0)
            #expect(lines.last == .error(LineError(404, "No such")))
        }
    }
}
