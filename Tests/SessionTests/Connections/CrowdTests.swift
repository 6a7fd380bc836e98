import LineProtocol
import Node
import NodeKit
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
        let refused = hogs.filter {
            $0.heard() == ["ERR 503 \(LineError.noMemoryForLine.sentence)"]
        }
        #expect(refused.count > 20)
        #expect(node.memory.assumeIsolated { $0.heldBytes } <= SessionLimits.heldBytesMax + 60_000)
        let other = node.connectShared()
        #expect(other.ask("CREATE c alice,bob", "SEND c alice hello").count == 2)
        // A refused line is skipped to its end, and the connection stays usable.
        refused.first?.feed("xxx\nPING\n")
        #expect(refused.first?.heard() == ["OK pong"])
    }

    @Test func `a line without an end is refused after a while`() {
        let hogs = (0..<200).map { _ in node.connectShared() }
        for hog in hogs { hog.feed(String(repeating: "x", count: 60_000)) }
        node.disconnectStalledClients()
        #expect(hogs.allSatisfy { $0.heard().isEmpty })
        node.clock.advance(milliseconds: SessionLimits.stalledMillisecondsMax)
        node.disconnectStalledClients()
        let refused = hogs.filter { $0.heard().first?.hasPrefix("ERR 503 ") ?? false }
        #expect(refused.count > 50)
        #expect(!node.memory.assumeIsolated { $0.isTight })
    }

    @Test func `who does not read is let go, and who waited for memory is answered`() {
        let writer = node.connectShared()
        #expect(writer.ask("CREATE c alice,bob") == ["OK"])
        let text = String(repeating: "x", count: 16_384)
        for number in 0..<100 { _ = writer.ask("SEND c alice id=m\(number) \(text)") }
        let deaf = (0..<20).map { _ in node.connectShared() }
        for client in deaf {
            client.clog(true)
            client.feed("HISTORY c bob limit=100\n")
        }
        #expect(
            node.memory.assumeIsolated { $0.heldBytes } <= SessionLimits.heldBytesMax + 2 << 20)
        let reader = node.connectShared()
        reader.feed("HISTORY c bob limit=100\n")
        node.endTurn()
        for _ in 0..<4 {
            node.clock.advance(milliseconds: SessionLimits.stalledMillisecondsMax)
            node.disconnectStalledClients()
            node.endTurn()
        }
        #expect(deaf.contains { $0.output.assumeIsolated { $0.isAborted } })
        #expect(reader.heard().last == "OK")
    }

    @Test func `who watches and does not read is let go where all hold as much as they may`() {
        let writer = node.connectShared()
        #expect(writer.ask("CREATE c alice,bob") == ["OK"])
        let deaf = (0..<8).map { _ in node.connectShared() }
        for client in deaf {
            #expect(client.ask("WATCH bob").count == 1)
            client.clog(true)
        }
        let hogs = (0..<400).map { _ in node.connectShared() }
        for hog in hogs { hog.feed(String(repeating: "x", count: 60_000)) }
        let text = String(repeating: "x", count: 16_384)
        for number in 0..<4 {
            #expect(writer.ask("SEND c alice id=m\(number) \(text)").count == 1)
            let held = node.memory.assumeIsolated { $0.heldBytes }
            // Each session may hold a little whatever the others hold, and one event more.
            #expect(
                held < SessionLimits.heldBytesMax + deaf.count * 2 * SessionLimits.freeBytes)
        }
        #expect(deaf.contains { $0.output.assumeIsolated { $0.isAborted } })
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

    @Test func `who asks for much is answered in turns, and who asks for little at once`() {
        // Each request takes a quarter of a share or more.
        node.clock.setStep(microseconds: SessionLimits.turnMicrosecondsMax / 16)
        let greedy = node.connectShared()
        greedy.feed(String(repeating: "UNREAD alice\n", count: 200))
        #expect(greedy.isPaused)
        let first = greedy.heard().count
        #expect(first > 0 && first <= 4)
        let modest = node.connectShared()
        modest.feed("PING\n")
        #expect(modest.heard() == ["OK pong"])
        var answered = first
        for _ in 0..<200 {
            node.endTurn()
            let more = greedy.heard().count
            #expect(more <= 4)
            answered += more
        }
        #expect(answered == 200)
    }

    @Test func `reports that are made in order take turns, too`() {
        node.clock.setStep(microseconds: SessionLimits.turnMicrosecondsMax / 8)
        let greedy = node.connectShared()
        greedy.feed(String(repeating: "STATUS\n", count: 64))
        var answered = 0
        for _ in 0..<200 {
            let more = greedy.heard().count { $0.hasPrefix("OK") }
            #expect(more <= 4)
            answered += more
            node.endTurn()
        }
        #expect(answered == 64)
    }

    @Test func `all those together take no longer than a turn may`() {
        node.clock.setStep(microseconds: SessionLimits.turnMicrosecondsMin)
        let greedy = (0..<200).map { _ in node.connectShared() }
        for client in greedy { client.feed(String(repeating: "UNREAD alice\n", count: 20)) }
        var answered = 0
        let most = Int(SessionLimits.turnMicrosecondsMax / SessionLimits.turnMicrosecondsMin)
        for _ in 0..<2_000 where answered < 4_000 {
            let more = greedy.reduce(0) { $0 + $1.heard().count }
            // In each turn, those that waited have their time, and so has what is read.
            #expect(more <= 2 * most)
            answered += more
            node.endTurn()
        }
        #expect(answered == 4_000)
        node.clock.setStep(microseconds: 0)
        node.endTurn()
        #expect(greedy.allSatisfy { !$0.isPaused })
    }
}
