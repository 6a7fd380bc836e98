import CRDT
import Testing
import Wire

@testable import Replication

/// What a shard replica keeps of a peer that sends false vectors.
@Suite struct LyingPeerTests {
    private let me = NodeName(checked: "n1")
    private let peer = NodeName(checked: "n2")

    private func copy() -> ShardReplica {
        let ownership = Ownership(me: me, owners: [me, peer], livingOwners: 2, others: [peer])
        var copy = ShardReplica(
            ShardID(0), stored: ReplicaHeader(isComplete: true), ownership: ownership, life: 0,
            now: 0)
        copy.onPeerUp(peer)
        for number in 1...1_000 as ClosedRange<UInt64> {
            let dot = copy.nextDot { RandomID(high: 1, low: 1) }
            let change = Change(
                kind: 2, before: nil, after: Hash128(high: 0, low: number), greatest: .zero,
                latest: .zero)
            copy.noteWrite(change, by: dot)
        }
        return copy
    }

    private func replicas(_ range: Range<UInt64>) -> Vector {
        var vector = Vector()
        for number in range { vector.insert(Dot(replica: RandomID(high: 9, low: number), seq: 1)) }
        return vector
    }

    @Test func `of replicas that nobody knows no more is kept than shows that something is there`()
    {
        var copy = copy()
        for part in 0..<20 as Range<UInt64> {
            let claim = replicas(part * 1_000..<(part + 1) * 1_000)
            _ = copy.receive(.confirm(ShardID(0), claim), from: peer, now: 10)
        }
        let kept = copy.confirmed(by: peer)
        #expect(kept.map { $0.entries.count <= PeerProgress.unknownReplicasMax } == true)
        // What the peer claims to hold is pulled.
        _ = copy.onTick(now: 20)
        #expect(copy.takeOutbox().contains { if case .pull = $0.frame { true } else { false } })
    }

    @Test func `what is here counts as confirmed, in however many ranges`() {
        var copy = copy()
        for seq in stride(from: 1 as UInt64, to: 1_000, by: 2) {
            var vector = replicas(0..<300)
            vector.insert(Dot(replica: RandomID(high: 1, low: 1), seq: seq))
            _ = copy.receive(.confirm(ShardID(0), vector), from: peer, now: 10)
        }
        let kept = copy.confirmed(by: peer)?.seqs(of: RandomID(high: 1, low: 1))
        #expect(kept?.count == 500)
    }

    @Test func `a claim of more processes than a shard can have is not taken over`() {
        var copy = copy()
        let number = copy.beginBarrierRound(now: 20)
        #expect(copy.takeOutbox().contains { if case .pull = $0.frame { true } else { false } })
        let claim = Frame.VersionClaim(
            vector: replicas(0..<UInt64(Vector.sharedReplicasMax)), digest: .zero,
            isComplete: false, isServing: false)
        _ = copy.receive(
            .done(ShardID(0), number: 1, batches: 0, claim), from: peer, now: 30)
        #expect(copy.current.vector.entries.count == 1)
        #expect(!copy.hasHeard(number, isStrict: true))
    }

    @Test func `who sends what cannot be read is asked again after longer and longer pauses`() {
        var copy = copy()
        var (now, pauses): (UInt64, [UInt64]) = (100, [])
        for _ in 0..<10 {
            let pause = copy.onBadFrame(from: peer, now: now)
            // A frame that was already on its way counts with the first.
            #expect(copy.onBadFrame(from: peer, now: now + 1) == pause - 1)
            pauses.append(pause)
            now += pause
        }
        #expect(pauses.prefix(3) == [300, 600, 1_200])
        #expect(pauses.last == 60_000)
    }

    @Test func `no numbering begins where others could not read its name`() {
        var copy = copy()
        #expect(copy.mayNumber)
        _ = copy.onCommitFailed(now: 0)
        copy.noteMerge(nil, naming: Context(), superseding: replicas(0..<16_000), from: peer)
        #expect(!copy.mayNumber)
        #expect(copy.hasCapacity(for: replicas(16_000..<16_384)))
        #expect(!copy.hasCapacity(for: replicas(16_000..<16_385)))
    }
}
