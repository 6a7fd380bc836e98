import NodeKit
import Testing

@testable import Session

/// A web page in a browser must not be able to control the port.
@Suite struct BrowserTests {
    private let world = World()
    private static let refusal =
        "ERR 400 This port speaks lines, not HTTP; HELP lists the verbs"

    @Test(arguments: [
        "POST / HTTP/1.1", "GET /?q=1 HTTP/1.1", "PUT /x HTTP/1.1", "HEAD / HTTP/1.0",
        "OPTIONS * HTTP/1.1", "PATCH /x HTTP/1.1", "post / HTTP/1.1", "Host: localhost:7201",
        "host:localhost:7201", "GET", "PRI * HTTP/2.0",
    ])
    func `a line as a browser sends it ends the connection`(_ line: String) {
        let client = world.n1.connect()
        #expect(client.ask("CREATE c alice,bob") == ["OK"])
        let replies = client.ask("PING", line, "SEND c alice id=m hello", "PING")
        #expect(replies == ["OK pong", Self.refusal])
        #expect(client.isFinished)
        client.say("SEND c alice id=m hello")
        world.n1.settle()
        #expect(client.heard().isEmpty)
        #expect(world.n1.connect().ask("HISTORY c alice") == ["OK"])
    }

    @Test func `what only looks a little like it is a line like any other`() {
        let client = world.n1.connect()
        _ = client.ask("CREATE c alice,bob")
        let replies = client.ask(
            "SEND c alice GET / HTTP/1.1", "SEND c alice Host: me", "GETS", "DELETE / HTTP/1.1")
        #expect(replies.prefix(2).allSatisfy { $0.hasPrefix("OK id=") })
        #expect(replies.dropFirst(2).map { $0.prefix(7) } == ["ERR 400", "ERR 400"])
        #expect(!client.isFinished)
    }
}
