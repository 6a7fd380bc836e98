import CRDT
import Testing
import Wire

@testable import Replication

private let shard = ShardID(0)
private let n1 = Trio.n1
private let n2 = Trio.n2
private let theirs = RandomID(high: 0, low: 2)

@Suite struct ReadBarrierRoundTests {
    private var copy = Trio.copy(of: shard)

    private var seen: Vector {
        var vector = Vector()
        vector.insert(SeqSet(1...3), of: theirs)
        return vector
    }

    private mutating func done(_ number: UInt64, _ vector: Vector, from peer: NodeName) {
        let claim = Frame.VersionClaim(
            vector: vector, digest: .zero, isComplete: true, isServing: true)
        _ = copy.receive(.done(shard, number: number, batches: 0, claim), from: peer, now: 0)
    }

    private mutating func pulled() -> [NodeName] {
        copy.takeOutbox().compactMap { peer, frame in
            if case .pull = frame { peer } else { nil }
        }
    }

    @Test mutating func `everybody is asked, one after the other, and heard counts from the disk`()
    {
        let barrierRound = copy.beginBarrierRound(now: 0)
        #expect(pulled() == [n1])
        #expect(!copy.hasHeard(barrierRound, isStrict: false))
        done(1, Vector(), from: n1)
        #expect(pulled() == [n2])
        #expect(!copy.hasHeard(barrierRound, isStrict: false))
        done(2, seen, from: n2)
        #expect(!copy.hasHeard(barrierRound, isStrict: true))
        #expect(copy.beginCommit(1) != nil)
        #expect(!copy.hasHeard(barrierRound, isStrict: true))
        _ = copy.onCommitted(1, now: 0)
        #expect(copy.hasHeard(barrierRound, isStrict: true))
        copy.endBarrierRound(barrierRound)
        #expect(!copy.hasHeard(barrierRound, isStrict: true))
    }

    @Test mutating func `a pull that was open before does not count`() {
        _ = copy.beginBarrierRound(now: 0)
        #expect(pulled() == [n1])
        let later = copy.beginBarrierRound(now: 0)
        done(1, Vector(), from: n1)
        #expect(pulled() == [n1])
        done(2, Vector(), from: n1)
        #expect(pulled() == [n2])
        #expect(!copy.hasHeard(later, isStrict: false))
        done(3, Vector(), from: n2)
        #expect(copy.hasHeard(later, isStrict: false))
    }

    @Test mutating func `who cannot be reached is missed by the strict alone`() {
        copy.onPeerDown(n2)
        let barrierRound = copy.beginBarrierRound(now: 0)
        done(1, Vector(), from: n1)
        #expect(copy.hasHeard(barrierRound, isStrict: false))
        #expect(!copy.hasHeard(barrierRound, isStrict: true))
    }

    @Test mutating func `who holds nothing has been heard`() {
        let barrierRound = copy.beginBarrierRound(now: 0)
        _ = copy.receive(.absent(shard), from: n1, now: 0)
        #expect(pulled() == [n1, n2])
        #expect(!copy.hasHeard(barrierRound, isStrict: true))
        done(2, Vector(), from: n2)
        #expect(copy.hasHeard(barrierRound, isStrict: true))
    }

    @Test mutating func `what a failed commit lost has not been heard`() {
        let barrierRound = copy.beginBarrierRound(now: 0)
        done(1, seen, from: n1)
        done(2, Vector(), from: n2)
        #expect(copy.beginCommit(1) != nil)
        _ = copy.onCommitFailed(now: 0)
        #expect(!copy.hasHeard(barrierRound, isStrict: false))
    }

    @Test mutating func `one that stays silent is given up for the next`() {
        let barrierRound = copy.beginBarrierRound(now: 0)
        #expect(pulled() == [n1])
        _ = copy.onTick(now: 200)
        #expect(pulled() == [n2])
        done(2, seen, from: n2)
        #expect(!copy.hasHeard(barrierRound, isStrict: false))
    }
}
