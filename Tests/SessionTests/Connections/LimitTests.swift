import LineProtocol
import Node
import NodeKit
import Testing

@testable import Session

/// The lines of `HELP limits`.
@Suite struct LimitTests {
    private let lines = World().n1.connect().ask("HELP limits")

    @Test func `every limit has a name, a value, a unit and what happens beyond`() throws {
        #expect(lines.last == "OK")
        #expect(lines.count > 25)
        var names: Set<String> = []
        for line in lines.dropLast() {
            guard case .data("LIMIT", let fields) = ReplyLine(line) else {
                Issue.record("\(line)")
                continue
            }
            #expect(fields.pairs.map(\.key) == ["name", "value", "unit", "answer"])
            #expect(fields.pairs.allSatisfy { !$0.value.isEmpty })
            #expect(Int(fields["value"] ?? "") ?? 0 > 0)
            #expect(names.insert(fields["name"] ?? "").inserted, "\(line)")
        }
    }

    @Test func `a limit says what is done, and the line protocol does that`() throws {
        let line = try #require(lines.first { $0.hasPrefix("LIMIT name=line-bytes ") })
        #expect(line.contains(" value=\(LineLimits.lineBytesMax) unit=bytes answer=\"413, "))
        let client = World().n1.connect()
        client.feed(String(repeating: " ", count: LineLimits.lineBytesMax) + "PING\nPING\n")
        #expect(client.heard() == [LineError.lineTooLong.description, "OK pong"])
    }

    @Test func `limits of the line, of a connection and of the node are among them`() {
        for name in ["text-bytes", "unsent-replies", "peer-queue-bytes", "members"] {
            #expect(lines.contains { $0.hasPrefix("LIMIT name=\(name) ") }, "\(name)")
        }
        #expect(World().n1.connect().ask("help LIMITS") == lines)
    }
}
