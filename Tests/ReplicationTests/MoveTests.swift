import CRDT
import Testing
import Wire

@testable import Replication

private let n1 = NodeName(checked: "n1")
private let n2 = NodeName(checked: "n2")
private let n3 = NodeName(checked: "n3")
private let shard = ShardID(0)

private func seqs(_ range: ClosedRange<UInt64>) -> Vector {
    var vector = Vector()
    vector.insert(SeqSet(range), of: RandomID(high: 0, low: 2))
    return vector
}

private func claim(
    _ vector: Vector, digest: Hash128 = .zero, isComplete: Bool = true, isServing: Bool = true
) -> Frame.VersionClaim {
    Frame.VersionClaim(vector: vector, digest: digest, isComplete: isComplete, isServing: isServing)
}

/// The shard replica of `n1`, connected to the two others.
private struct Moving {
    var copy: ShardReplica
    var ticket: UInt64 = 0
    var now: UInt64 = 10_000

    init(isComplete: Bool = true, life: UInt64 = 0, owners: [NodeName]) {
        copy = ShardReplica(
            shard, stored: ReplicaHeader(isComplete: isComplete), ownership: ownership(owners),
            life: life, now: now)
        for peer in [n2, n3] { copy.onPeerUp(peer) }
    }

    mutating func own(_ owners: [NodeName]) { copy.setOwnership(ownership(owners), now: now) }

    /// Returns the marks of the replica's offers, by owner.
    mutating func offered() -> [NodeName: UInt64] {
        now += Handover.pauseMilliseconds
        if copy.needsCheck { copy.onChecked(copy.stored) }
        return offeredUnchecked()
    }

    mutating func offeredUnchecked() -> [NodeName: UInt64] {
        _ = copy.onTick(now: now)
        var marks: [NodeName: UInt64] = [:]
        for (peer, frame) in copy.takeOutbox() {
            if case .handover(_, let mark, _) = frame { marks[peer] = mark }
        }
        return marks
    }

    /// Takes the report of a peer that was asked `milliseconds` after the beginning.
    mutating func report(
        _ claim: Frame.VersionClaim?, from peer: NodeName, askedAfter milliseconds: UInt64 = 0
    ) {
        let time = now + milliseconds
        _ = copy.receive(.report(shard, number: time, claim), from: peer, now: time)
    }

    /// Has the replica pull what a peer offers: the first pull, which brings no documents.
    mutating func pull(_ claim: Frame.VersionClaim, from peer: NodeName) {
        _ = copy.receive(
            .offer(Frame.Offer(shard: shard, claim: claim, isAnswer: true)), from: peer, now: now)
        _ = copy.receive(.done(shard, number: 1, batches: 0, claim), from: peer, now: now)
    }

    mutating func accept(_ mark: UInt64?, from peer: NodeName) {
        _ = copy.receive(.accept(shard, mark: mark ?? 0, copy.claim), from: peer, now: now)
    }

    mutating func write() {
        let dot = copy.nextDot { RandomID(high: 0, low: 1) }
        copy.noteWrite(
            Change(
                kind: 2, before: nil, after: Hash128(high: 0, low: dot.seq), greatest: .zero,
                latest: .zero),
            by: dot)
    }

    mutating func commit() {
        ticket += 1
        if copy.beginCommit(ticket) != nil { _ = copy.onCommitted(ticket, now: now) }
    }

    /// Returns the marks that the replica accepts.
    mutating func acceptances() -> [UInt64] {
        said().compactMap { if case .accept(_, let mark, _) = $0 { mark } else { nil } }
    }

    mutating func said() -> [Frame] { copy.takeOutbox().map(\.frame) }
}

private func ownership(_ owners: [NodeName]) -> Ownership {
    Ownership(me: n1, owners: owners, livingOwners: owners.count, others: [n2, n3])
}

@Suite struct HandoverTests {
    @Test func `a failed commit does not shorten the wait of a new owner`() {
        var moving = Moving(owners: [n2, n3])
        _ = moving.copy.onTick(now: moving.now + 1_000)
        for peer in [n2, n3] {
            let nothing = Frame.VersionClaim(
                vector: Vector(), digest: moving.copy.stored.digest, isComplete: true,
                isServing: false)
            moving.report(nothing, from: peer, askedAfter: 1_000)
        }
        _ = moving.copy.onTick(now: moving.now + 1_100)
        #expect(moving.copy.isServable)
        moving.now += 1_200
        moving.own([n1, n2])
        #expect(!moving.copy.isReady)
        _ = moving.copy.onCommitFailed(now: moving.now)
        _ = moving.copy.onTick(now: moving.now + 100)
        #expect(!moving.copy.isReady)
    }

    @Test func `a failed commit takes back the pull that made an owner serve`() {
        var moving = Moving(owners: [n2, n3])
        moving.own([n1, n2])
        moving.pull(claim(seqs(1...5)), from: n2)
        #expect(moving.copy.isReady)
        _ = moving.copy.onCommitFailed(now: moving.now)
        // This may have been on its way since before the node became an owner.
        moving.copy.onCaughtUp(with: n2, isServing: true)
        #expect(!moving.copy.isReady)
    }

    @Test func `a commit from before the wait of a new owner does not make its disk one to serve`()
    {
        var moving = Moving(owners: [n2, n3])
        _ = moving.copy.onTick(now: moving.now + 1_000)
        for peer in [n2, n3] {
            moving.report(moving.copy.claim, from: peer, askedAfter: 1_000)
        }
        _ = moving.copy.onTick(now: moving.now + 1_100)
        #expect(moving.copy.isServable)
        moving.write()
        moving.ticket += 1
        #expect(moving.copy.beginCommit(moving.ticket) != nil)
        moving.now += 1_200
        moving.own([n1, n2])
        _ = moving.copy.onCommitted(moving.ticket, now: moving.now)
        moving.pull(claim(seqs(1...5)), from: n2)
        #expect(moving.copy.isReady)
        // The disk is as it was when the wait began: it lacks what was pulled.
        _ = moving.copy.onCommitFailed(now: moving.now)
        #expect(!moving.copy.isReady)
    }

    @Test func `a copy goes once every owner accepted it as it is`() {
        var holder = Moving(owners: [n2, n3])
        let marks = holder.offered()
        #expect(Set(marks.keys) == [n2, n3])
        holder.accept(marks[n2], from: n2)
        #expect(!holder.copy.isHandedOver)
        holder.accept(marks[n3], from: n3)
        #expect(holder.copy.isHandedOver)
        holder.copy.beginDrop()
        #expect(holder.said() == [.absent(shard), .absent(shard)])
    }

    @Test func `a copy is offered once its disk was found to hold it, and anew after a change`() {
        var holder = Moving(owners: [n2])
        holder.now += 2 * Handover.pauseMilliseconds
        #expect(holder.copy.needsCheck)
        #expect(holder.offeredUnchecked().isEmpty)
        let before = holder.copy.stored
        holder.write()
        holder.commit()
        holder.copy.onChecked(before)
        #expect(holder.copy.needsCheck)
        #expect(!holder.offered().isEmpty)
        #expect(!holder.copy.needsCheck)
    }

    @Test func `who claims the same and holds something else is given nothing`() {
        var holder = Moving(owners: [n2])
        holder.write()
        holder.commit()
        let mark = holder.offered()[n2] ?? 0
        let theirs = claim(holder.copy.stored.vector, digest: Hash128(high: 7, low: 7))
        _ = holder.copy.receive(.accept(shard, mark: mark, theirs), from: n2, now: holder.now)
        #expect(!holder.copy.isHandedOver)
        #expect(holder.copy.takeDivergences() == [n2])
        #expect(holder.copy.needsCheck)
        let less = claim(Vector())
        _ = holder.copy.receive(.accept(shard, mark: mark, less), from: n2, now: holder.now)
        #expect(!holder.copy.isHandedOver)
    }

    @Test func `a complete copy that is catching up is offered once it has sought long enough`() {
        var holder = Moving(owners: [n2])
        holder.copy.onChecked(holder.copy.stored)
        #expect(holder.offeredUnchecked().isEmpty)
        #expect(!holder.offered().isEmpty)
    }

    @Test func `what was accepted before a change counts for nothing`() {
        var holder = Moving(owners: [n2])
        let mark = holder.offered()[n2]
        holder.write()
        holder.accept(mark, from: n2)
        holder.commit()
        #expect(!holder.copy.isHandedOver)
        let later = holder.offered()[n2]
        #expect(later != mark)
        holder.accept(later, from: n2)
        #expect(holder.copy.isHandedOver)
    }

    @Test func `what was accepted by owners that are others by now counts for nothing`() {
        var holder = Moving(owners: [n2])
        holder.accept(holder.offered()[n2], from: n2)
        holder.own([n2, n3])
        #expect(!holder.copy.isHandedOver)
        holder.own([n2])
        #expect(!holder.copy.isHandedOver)
    }

    @Test func `what was accepted of a handover that was given up counts for nothing`() {
        var holder = Moving(owners: [n2])
        let mark = holder.offered()[n2]
        holder.own([n1, n2])
        holder.own([n2])
        holder.accept(mark, from: n2)
        #expect(!holder.copy.isHandedOver)
    }

    @Test func `what answers a copy that was dropped answers none that is held later`() {
        var (before, later) = (Moving(owners: [n2]), Moving(life: 1, owners: [n2]))
        let mark = before.offered()[n2]
        later.accept(mark, from: n2)
        #expect(later.offered()[n2] != mark && !later.copy.isHandedOver)
        (before, later) = (Moving(owners: [n1, n2]), Moving(life: 1, owners: [n1, n2]))
        let theirs = claim(seqs(1...5))
        let offer = Frame.offer(
            Frame.Offer(shard: shard, claim: theirs, isAnswer: true))
        _ = before.copy.receive(offer, from: n2, now: 0)
        _ = later.copy.receive(offer, from: n2, now: 0)
        #expect(before.said() == [.pull(shard, number: 1, SaidVector(Vector()))])
        // The end of a pull that brought nothing, since everything was there.
        _ = later.copy.receive(.done(shard, number: 1, batches: 0, theirs), from: n2, now: 0)
        #expect(later.copy.current.vector.isEmpty)
    }

    @Test func `an acceptance ends with its connection`() {
        var holder = Moving(owners: [n2])
        holder.accept(holder.offered()[n2], from: n2)
        holder.copy.onPeerDown(n2)
        #expect(!holder.copy.isHandedOver)
    }

    @Test func `a copy that could not be dropped is offered anew`() {
        var holder = Moving(owners: [n2])
        let mark = holder.offered()[n2]
        holder.accept(mark, from: n2)
        holder.copy.beginDrop()
        holder.copy.onDropFailed()
        #expect(!holder.copy.isHandedOver)
        #expect(holder.offered()[n2] != mark)
    }

    @Test func `a copy that belongs nowhere else stays`() {
        var holder = Moving(owners: [])
        #expect(holder.offered().isEmpty)
        #expect(!holder.copy.isHandedOver)
    }

    @Test func `what an owner has beyond it does not answer for the owners`() {
        var holder = Moving(owners: [n2])
        holder.copy.found()
        holder.commit()
        #expect(holder.copy.isServable && !holder.copy.isReady)
        _ = holder.copy.receive(
            .pull(shard, number: 1, SaidVector(Vector())), from: n2, now: holder.now)
        holder.copy.onScanned([], next: nil, for: n2)
        #expect(!holder.copy.isServable)
    }
}

@Suite struct AcceptanceTests {
    private func handover(_ mark: UInt64, isComplete: Bool = true) -> Frame {
        .handover(shard, mark: mark, claim(seqs(1...5), isComplete: isComplete))
    }

    private func done(_ number: UInt64) -> Frame {
        .done(
            shard, number: number, batches: 0,
            claim(seqs(1...5)))
    }

    @Test func `an owner accepts from its disk, at the end of a pull that began afterwards`() {
        var owner = Moving(isComplete: false, owners: [n1, n2])
        _ = owner.copy.receive(handover(7), from: n3, now: owner.now)
        #expect(owner.said() == [.pull(shard, number: 1, SaidVector(Vector()))])
        _ = owner.copy.receive(done(1), from: n3, now: owner.now)
        owner.ticket += 1
        #expect(owner.copy.beginCommit(owner.ticket) != nil)
        #expect(!owner.acceptances().contains(7))
        _ = owner.copy.onCommitted(owner.ticket, now: owner.now)
        #expect(owner.acceptances().contains(7))
        #expect(owner.copy.isReady)
    }

    @Test func `a pull under way when the copy was offered is followed by another`() {
        var owner = Moving(isComplete: false, owners: [n1, n2])
        _ = owner.copy.receive(handover(7), from: n3, now: owner.now)
        _ = owner.copy.receive(handover(8), from: n3, now: owner.now)
        _ = owner.copy.receive(done(1), from: n3, now: owner.now)
        owner.commit()
        #expect(!owner.acceptances().contains(8))
        _ = owner.copy.receive(done(2), from: n3, now: owner.now)
        owner.commit()
        #expect(owner.acceptances().contains(8))
    }

    @Test func `who does not own the shard accepts nothing`() {
        var other = Moving(owners: [n2])
        _ = other.said()
        _ = other.copy.receive(handover(7), from: n3, now: other.now)
        #expect(other.said().isEmpty)
    }

    @Test func `who is connected anew is told nothing of before`() {
        var owner = Moving(isComplete: false, owners: [n1, n2])
        _ = owner.copy.receive(handover(7), from: n3, now: owner.now)
        _ = owner.copy.receive(done(1), from: n3, now: owner.now)
        owner.ticket += 1
        _ = owner.copy.beginCommit(owner.ticket)
        owner.copy.onPeerDown(n3)
        owner.copy.onPeerUp(n3)
        _ = owner.said()
        _ = owner.copy.onCommitted(owner.ticket, now: owner.now)
        #expect(!owner.acceptances().contains(7))
    }
}

@Suite struct OwnerTests {
    @Test func `an owner without a copy asks everybody, and begins anew when all have none`() {
        var owner = Moving(isComplete: false, owners: [n1, n2])
        _ = owner.copy.onTick(now: owner.now)
        let inquiry = Frame.inquiry(shard, number: owner.now)
        #expect(owner.said() == [inquiry, inquiry])
        owner.report(nil, from: n2)
        _ = owner.copy.onTick(now: owner.now)
        #expect(!owner.copy.isReady)
        owner.report(nil, from: n3)
        _ = owner.copy.onTick(now: owner.now + 999)
        #expect(!owner.copy.isReady)
        _ = owner.said()
        // By now a peer may have a replica, so they are asked again.
        _ = owner.copy.onTick(now: owner.now + 1_000)
        #expect(!owner.copy.isReady)
        let again = Frame.inquiry(shard, number: owner.now + 1_000)
        #expect(owner.said() == [again, again])
        for peer in [n2, n3] { owner.report(nil, from: peer, askedAfter: 1_000) }
        _ = owner.copy.onTick(now: owner.now + 1_100)
        #expect(owner.copy.isReady)
    }

    @Test func `what was on its way when a peer was asked is not its answer`() {
        var owner = Moving(owners: [n1, n2])
        _ = owner.copy.onTick(now: owner.now + 1_000)
        owner.report(nil, from: n3, askedAfter: 1_000)
        // The peer had nothing when it sent this, and may have stored something by now.
        let old = claim(Vector(), isComplete: false, isServing: false)
        for frame in [
            Frame.offer(Frame.Offer(shard: shard, claim: old, isAnswer: true)),
            .report(shard, number: owner.now + 999, old), .report(shard, number: .max, old),
        ] {
            _ = owner.copy.receive(frame, from: n2, now: owner.now + 1_010)
            _ = owner.copy.onTick(now: owner.now + 1_100)
            #expect(!owner.copy.isReady)
        }
        owner.report(old, from: n2, askedAfter: 1_000)
        _ = owner.copy.onTick(now: owner.now + 1_200)
        #expect(owner.copy.isReady)
    }

    @Test(arguments: [false, true])
    func `a replica that went out of sight is looked for anew`(isGone: Bool) {
        var old = Moving(owners: [n2, n3])
        _ = old.copy.onTick(now: old.now + 1_000)
        old.report(nil, from: n2, askedAfter: 1_000)
        old.report(claim(seqs(1...5)), from: n3, askedAfter: 1_000)
        if isGone {
            old.copy.onPeerDown(n3)
        } else {
            _ = old.copy.receive(.absent(shard), from: n3, now: old.now + 1_010)
        }
        for wait: UInt64 in [1_100, 1_600, 2_099] {
            _ = old.copy.onTick(now: old.now + wait)
            #expect(!old.copy.isServable)
        }
        _ = old.copy.onTick(now: old.now + 2_100)
        for peer in [n2, n3] { old.report(nil, from: peer, askedAfter: 2_100) }
        _ = old.copy.onTick(now: old.now + 2_200)
        #expect(old.copy.isServable)
    }

    @Test func `an earlier build is sent no inquiry, and its offer is an answer`() {
        var owner = Moving(owners: [n1, n2])
        for peer in [n2, n3] { owner.copy.onPeerUp(peer, wire: 1) }
        _ = owner.copy.onTick(now: owner.now + 1_000)
        #expect(owner.said() == [.seek(shard), .seek(shard)])
        _ = owner.copy.receive(.absent(shard), from: n3, now: owner.now + 1_010)
        _ = owner.copy.onTick(now: owner.now + 1_100)
        #expect(!owner.copy.isReady)
        let theirs = claim(Vector(), isComplete: false, isServing: false)
        _ = owner.copy.receive(
            .offer(Frame.Offer(shard: shard, claim: theirs, isAnswer: true)), from: n2,
            now: owner.now + 1_010)
        _ = owner.copy.onTick(now: owner.now + 1_200)
        #expect(owner.copy.isReady)
    }

    @Test func `an old copy goes on beside none only as long as there is none`() {
        var owner = Moving(owners: [n1, n2])
        for peer in [n2, n3] {
            _ = owner.copy.receive(.absent(shard), from: peer, now: owner.now)
        }
        _ = owner.copy.onTick(now: owner.now + 1_000)
        #expect(!owner.copy.isReady)
        let theirs = claim(seqs(1...5))
        _ = owner.copy.receive(
            .offer(Frame.Offer(shard: shard, claim: theirs, isAnswer: true)),
            from: n2, now: owner.now)
        _ = owner.copy.receive(.absent(shard), from: n3, now: owner.now)
        _ = owner.copy.onTick(now: owner.now + 1_100)
        #expect(!owner.copy.isReady)
    }

    @Test func `who has become complete says so`() {
        var owner = Moving(isComplete: false, owners: [n1, n2])
        owner.copy.found()
        _ = owner.said()
        owner.commit()
        let offers = owner.said().filter { if case .offer = $0 { true } else { false } }
        #expect(offers.count == 2)
        owner.write()
        owner.commit()
        #expect(!owner.said().contains { if case .offer = $0 { true } else { false } })
    }

    @Test func `a member that does not answer may hold it`() {
        var owner = Moving(isComplete: false, owners: [n1, n2])
        owner.copy.onPeerDown(n3)
        _ = owner.copy.receive(.absent(shard), from: n2, now: owner.now)
        _ = owner.copy.onTick(now: owner.now)
        #expect(!owner.copy.isReady)
    }

    @Test func `an owner again may be behind until it has heard the others`() {
        var owner = Moving(owners: [n1, n2])
        owner.copy.found()
        owner.commit()
        #expect(owner.copy.isReady)
        owner.own([n2, n3])
        owner.own([n1, n2])
        #expect(!owner.copy.isReady)
        // A message on an old connection may be outdated.
        owner.copy.onCaughtUp(with: n2, isServing: false)
        #expect(!owner.copy.isReady)
        _ = owner.said()
        _ = owner.copy.onTick(now: owner.now)
        let inquiry = Frame.inquiry(shard, number: owner.now)
        #expect(owner.said() == [inquiry, inquiry])
        let theirs = claim(Vector(), digest: owner.copy.stored.digest)
        let offer = Frame.offer(Frame.Offer(shard: shard, claim: theirs, isAnswer: true))
        owner.copy.onCaughtUp(with: n2, isServing: true)
        _ = owner.copy.receive(offer, from: n2, now: owner.now)
        #expect(!owner.copy.isReady)
        #expect(owner.said() == [.pull(shard, number: 1, SaidVector(Vector()))])
        // By then the peer may be catching up itself.
        let doubtful = claim(Vector(), isServing: false)
        _ = owner.copy.receive(
            .done(shard, number: 1, batches: 0, doubtful), from: n2, now: owner.now)
        #expect(!owner.copy.isReady)
        #expect(owner.said().isEmpty)
        _ = owner.copy.receive(offer, from: n2, now: owner.now)
        _ = owner.copy.receive(
            .done(shard, number: 2, batches: 0, theirs), from: n2, now: owner.now)
        #expect(owner.copy.isReady)
    }

    @Test func `who becomes an owner has confirmed nothing yet`() {
        var owner = Moving(owners: [n1, n2])
        _ = owner.copy.receive(.confirm(shard, seqs(1...5)), from: n3, now: owner.now)
        owner.own([n1, n3])
        #expect(owner.copy.confirmed(by: n3) == Vector())
    }
}
