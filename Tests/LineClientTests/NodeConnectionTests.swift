import ChatClient
import LineProtocol
import NetworkIO
import Testing

@testable import LineClient

@Suite struct NodeConnectionTests {
    /// Returns what a node connection reports, in words.
    private func happenings(
        until last: String, answering answer: @escaping (String, Connection) -> Void,
        then body: @escaping (NodeConnection, String) -> Void
    ) throws -> [String] {
        var told: [String] = []
        try onLoop { loop, stop in
            let server = try ScriptedServer(on: loop, answer)
            var link: NodeConnection?
            link = NodeConnection([]) { happening in
                let word = Self.word(happening)
                told.append(word)
                if let link { body(link, word) }
                if word.hasPrefix(last) { stop() }
            }
            link?.dial("\(server.address)", on: loop)
        }
        return told
    }

    private static func word(_ happening: Happening) -> String {
        switch happening {
        case .connected: "connected"
        case .lost(let why): "lost \(why)"
        case .answered(let number, let lines): "answered \(number) with \(lines.count) lines"
        case .watchAnswered(.ok(let fields)): "watching from \(fields["token"] ?? "?")"
        case .event(let fields): "event \(fields["kind"] ?? "?")"
        default: "\(happening)"
        }
    }

    @Test func `requests have one connection, events another`() throws {
        let told = try happenings(until: "event pin") { line, connection in
            switch line {
            case "WATCH alice":
                connection.write(Array("OK token=t1\nEVENT kind=pin id=m1\n".utf8))
            case "CHATS": connection.write(Array("CHAT id=c1\nOK\n".utf8))
            default: Issue.record("unexpected: \(line)")
            }
        } then: { link, word in
            if word == "connected" { link.ask(7, "CHATS") }
            if word.hasPrefix("answered") { link.watch("WATCH alice") }
        }
        let wanted = ["connected", "answered 7 with 2 lines", "watching from t1", "event pin"]
        #expect(Array(told.prefix(4)) == wanted)
    }

    @Test func `one connection that ends takes the other with it, and that is told once`() throws {
        let told = try happenings(until: "lost") { line, connection in
            if line == "WATCH alice" { connection.close() }
        } then: { link, word in
            guard word == "connected" else { return }
            link.ask(1, "CHATS")
            link.watch("WATCH alice")
        }
        #expect(told.count == 2)
        #expect(told.last?.hasPrefix("lost ") == true)
    }

    @Test func `what is no address is told as lost`() throws {
        var told: [String] = []
        try onLoop { loop, stop in
            let link = NodeConnection([]) { told.append(Self.word($0)) }
            link.dial("nowhere", on: loop)
            stop()
        }
        #expect(told == ["lost is no address"])
    }
}
