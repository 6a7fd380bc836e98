import Glibc
import NetworkIO
import Node
import Testing

@testable import Server

@Suite struct NodeLogTests {
    /// Returns what a log of this level writes.
    private func written(
        level: String = "info", _ body: (NodeLog) -> Void
    ) throws -> [String] {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        let command = try NodeCommand([
            "--name", "n1", "--data", "d", "--gossip", "127.0.0.1:0", "--admin", "127.0.0.1:0",
            "--log", level,
        ])
        let writer = try LineWriter(ends[1]) { "dropped \($0)" }
        body(NodeLog(command, at: SystemClock(try EventLoop()), to: writer))
        #expect(writer.finish(withinMilliseconds: 20_000))
        close(ends[1])
        var bytes = [UInt8](repeating: 0, count: 64 * 1024)
        let count = read(ends[0], &bytes, bytes.count)
        let text = String(decoding: bytes[..<max(0, count)], as: UTF8.self)
        return text.split(separator: "\n").map { line in
            // Without the time.
            line.split(separator: " ").dropFirst().joined(separator: " ")
        }
    }

    @Test func `what others make up is one line, and does nothing to a terminal`() throws {
        let lines = try written { log in
            log.write(.info, "backed up file=/x\u{1b}[2J\r\nforged node=n9\u{9b}0m\u{202e}.db")
        }
        #expect(
            lines == [
                #"info node=n1 backed up file=/x\u{1b}[2J\r\nforged node=n9\u{9b}0m\u{202e}.db"#
            ])
    }

    @Test func `only what is asked for is written, and of one kind a few`() throws {
        let lines = try written { log in
            log.write(.debug, "detail")
            for number in 0..<1_000 { log.write(.info, "disconnected peer=n2 x=\(number)") }
        }
        #expect(lines.count == LogLimit.linesMax)
    }
}
