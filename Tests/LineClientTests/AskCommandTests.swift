import Foundation
import NetworkIO
import Testing

@testable import LineClient

@Suite struct AskCommandTests {
    @Test func `words that make no sense are told, with status 64`() {
        #expect(AskCommand.run([]) == 64)
        #expect(AskCommand.run(["127.0.0.1:7201"]) == 64)
        #expect(AskCommand.run(["nowhere", "PING"]) == 64)
        #expect(AskCommand.run(["127.0.0.1:0", "PING"]) == 64)
        #expect(AskCommand.run(["127.0.0.1:7201", "PING\nPING"]) == 64)
        #expect(AskCommand.run(["--help"]) == 0)
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
        #expect(AskCommand.run([address.description, "PING", "  ", "PING"]) == 0)
        #expect(AskCommand.run([address.description, "PING", "BAD", "PING"]) == 1)
        #expect(AskCommand.run([address.description, "PING", "HANG UP"]) == 69)
        #expect(AskCommand.run(["127.0.0.1:1", "PING"]) == 69)
    }

    @Test func `a key file signs in first, with the second key where the first is unknown`()
        async throws
    {
        let (old, next) = ("4fbca07d1f83ee5b1bd42d7a90e7c1a2", "9d1e6a03c7f8254bb02d7e914ca5f638")
        let path = FileManager.default.temporaryDirectory.path + "/keys-\(UUID())"
        #expect(
            FileManager.default.createFile(
                atPath: path, contents: Data("\(next)\n\(old)\n".utf8),
                attributes: [.posixPermissions: 0o600]))
        defer { unlink(path) }
        let thread = try LoopThread()
        defer { thread.join() }
        let loop = thread.loop
        let heard = Lock<[String]>([])
        let answers = Lock(["AUTH \(old)": "OK\n"])
        let address: SocketAddress = try await withCheckedThrowingContinuation { continuation in
            loop.post {
                let server = Result {
                    try ScriptedServer(on: loop) { line, connection in
                        heard.withLock { $0.append(line) }
                        let reply = answers.withLock { $0[line] }
                        let other = line == "PING" ? "OK pong\n" : "ERR 401 Wrong secret\n"
                        connection.write(Array((reply ?? other).utf8))
                    }.address
                }
                continuation.resume(with: server)
            }
        }
        let words = ["--key-file", path, address.description, "PING"]
        #expect(AskCommand.run(words) == 0)
        #expect(heard.withLock { $0 } == ["AUTH \(next)", "AUTH \(old)", "PING"])
        // Where both are wrong, nothing else is sent.
        answers.withLock { $0 = [:] }
        heard.withLock { $0 = [] }
        #expect(AskCommand.run(["--key-file=\(path)", address.description, "PING"]) == 1)
        #expect(heard.withLock { $0 } == ["AUTH \(next)", "AUTH \(old)"])
        // A node without a key requires none.
        answers.withLock { $0 = ["AUTH \(next)": "ERR 403 This node has no key\n"] }
        #expect(AskCommand.run(words) == 0)
        #expect(AskCommand.run(["--key-file", "/nowhere", address.description, "PING"]) == 64)
        #expect(AskCommand.run(["--key-file"]) == 64)
    }
}
