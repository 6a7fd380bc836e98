import CRDT
import Chat
import StorePort
import Testing
import Wire

@testable import Node
@testable import Replication

@Suite struct ScrubTests {
    private let shard = ShardID(0)

    private func message(_ name: String) -> DocumentKey {
        .message(MessageID(checked: name), in: lobby)
    }

    private func slot(_ number: UInt64) -> ReplySlot { ReplySlot(session: 1, number: number) }

    /// Scrubs, while turns pass and the disk empties its log as requested.
    private func scrub(_ node: WorldNode, in world: NodeWorld, number: UInt64)
        -> ScrubReport?
    {
        let before = node.store.logsEmptied
        node.run { $0.scrub(for: ReplySlot(session: 1, number: number)) }
        for _ in 0..<100 where node.store.logsEmptied == before {
            world.run(milliseconds: 100)
        }
        #expect(node.sink.outcomes[number] == nil, "not before the log is empty")
        node.run { $0.onLogEmptied(failure: nil) }
        guard case .scrubbed(let report) = node.sink.outcomes[number] else {
            return nil
        }
        return report
    }

    private func pair() -> (world: NodeWorld, first: WorldNode, second: WorldNode) {
        let world = NodeWorld()
        let first = world.add("n1", shards: 1)
        let second = world.add("n2", join: ["n1"], shards: nil)
        world.run(milliseconds: 2_000)
        #expect(first.submit(create(), number: 101))
        for index in 0..<200 { #expect(first.submit(send("m\(index)"), number: 200)) }
        world.run(milliseconds: 1_000)
        #expect(first.digest == second.digest)
        return (world, first, second)
    }

    @Test func `what is as it was written is found to be so, some at a time`() throws {
        let (world, first, _) = pair()
        let report = try #require(scrub(first, in: world, number: 1))
        #expect(report.checked == 201)
        #expect(report.bad + report.miscounted + report.unindexed + report.busy == 0)
        #expect(first.store.rowsAsked.count == 4)
        #expect(first.store.rowsAsked.allSatisfy { $0 == Scrubber.rowsPerTurn })
        #expect(first.isConverged)
    }

    @Test func `a flipped byte that nobody reads is found, and fetched anew`() throws {
        let (world, first, second) = pair()
        let good = second.stored(of: 0)
        second.store.spoil(message("m77"), in: shard)
        let report = try #require(scrub(second, in: world, number: 1))
        #expect(report.bad == 1)
        world.run(milliseconds: 3_000)
        #expect(second.stored(of: 0) == good)
        #expect(first.digest == second.digest && second.isConverged)
    }

    @Test func `a document that is missing without a trace is missed, and fetched anew`() throws {
        let (world, first, second) = pair()
        let good = second.stored(of: 0)
        second.store.lose(message("m77"), in: shard)
        #expect(second.isConverged, "nothing else tells")
        let report = try #require(scrub(second, in: world, number: 1))
        #expect(report.miscounted == 1 && report.bad == 0)
        world.run(milliseconds: 3_000)
        #expect(second.stored(of: 0) == good)
        #expect(first.digest == second.digest && second.isConverged)
    }

    @Test func `a time that no clock follows makes no shard miscounted`() throws {
        let sum = try pair().first.store.check(shard, after: nil, rowsMax: 1_000).sum
        var header = ReplicaHeader(
            remaining: sum.vector, digest: sum.digest, counts: sum.counts, greatest: sum.greatest)
        header.raise(
            to: HybridTimestamp(milliseconds: 1), at: WallTime(milliseconds: 1_000))
        #expect(header.greatest < sum.greatest)
        #expect(header.isSum(sum))
    }

    @Test func `a document that an index does not lead to is written again`() throws {
        let (world, first, _) = pair()
        first.store.unindexed = [message("m3"), message("m150")]
        let report = try #require(scrub(first, in: world, number: 1))
        #expect(report.unindexed == 2 && report.bad + report.miscounted == 0)
        #expect(first.store.unindexed.isEmpty)
        #expect(first.isConverged)
    }

    @Test func `a shard that is written to meanwhile is not said to be miscounted`() throws {
        let (world, first, _) = pair()
        first.run { $0.scrub(for: ReplySlot(session: 1, number: 1)) }
        for index in 0..<40 {
            // Ahead of the walk's position.
            #expect(first.submit(send("a\(index)"), number: 300))
            first.run { $0.onTurnEnd() }
            if let ticket = first.store.completeFirst() {
                first.run { $0.onCommitted(ticket, failure: nil) }
            }
            first.run { $0.onTurnEnd() }
        }
        world.run(milliseconds: 1_000)
        first.run { $0.onLogEmptied(failure: nil) }
        guard case .scrubbed(let report) = first.sink.outcomes[1] else {
            Issue.record("no end")
            return
        }
        #expect(report.checked >= 201)
        #expect(report.miscounted == 0 && report.bad == 0)
        #expect(first.host.lines.allSatisfy { !$0.contains("header damaged") })
    }

    @Test func `who asks while one is under way waits for its end, and for no other`() {
        let (world, first, _) = pair()
        first.run { $0.scrub(for: ReplySlot(session: 1, number: 1)) }
        first.run { $0.scrub(for: ReplySlot(session: 1, number: 2)) }
        world.run(milliseconds: 1_000)
        #expect(first.store.logsEmptied == 1)
        first.run { $0.onLogEmptied(failure: "a reader is on it") }
        let refused = ReplyResult.refused(.logKept("a reader is on it"))
        #expect(first.sink.outcomes[1] == refused && first.sink.outcomes[2] == refused)
    }

    @Test func `nobody has to ask: a slow walk finds it, too, and rests when it is done`() {
        let (world, first, second) = pair()
        second.store.spoil(message("m77"), in: shard)
        world.run(milliseconds: Scrubber.firstMilliseconds + 2_000)
        #expect(first.digest == second.digest && second.isConverged)
        #expect(second.host.lines.contains { $0.hasPrefix("record damaged, set aside shard=0") })
        #expect(second.store.rowsAsked.allSatisfy { $0 == Scrubber.rowsPerTick })
        second.run { $0.onLogEmptied(failure: nil) }
        let walked = second.store.rowsAsked.count
        world.run(milliseconds: 60_000)
        #expect(second.store.rowsAsked.count == walked)
        #expect(second.host.lines.contains { $0.hasPrefix("scrubbed checked=") })
    }

    @Test func `a process that ends keeps nobody waiting`() {
        let (world, first, _) = pair()
        first.run { $0.scrub(for: ReplySlot(session: 1, number: 1)) }
        _ = first.run { $0.backUp(to: "x", for: ReplySlot(session: 1, number: 2)) }
        first.run { $0.stopWaiting() }
        world.endTurn(of: first)
        #expect(first.sink.outcomes[1] == .refused(.stopping))
        #expect(first.sink.outcomes[2] == .refused(.stopping))
    }
}

@Suite struct BackupTests {
    @Test func `one backup is made at a time, and its reply tells of it`() {
        let world = NodeWorld()
        let node = world.add("n1", shards: 1)
        world.run(milliseconds: 500)
        let first = ReplySlot(session: 1, number: 1)
        let second = ReplySlot(session: 1, number: 2)
        #expect(throws: Never.self) {
            try node.run { $0.backUp(to: "a", for: first) }.get()
        }
        #expect(throws: OperationFailure.backupRunning) {
            try node.run { $0.backUp(to: "b", for: second) }.get()
        }
        #expect(node.store.backupsBegun == ["a"])
        world.clock.pass(1_500)
        node.run { $0.onBackedUp(.success((file: "/x/a", bytes: 9))) }
        #expect(
            node.sink.outcomes[1]
                == .backedUp(BackupReport(file: "/x/a", bytes: 9, milliseconds: 1_500)))
        _ = node.run { node in node.backUp(to: "b", for: second) }
        node.run { $0.onBackedUp(.failure(.exists)) }
        #expect(node.sink.outcomes[2] == .refused(.backup(.exists)))
    }

    /// A backup holds what a disk held: once it is put back, a process can start from it.
    @Test func `an old backup put back shows nothing that was deleted, and reuses no dot`() throws {
        let world = NodeWorld()
        let first = world.add("n1", shards: 1)
        let second = world.add("n2", join: ["n1"], shards: nil)
        world.run(milliseconds: 2_000)
        #expect(second.submit(create(), number: 1))
        #expect(second.submit(send("m1"), number: 2))
        world.run(milliseconds: 500)
        let backup = MemoryStore(copying: second.store)
        let alice = UserID(checked: "alice")
        let deletion = Mutation(
            RetractMessage(), of: MessageID(checked: "m1"), in: lobby, by: alice)
        #expect(second.submit(deletion, number: 3))
        #expect(second.submit(send("m2"), number: 4))
        world.run(milliseconds: 500)
        world.kill("n2")
        world.run(milliseconds: 500)
        let again = world.add("n2", store: backup, shards: nil)
        #expect(!again.host.isReady, "nothing is shown before the others are reached")
        world.run(milliseconds: 3_000)
        #expect(again.digest == first.digest && again.isConverged)
        let key = DocumentKey.message(MessageID(checked: "m1"), in: lobby)
        #expect(again.stored(of: 0)[key] == first.stored(of: 0)[key])
        let before = try #require(first.store.headers[ShardID(0)]?.vector)
        #expect(again.submit(send("m3"), number: 5))
        world.run(milliseconds: 500)
        let after = try #require(first.store.headers[ShardID(0)]?.vector)
        #expect(after.entries.count == before.entries.count + 1, "another replica writes")
        #expect(after.covers(before))
    }

    @Test func `a backup of a node alone goes on by itself, under another numbering`() throws {
        let world = NodeWorld()
        let node = world.add("n1", shards: 1)
        world.run(milliseconds: 500)
        #expect(node.submit(create(), number: 1))
        #expect(node.submit(send("m1"), number: 2))
        world.run(milliseconds: 500)
        let backup = MemoryStore(copying: node.store)
        #expect(node.submit(send("lost"), number: 3))
        world.run(milliseconds: 500)
        let lost = try #require(node.store.headers[ShardID(0)]?.vector)
        world.kill("n1")
        let again = world.add("n1", store: backup, shards: nil)
        world.run(milliseconds: 3_000)
        #expect(again.host.isReady)
        #expect(again.submit(send("m2"), number: 1))
        world.run(milliseconds: 500)
        let vector = try #require(backup.headers[ShardID(0)]?.vector)
        for entry in vector.entries {
            let mine = lost.seqs(of: entry.replica)
            #expect(mine.isEmpty || mine.isSuperset(of: entry.seqs), "no dot has two meanings")
        }
        #expect(backup.documents[ShardID(0)]?.count == 3)
    }
}
