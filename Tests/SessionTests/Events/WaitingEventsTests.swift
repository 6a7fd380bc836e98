import Chat
import Node
import NodeKit
import Replication
import Testing
import Wire

@testable import Session

/// The events for a client that stops reading, and what they cost.
@Suite struct WaitingEventsTests {
    /// The ways in which clients end for whom events wait.
    enum Ending: CaseIterable {
        case reads, closes, endsAndReads, endsAndTakesNothing, takesTooLittle, isLetGo
        case isTooMuchForAll
    }

    /// A sink that keeps its events.
    private final class Recorder: ReplySink {
        nonisolated(unsafe) private(set) var events: [WatchedEvent] = []

        func onSettled(_ number: UInt64, _ outcome: ReplyResult) {}

        func onEvent(_ event: WatchedEvent, token: String?) -> Bool {
            events.append(event)
            return false
        }
    }

    private static let other: UInt64 = 1 << 32
    private static let text = String(repeating: "x", count: 16_000)

    private let world = World()
    private let writer: TestClient
    private var node: TestNode { world.n1 }
    private var heldBytes: Int { node.memory.assumeIsolated { $0.heldBytes } }

    init() {
        writer = world.n1.connect()
        _ = writer.ask("CREATE c alice,bob")
    }

    /// Returns a watcher that reads nothing after the reply.
    private func deafWatcher() -> TestClient {
        let client = node.connectShared()
        #expect(client.ask("WATCH bob").count == 1)
        client.clog(true)
        return client
    }

    private func send(_ numbers: Range<Int>, _ text: String = text) {
        for number in numbers {
            #expect(writer.ask("SEND c alice id=m\(number) \(text)").count == 1)
        }
    }

    /// Returns the ids of messages in the lines, such as `m7`, or else their first words.
    private func names(_ lines: [String]) -> [String] {
        lines.map { line in
            let words = line.split(separator: " ")
            let id = words.first { $0.hasPrefix("id=") }?.dropFirst(3)
            return String(id ?? words.first ?? "")
        }
    }

    private func names(_ numbers: Range<Int>) -> [String] { numbers.map { "m\($0)" } }

    @Test func `all who watch are handed one event`() {
        let sinks = [Recorder(), Recorder()]
        for (number, sink) in sinks.enumerated() {
            let session = Self.other + UInt64(number)
            node.node.assumeIsolated { node in
                node.attach(sink, as: session)
                _ = node.watch(
                    UserID(checked: "bob"),
                    for: ReplySlot(session: session, number: 0))
            }
        }
        node.settle()
        send(0..<2)
        _ = writer.ask("TYPING c alice on")
        #expect(sinks[0].events.count == 3)
        let areSame = zip(sinks[0].events, sinks[1].events).allSatisfy { $0 === $1 }
        #expect(areSame)
        #expect(sinks[1].events.count == 3)
    }

    @Test func `an event that waits for many counts once`() {
        let deaf = (0..<100).map { _ in deafWatcher() }
        send(0..<20)
        // For each client the first line is written, and of the other lines its tokens wait.
        let lineMax = Self.text.utf8.count + 500
        #expect(heldBytes > 19 * Self.text.utf8.count)
        #expect(heldBytes < 19 * lineMax + deaf.count * (lineMax + 19 * 500))
        for client in deaf {
            let queued = client.output.queuedBytes
            #expect(queued > 0 && queued < lineMax)
        }
        for client in deaf {
            client.clog(false)
            #expect(names(client.heard()) == names(0..<20))
        }
        #expect(heldBytes == 0)
    }

    @Test func `who reads again is told the same lines in the same order`() {
        let reader = node.connectShared()
        _ = reader.ask("WATCH bob")
        let deaf = deafWatcher()
        var expected: [String] = []
        var told: [String] = []
        for round in 0..<4 {
            let first = round * 100
            send(first..<first + 5)
            send(first + 5..<first + 95, "short")
            expected += reader.heard()
            // A part at a time, while more comes.
            for _ in 0..<3 { told += deaf.drain() }
        }
        #expect(told.count < expected.count)
        for _ in 0..<expected.count where told.count < expected.count { told += deaf.drain() }
        #expect(expected.count == 380)
        #expect(told == expected)
        #expect(heldBytes == 0)
    }

    @Test func `a reply stands where it was made, behind what waits and before what comes`() {
        let deaf = deafWatcher()
        send(0..<3)
        deaf.say("PING")
        node.settle()
        send(3..<5)
        deaf.say("UNWATCH")
        node.settle()
        send(5..<7)
        #expect(names(deaf.drain()) == names(0..<1))
        deaf.clog(false)
        node.settle()
        #expect(names(deaf.heard()) == names(1..<3) + ["OK"] + names(3..<7) + ["OK"])
        send(7..<8)
        #expect(deaf.heard().isEmpty)
    }

    @Test func `what was told of one user stands before the answer to a watch of another`() {
        let deaf = deafWatcher()
        send(0..<3)
        deaf.say("WATCH carol")
        node.settle()
        send(3..<4)
        deaf.clog(false)
        node.settle()
        send(4..<5)
        #expect(names(deaf.heard()) == names(0..<4) + ["OK"])
        _ = writer.ask("INVITE c bob carol", "SEND c alice id=late hello")
        #expect(names(deaf.heard()) == ["EVENT", "late"])
    }

    @Test func `who has ended its side is told what waited, and nothing more`() {
        let deaf = deafWatcher()
        send(0..<3)
        deaf.end()
        #expect(!deaf.isFinished)
        send(3..<5)
        deaf.clog(false)
        #expect(deaf.isFinished)
        #expect(names(deaf.heard()) == names(0..<3))
    }

    @Test(arguments: Ending.allCases)
    func `nothing is held for those who are gone`(ending: Ending) {
        let deaf = (0..<3).map { _ in deafWatcher() }
        send(0..<20)
        #expect(heldBytes > 19 * Self.text.utf8.count)
        switch ending {
        case .reads: for client in deaf { client.clog(false) }
        case .closes: for client in deaf { client.session.assumeIsolated { $0.onClosed() } }
        case .endsAndReads:
            for client in deaf {
                client.end()
                client.clog(false)
            }
            let areFinished = deaf.allSatisfy { $0.isFinished }
            #expect(areFinished)
        case .endsAndTakesNothing:
            for client in deaf {
                _ = client.drain()
                client.end()
            }
            world.pass(milliseconds: SessionLimits.fullMillisecondsMax - 100, world.n1)
            let isOneCutOff = deaf.contains { $0.isAborted }
            #expect(!isOneCutOff)
            world.pass(milliseconds: 300, world.n1)
        case .takesTooLittle:
            world.pass(milliseconds: SessionLimits.fullMillisecondsMax + 200, world.n1)
        case .isLetGo:
            others(hold: SessionLimits.heldBytesTight)
            world.pass(milliseconds: SessionLimits.stalledMillisecondsMax, world.n1)
            node.disconnectStalledClients()
        case .isTooMuchForAll:
            others(hold: SessionLimits.heldBytesMax)
            send(20..<21)
        }
        let isCutOff = ![.reads, .closes, .endsAndReads].contains(ending)
        let areAsExpected = deaf.allSatisfy { $0.isAborted == isCutOff }
        #expect(areAsExpected)
        node.memory.assumeIsolated { $0.removeSession(Self.other) }
        #expect(heldBytes == 0)
        // Nothing is kept for them afterwards, either.
        send(30..<32)
        #expect(heldBytes == 0)
    }

    /// Has other sessions, which do not stall, hold so many bytes.
    private func others(hold bytes: Int) {
        node.memory.assumeIsolated {
            $0.recordHeld(
                Self.other, of: .session(Self.other), holds: bytes, sharing: 0, isItsTurn: false,
                taken: 0, now: 0)
        }
    }
}
