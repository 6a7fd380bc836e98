import CRDT
import Testing
import Wire

@testable import Replication

private let n1 = Trio.n1
private let n2 = Trio.n2
private let shard = ShardID(0)
private let mine = ReplicaID(high: 0, low: 1)
private let first = ReplicaID(high: 0, low: 2)
private let encodedDocument = EncodedDocument(key: [1], bytes: [2])

private func dot(_ seq: UInt64, of replica: ReplicaID = first) -> Dot {
    Dot(replica: replica, seq: seq)
}

private func vector(_ dots: Dot...) -> Vector {
    var vector = Vector()
    for dot in dots { vector.insert(dot) }
    return vector
}

private func change(_ number: UInt64) -> Change {
    Change(
        kind: 2, before: nil, after: Hash128(high: 0, low: number), greatest: .zero, latest: .zero)
}

/// The causes that a shard replica names in its pushes, and those that it waits for.
@Suite struct CausesTests {
    private var copy = Trio.copy(of: shard)

    private mutating func write(_ number: UInt64) -> [NodeName: Vector] {
        copy.noteWrite(change(number), by: copy.nextDot { mine })
        copy.push([encodedDocument])
        var causes: [NodeName: Vector] = [:]
        for case (let peer, .push(_, _, let cause)) in copy.takeOutbox() { causes[peer] = cause }
        return causes
    }

    private mutating func hasCauses(now: UInt64) -> Bool { copy.hasCauses(now: now) }

    private mutating func commit(_ ticket: UInt64) {
        _ = copy.beginCommit(ticket)
        _ = copy.onCommitted(ticket, now: 0)
    }

    private mutating func soughtAtTick(_ now: UInt64) -> [NodeName] {
        _ = copy.onTick(now: now)
        return copy.takeOutbox().compactMap { if case .seek = $0.frame { $0.to } else { nil } }
    }

    @Test mutating func `a push names what was merged from others, to each of them once`() {
        copy.noteMerge(change(1), naming: Context(dot(1)), from: n1)
        let causes = [write(2), write(3)]
        #expect(causes == [[n1: Vector(), n2: vector(dot(1))], [n1: Vector(), n2: Vector()]])
    }

    @Test mutating func `what a peer has confirmed is not named to it`() {
        copy.noteMerge(change(1), naming: Context(dot(1)), from: n1)
        let frame = Frame.confirm(shard, vector(dot(1)))
        _ = copy.receive(frame, from: n2, now: 0)
        let causes = write(2)
        #expect(causes[n2] == Vector())
    }

    @Test mutating func `a new connection is told all, and so is one that lost a push`() {
        copy.noteMerge(change(1), naming: Context(dot(1)), from: n1)
        copy.onPeerDown(n2)
        copy.onPeerUp(n2)
        let toldAnew = write(2)
        #expect(toldAnew[n2] == vector(dot(1)))
        copy.onDropped(.push(shard, [encodedDocument], cause: Vector()), to: n2, now: 0)
        let toldAgain = write(3)
        #expect(toldAgain[n2] == vector(dot(1), dot(1, of: mine)))
    }

    @Test mutating func `a cause is fetched from another while a pull is silent`() {
        let claim = Frame.VersionClaim(
            vector: vector(dot(1), dot(2)), digest: .zero, isComplete: true, isServing: true)
        let offer = Frame.Offer(shard: shard, claim: claim, isAnswer: true)
        _ = copy.receive(.offer(offer), from: n1, now: 0)
        _ = copy.receive(.push(shard, [encodedDocument], cause: vector(dot(1))), from: n2, now: 0)
        _ = copy.receive(.confirm(shard, vector(dot(1))), from: n2, now: 0)
        _ = copy.takeOutbox()
        _ = copy.onTick(now: Pull.patienceOfBarrierRoundsMilliseconds)
        let asked = copy.takeOutbox().compactMap { to, frame in
            if case .pull = frame { to } else { nil }
        }
        #expect(asked == [n2])
    }

    @Test mutating func `causes are here once they are on disk`() {
        _ = copy.receive(.push(shard, [encodedDocument], cause: vector(dot(1))), from: n2, now: 0)
        let at1 = hasCauses(now: 1)
        #expect(!at1)
        copy.noteMerge(change(1), naming: Context(dot(1)), from: n1)
        let at2 = hasCauses(now: 2)
        #expect(!at2)
        commit(1)
        let at3 = hasCauses(now: 3)
        #expect(at3)
    }

    @Test mutating func `causes that do not come are asked for once, and given up in the end`() {
        _ = copy.receive(.push(shard, [encodedDocument], cause: vector(dot(1))), from: n2, now: 0)
        copy.found()
        commit(1)
        _ = copy.takeOutbox()
        let sought = [49, 100, 200].map { soughtAtTick($0) }
        #expect(sought == [[], [n2], []])
        let at1999 = hasCauses(now: 1_999)
        #expect(!at1999)
        let at2000 = hasCauses(now: 2_000)
        #expect(at2000)
    }

    @Test mutating func `a cause that was named later is waited for as long`() {
        _ = copy.receive(.push(shard, [encodedDocument], cause: vector(dot(1))), from: n2, now: 0)
        let at1000 = hasCauses(now: 1_000)
        #expect(!at1000)
        _ = copy.receive(
            .push(shard, [encodedDocument], cause: vector(dot(2))), from: n2, now: 1_500)
        let at2000 = hasCauses(now: 2_000)
        #expect(!at2000)
        let at3500 = hasCauses(now: 3_500)
        #expect(at3500)
    }

    @Test mutating func `a cause is missing until it comes, also once it is given up`() {
        _ = copy.receive(.push(shard, [encodedDocument], cause: vector(dot(1))), from: n2, now: 0)
        let at3000 = (hasCauses(now: 3_000), copy.isCausallyComplete(now: 3_000))
        #expect(at3000 == (true, false))
        copy.noteMerge(change(1), naming: Context(dot(1)), from: n1)
        let at3001 = copy.isCausallyComplete(now: 3_001)
        #expect(at3001)
    }

    @Test mutating func `what arrived and was not kept is missing until a pull brings it`() {
        copy.noteNotKept(Context(dot(2)), superseding: vector(dot(1)), of: n1, now: 0)
        let wait = hasCauses(now: 0)
        #expect(!wait)
        let before = copy.isCausallyComplete(now: 0)
        copy.noteMerge(change(1), naming: Context(dot(2)), from: n1)
        let between = copy.isCausallyComplete(now: 1)
        copy.noteMerge(change(2), naming: Context(dot(1)), from: n1)
        let after = copy.isCausallyComplete(now: 2)
        #expect([before, between, after] == [false, false, true])
    }

    @Test mutating func `what a failed commit lost is missing until a pull brings it`() {
        copy.noteMerge(change(1), naming: Context(dot(1)), from: n1)
        _ = copy.beginCommit(1)
        _ = copy.onCommitFailed(now: 0)
        let wait = hasCauses(now: 0)
        #expect(!wait)
        let before = copy.isCausallyComplete(now: 0)
        copy.noteMerge(change(1), naming: Context(dot(1)), from: n1)
        let after = copy.isCausallyComplete(now: 1)
        #expect([before, after] == [false, true])
    }

    @Test mutating func `a cause that exists nowhere is missing for ten minutes, whatever comes`() {
        let lost = dot(1, of: ReplicaID(high: 0, low: 3))
        _ = copy.receive(.push(shard, [encodedDocument], cause: vector(lost)), from: n2, now: 0)
        for seq in 1...9 as ClosedRange<UInt64> {
            let now = seq * 60_000
            let push = Frame.push(shard, [encodedDocument], cause: vector(dot(seq)))
            _ = copy.receive(push, from: n2, now: now)
            copy.noteMerge(change(seq), naming: Context(dot(seq)), from: n1)
            let isComplete = copy.isCausallyComplete(now: now)
            #expect(!isComplete)
        }
        let isComplete = copy.isCausallyComplete(now: 600_000)
        #expect(isComplete)
    }
}
