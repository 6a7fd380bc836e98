import Chat
import HTTP
import JSON
import LineProtocol
import TestKit
import Testing
import Wire

@testable import Gateway

@Suite struct TranslationTests {
    private func translate(
        _ method: Method, _ path: String, _ body: String = "{}"
    ) throws -> Request? {
        let target = try RequestTarget(path)
        let route = try Route(method, target.segments)
        guard case .object(let members) = try JSONValue(reading: Array(body.utf8)) else {
            return nil
        }
        let parameters = members + (try AppRequest.members(of: target.query))
        return try route.translate(parameters, by: UserID(checked: "alice")) { "new1" }.request
    }

    /// Returns the request that a line is, with the response that the API gives.
    private func line(_ text: String) throws -> Request? {
        try Array(text.utf8).withUnsafeBytes { try Request.parse($0) { "new1" } }?
            .ofAPI
    }

    @Test func `requests are those of lines of the protocol`() throws {
        #expect(
            try translate(
                .post, "/v1/conversations", #"{"participants":["bob"],"title":"a \"b\""}"#)
                == (try line(#"CREATE new1 alice,bob title="a \"b\"""#)))
        #expect(
            try translate(.post, "/v1/conversations/c1/messages", #"{"id":"m1","text":"a=b\n\\n"}"#)
                == (try line(#"SEND c1 alice id=m1 -- a=b\n\\n"#)))
        #expect(
            try translate(.get, "/v1/conversations/c1/messages?limit=5&before=m1")
                == (try line("HISTORY c1 alice limit=5 before=m1 bytes=1048576")))
        #expect(
            try translate(.delete, "/v1/conversations/c1/messages/m1?for=everyone")
                == (try line("DELETE c1 m1 alice for=everyone")))
        #expect(
            try translate(.put, "/v1/conversations/c1/participants/bob")
                == (try line("INVITE c1 alice bob")))
        #expect(
            try translate(.patch, "/v1/items/i1", #"{"due":null,"priority":null}"#)
                == (try line(#"ACTION EDIT alice i1 due="" priority="""#)))
        #expect(
            try translate(.patch, "/v1/profile", #"{"name":"","email":null}"#)
                == (try line(#"PROFILE alice name="" email="""#)))
        #expect(
            try translate(.put, "/v1/conversations/c1/typing", #"{"on":false}"#)
                == (try line("TYPING c1 alice off")))
        #expect(
            try translate(
                .post, "/v1/conversations/c1/messages", #"{"id":"m1","type":"image","blob":"f"}"#)
                == (try line("SEND c1 alice id=m1 type=image blob=f")))
        #expect(
            try translate(.put, "/v1/conversations/c1/marks/read") == (try line("READ c1 alice")))
        #expect(
            try translate(.put, "/v1/devices/phone/viewing", #"{"conversation":"c1"}"#)
                == (try line("VIEWING alice phone c1 lease=true")))
        #expect(
            try translate(.post, "/v1/conversations/c1/leave")
                == (try line("LEAVECHAT c1 alice again=true")))
        let notification = "/v1/devices/phone/notifications/n1"
        #expect(
            try translate(.delete, notification) == (try line("NOTIFIED alice phone n1 only=true")))
        #expect(
            try translate(.delete, notification + "?upTo=false")
                == (try line("NOTIFIED alice phone n1 only=true")))
        #expect(
            try translate(.delete, notification + "?upTo=true")
                == (try line("NOTIFIED alice phone n1")))
    }

    @Test(arguments: [
        (Method.post, "/v1/conversations/c1/messages", #"{"text":"x","user":"bob"}"#),
        (.post, "/v1/conversations/c1/messages", #"{"text":7}"#),
        (.put, "/v1/devices/phone", "{}"),
        (.delete, "/v1/devices/phone/notifications/n1?upTo=yes", "{}"),
        (.delete, "/v1/devices/phone/notifications/n1?only=true", "{}"),
        (.post, "/v1/conversations/a%20b/messages", #"{"text":"x"}"#),
        (.post, "/v1/conversations/a%0Ab/messages", #"{"text":"x"}"#),
        (.post, "/v1/conversations//messages", #"{"text":"x"}"#),
        (.post, "/v1/conversations", #"{"participants":"bob"}"#),
        (.post, "/v1/conversations", #"{"participants":["bob,carol"]}"#),
        (.post, "/v1/conversations", #"{"participants":["bob x"]}"#),
        (.put, "/v1/conversations/c1/typing", #"{"on":"yes"}"#),
        (.put, "/v1/conversations/c1/typing", "{}"),
        (.patch, "/v1/items/i1", #"{"due":""}"#),
        (.patch, "/v1/items/i1", #"{"title":null}"#),
        (.post, "/v1/conversations/c1/messages", #"{"id":null,"text":"x"}"#),
        (.delete, "/v1/devices/phone/notifications/n%201", "{}"),
    ])
    func `what is not as the row of the verb prescribes is refused`(
        method: Method, path: String, body: String
    ) {
        #expect(throws: (any Error).self) { try translate(method, path, body) }
    }

    /// Whatever a client sends becomes a request of the resource's verb, by the user who is signed
    /// in: no value stands for an argument, an option or a text.
    @Test func `no value leaves its place`() throws {
        var random = SplitMix64(seed: 3)
        let pieces = [
            "a", "\n", "\r\n", " ", "\"", "\\", "=", " id=", "-- ", "for=everyone", "bob", ",",
            "é", "\u{85}", "\u{2028}", "\u{1F}", "SEND c1 bob x", "\t", "\u{7F}", "'", "\\n",
        ]
        func text() -> String {
            (0..<Int.random(in: 0...6, using: &random)).map { _ in
                pieces[Int.random(in: 0..<pieces.count, using: &random)]
            }.joined()
        }
        var accepted = 0
        for _ in 0..<20_000 {
            let resource = Resource.all[Int.random(in: 0..<Resource.all.count, using: &random)]
            let path = resource.segments.map { segment in
                if case .word(let word) = segment { return word }
                return Bool.random(using: &random) ? "c1" : text()
            }
            let route = try Route(resource.method, ["v1"] + path)
            let values = resource.keys.map { ($0, text()) }
            let members = values.map { JSONValue.Member($0.0, .text($0.1)) }
            let request: Request
            do throws(LineError) {
                request = try route.translate(members, by: UserID(checked: "alice")) {
                    "new1"
                }.request
            } catch {
                continue
            }
            accepted += 1
            switch request {
            case .write(let mutation, _, _):
                #expect(route.resource.method != .get, "a GET that writes")
                #expect(mutation.user == UserID(checked: "alice"))
                if let sent = (mutation.action as? any MessageAction)?.newText {
                    #expect(values.contains { $0 == ("text", sent) })
                }
            case .read(_, let user), .list(_, let user, _):
                #expect(user == UserID(checked: "alice"))
            default: break
            }
        }
        #expect(accepted > 1_000)
    }
}
