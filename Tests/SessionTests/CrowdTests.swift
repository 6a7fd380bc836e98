import LineProtocol
import Node
import Testing

@testable import Session

/// Many sessions that share their memory.
@Suite struct CrowdTests {
    private let world = World()
    private var node: TestNode { world.n1 }

    @Test func `a long line is refused where others hold everything, and a short one is not`() {
        let hogs = (0..<400).map { _ in node.connectShared() }
        let half = String(repeating: "x", count: 60_000)
        for hog in hogs { hog.feed(half) }
        let refused = hogs.filter { $0.heard() == ["ERR 503 \(LineError.noRoomForLine.sentence)"] }
        #expect(refused.count > 20)
        #expect(node.room.assumeIsolated { $0.heldBytes } <= SessionLimits.heldBytesMax + 60_000)
        let other = node.connectShared()
        #expect(other.ask("CREATE c alice,bob", "SEND c alice hello").count == 2)
        // What is refused is skipped to its end, and the connection stays usable.
        refused.first?.feed("xxx\nPING\n")
        #expect(refused.first?.heard() == ["OK pong"])
    }

    @Test func `a line without an end is refused after a while`() {
        let hogs = (0..<200).map { _ in node.connectShared() }
        for hog in hogs { hog.feed(String(repeating: "x", count: 60_000)) }
        node.clearRoom()
        #expect(hogs.allSatisfy { $0.heard().isEmpty })
        node.clock.advance(milliseconds: SessionLimits.stillMillisecondsMax)
        node.clearRoom()
        let refused = hogs.filter { $0.heard().first?.hasPrefix("ERR 503 ") ?? false }
        #expect(refused.count > 50)
        #expect(!node.room.assumeIsolated { $0.isTight })
    }

    @Test func `who does not read is let go, and who waited for room is answered`() {
        let writer = node.connectShared()
        #expect(writer.ask("CREATE c alice,bob") == ["OK"])
        let text = String(repeating: "x", count: 16_000)
        for number in 0..<100 { _ = writer.ask("SEND c alice id=m\(number) \(text)") }
        let deaf = (0..<20).map { _ in node.connectShared() }
        for client in deaf {
            client.clog(true)
            client.feed("HISTORY c bob limit=100\n")
        }
        #expect(
            node.room.assumeIsolated { $0.heldBytes } <= SessionLimits.heldBytesMax + 2 << 20)
        let reader = node.connectShared()
        reader.feed("HISTORY c bob limit=100\n")
        node.endTurn()
        for _ in 0..<4 {
            node.clock.advance(milliseconds: SessionLimits.stillMillisecondsMax)
            node.clearRoom()
            node.endTurn()
        }
        #expect(deaf.contains { $0.output.assumeIsolated { $0.isAborted } })
        #expect(reader.heard().last == "OK")
    }

    @Test func `many lines at once are answered in turns`() {
        let greedy = node.connectShared()
        let count = SessionLimits.slotsMax + 500
        greedy.feed(String(repeating: "PING\n", count: count))
        #expect(greedy.heard().count == SessionLimits.slotsMax)
        #expect(greedy.isPaused)
        node.endTurn()
        #expect(greedy.heard().count == 500)
        #expect(!greedy.isPaused)
    }

    @Test func `the more there are, the less of each is answered in a turn`() {
        let greedy = (0..<64).map { _ in node.connectShared() }
        let lines = String(repeating: "PING\n", count: 5_000)
        for client in greedy { client.feed(lines) }
        for client in greedy { _ = client.heard() }
        node.endTurn()
        let share = SessionLimits.linesPerTurnMax / greedy.count
        #expect(greedy.allSatisfy { $0.heard().count == share })
    }
}
