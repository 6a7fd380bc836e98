import NetworkIO
import Testing

@testable import LineClient

@Suite struct AskTests {
    @Test func `words that make no sense are told, with status 64`() {
        #expect(Ask.run([]) == 64)
        #expect(Ask.run(["127.0.0.1:7201"]) == 64)
        #expect(Ask.run(["nowhere", "PING"]) == 64)
        #expect(Ask.run(["127.0.0.1:0", "PING"]) == 64)
        #expect(Ask.run(["127.0.0.1:7201", "PING\nPING"]) == 64)
        #expect(Ask.run(["--help"]) == 0)
    }

    @Test func `a WAIT is waited for as long as it asks`() {
        #expect(patience(for: "PING") == 10_000)
        #expect(patience(for: "wait 3 60000") == 70_000)
        #expect(patience(for: "WAIT 3 99999999999") == 70_000)
        #expect(patience(for: "WAIT 3 soon") == 10_000)
    }

    @Test func `lines are asked one after the other, and an ERR is the exit status`() async throws {
        let thread = try LoopThread()
        defer { thread.join() }
        let loop = thread.loop
        let address: SocketAddress = try await withCheckedThrowingContinuation { continuation in
            loop.post {
                let server = Result {
                    try ScriptedServer(on: loop) { line, connection in
                        if line == "HANG UP" { return connection.closeAfterFlush() }
                        let reply = line == "BAD" ? "ERR 404 No such verb\n" : "OK pong\n"
                        connection.write(Array(reply.utf8))
                    }.address
                }
                continuation.resume(with: server)
            }
        }
        #expect(Ask.run([address.description, "PING", "  ", "PING"]) == 0)
        #expect(Ask.run([address.description, "PING", "BAD", "PING"]) == 1)
        #expect(Ask.run([address.description, "PING", "HANG UP"]) == 69)
        #expect(Ask.run(["127.0.0.1:1", "PING"]) == 69)
    }
}
