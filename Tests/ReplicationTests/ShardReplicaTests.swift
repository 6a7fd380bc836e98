import CRDT
import Testing
import Wire

@testable import Replication

private let n1 = NodeName(checked: "n1")
private let n2 = NodeName(checked: "n2")
private let n3 = NodeName(checked: "n3")
private let n4 = NodeName(checked: "n4")
private let n5 = NodeName(checked: "n5")
private let me = NodeName(checked: "me")
private let shard = ShardID(0)
private let mine = RandomID(high: 0, low: 1)
private let theirs = RandomID(high: 0, low: 2)

private func seqs(_ range: ClosedRange<UInt64>, of replica: ReplicaID = theirs) -> Vector {
    var vector = Vector()
    vector.insert(SeqSet(range), of: replica)
    return vector
}

private func context(_ seq: UInt64, of replica: ReplicaID = theirs) -> Context {
    Context(Dot(replica: replica, seq: seq))
}

private func change(_ number: UInt64) -> Change {
    Change(
        kind: 2, before: nil, after: Hash128(high: 0, low: number), greatest: .zero, latest: .zero)
}

private let encodedDocument = EncodedDocument(key: [1], bytes: [2])

/// A shard replica that is driven by hand, and what it sent.
private struct Driven {
    var copy: ShardReplica
    var ticket: UInt64 = 0
    var now: UInt64 = 1_000

    init(isComplete: Bool = true, peers: [NodeName] = [n2], owners: Int = 3) {
        let all = [me] + (peers + [n1, n2, n3, n4, n5].filter { !peers.contains($0) })
        let names = Array(all.prefix(owners))
        let ownership = Ownership(
            me: me, owners: names, livingOwners: min(owners, peers.count + 1),
            others: Array(names.dropFirst()))
        copy = ShardReplica(
            shard, stored: ReplicaHeader(isComplete: isComplete), ownership: ownership, life: 0,
            now: now)
        for peer in peers { copy.onPeerUp(peer) }
    }

    mutating func said() -> [String] {
        copy.takeOutbox().map { peer, frame in
            switch frame {
            case .push(_, let encodedDocuments, _): "\(peer) push \(encodedDocuments.count)"
            case .confirm(_, let vector): "\(peer) confirm \(vector.count)"
            case .check(_, let vector): "\(peer) check \(vector.count)"
            case .offer(let offer): "\(peer) \(offer.isAnswer ? "answer" : "offer")"
            case .pull(_, let number, let theirs):
                "\(peer) pull \(number) beyond \(theirs.vector.count)"
            case .batch(_, let number, let index, _): "\(peer) batch \(number).\(index)"
            case .done(_, let number, let batches, let claim):
                "\(peer) done \(number) of \(batches) claims \(claim.vector.count)"
            case .broken(_, let number): "\(peer) broken \(number)"
            case .seek: "\(peer) seek"
            case .inquiry: "\(peer) inquiry"
            case .report: "\(peer) report"
            case .absent: "\(peer) absent"
            case .handover(_, let mark, let claim):
                "\(peer) handover \(mark) claims \(claim.vector.count)"
            case .accept(_, let mark, _): "\(peer) accept \(mark)"
            case .summary, .hashes: "\(peer) ?"
            }
        }
    }

    mutating func write(_ number: UInt64) -> Dot {
        let dot = copy.nextDot { mine }
        copy.noteWrite(change(number), by: dot)
        copy.push([encodedDocument])
        return dot
    }

    /// Merges the contents of a frame, as a document changed by these seqs.
    mutating func receive(_ frame: Frame, from peer: NodeName, naming seqs: Context = Context()) {
        for _ in copy.receive(frame, from: peer, now: now) {
            copy.noteMerge(change(seqs.dots.first?.seq ?? 0), naming: seqs, from: peer)
        }
    }

    mutating func offer(
        _ vector: Vector, isComplete: Bool = true, isServing: Bool = true, from peer: NodeName
    ) {
        let claim = Frame.VersionClaim(
            vector: vector, digest: Hash128(high: 1, low: 1), isComplete: isComplete,
            isServing: isServing)
        receive(
            .offer(Frame.Offer(shard: shard, claim: claim, isAnswer: true)), from: peer)
    }

    mutating func done(
        _ number: UInt64, of batches: UInt64, _ vector: Vector, isComplete: Bool = true,
        isServing: Bool = true, from peer: NodeName
    ) {
        let claim = Frame.VersionClaim(
            vector: vector, digest: .zero, isComplete: isComplete, isServing: isServing)
        receive(.done(shard, number: number, batches: batches, claim), from: peer)
    }

    /// Begins a commit; returns whether there was one.
    mutating func begin() -> Bool {
        ticket += 1
        return copy.beginCommit(ticket) != nil
    }

    @discardableResult mutating func commit() -> [(ReplySlot, Stored)] {
        _ = begin()
        return copy.onCommitted(ticket, now: now)
    }
}

@Suite struct ConfirmationTests {
    @Test func `a document is sent at once, and confirmed only from the disk`() {
        var one = Driven()
        _ = one.write(1)
        #expect(one.said() == ["n2 push 1"])
        var two = Driven(peers: [n1])
        two.receive(.push(shard, [encodedDocument], cause: Vector()), from: n1, naming: context(1))
        let isHandedOut = two.begin()
        #expect(isHandedOut)
        #expect(two.said().isEmpty)
        _ = two.copy.onCommitted(two.ticket, now: two.now)
        #expect(two.said() == ["n1 confirm 1"])
        #expect(two.copy.stored.vector == seqs(1...1))
    }

    @Test func `what is on disk already is confirmed again without a commit`() {
        var two = Driven(peers: [n1])
        two.receive(.push(shard, [encodedDocument], cause: Vector()), from: n1, naming: context(1))
        two.commit()
        #expect(two.said() == ["n1 confirm 1"])
        two.copy.noteMerge(nil, naming: context(1), from: n1)
        let isHandedOut = two.begin()
        #expect(!isHandedOut)
        #expect(two.said() == ["n1 confirm 1"])
    }

    @Test func `what is repeated while its commit is under way is confirmed with it`() {
        var two = Driven(peers: [n1, n3])
        two.receive(.push(shard, [encodedDocument], cause: Vector()), from: n1, naming: context(1))
        _ = two.begin()
        two.copy.noteMerge(nil, naming: context(1), from: n3)
        let ticket = two.ticket
        let isHandedOut = two.begin()
        #expect(!isHandedOut)
        #expect(two.said().isEmpty)
        _ = two.copy.onCommitted(ticket, now: two.now)
        #expect(two.said() == ["n1 confirm 1", "n3 confirm 1"])
    }

    @Test func `what a peer confirmed is gone with its connection`() {
        var one = Driven()
        one.receive(.confirm(shard, seqs(1...3, of: mine)), from: n2)
        #expect(one.copy.confirmed(by: n2) == seqs(1...3, of: mine))
        one.copy.onPeerUp(n2)
        #expect(one.copy.confirmed(by: n2) == Vector())
        one.copy.onPeerDown(n2)
        #expect(one.copy.confirmed(by: n2) == nil)
    }

    @Test func `a failed commit goes back to the disk and ends the numbering`() {
        var one = Driven()
        _ = one.write(1)
        one.commit()
        one.receive(.pull(shard, number: 4, SaidVector(Vector())), from: n2)
        let lost = one.write(2)
        one.copy.wait(
            ReplySlot(session: 1, number: 1), storing: Context(lost), level: .local, now: one.now)
        _ = one.begin()
        _ = one.said()
        let failed = one.copy.onCommitFailed(now: one.now)
        #expect(failed.map(\.number) == [1])
        #expect(one.copy.current == one.copy.stored)
        #expect(one.said() == ["n2 broken 4"])
        let next = one.copy.nextDot { RandomID(high: 0, low: 3) }
        #expect(next == Dot(replica: RandomID(high: 0, low: 3), seq: 1))
    }
}

@Suite struct PullTests {
    @Test func `the rest of a set is added at done, with every batch, and not before`() {
        var one = Driven()
        one.offer(seqs(1...9), from: n2)
        #expect(one.said() == ["n2 pull 1 beyond 0"])
        let batch = Frame.batch(shard, number: 1, index: 0, [encodedDocument])
        one.receive(batch, from: n2, naming: context(9))
        #expect(one.copy.current.vector == seqs(9...9))
        one.done(1, of: 1, seqs(1...9), from: n2)
        #expect(one.copy.current.vector == seqs(1...9))
        #expect(one.said().isEmpty)
        _ = one.copy.onTick(now: one.now + 10_000)
        #expect(one.said().isEmpty)
    }

    @Test func `a done that misses a batch, of another number or of another peer proves nothing`() {
        for (number, batches, peer) in [(1, 2, n2), (2, 1, n2), (1, 1, n3)]
            as [(UInt64, UInt64, NodeName)]
        {
            var one = Driven(peers: [n2, n3])
            one.offer(seqs(1...9), from: n2)
            let batch = Frame.batch(shard, number: 1, index: 0, [encodedDocument])
            one.receive(batch, from: n2, naming: context(9))
            one.done(number, of: batches, seqs(1...9), from: peer)
            #expect(one.copy.current.vector == seqs(9...9))
        }
    }

    @Test func `a batch out of turn ends the pull`() {
        var one = Driven()
        one.offer(seqs(1...9), from: n2)
        one.receive(
            .batch(shard, number: 1, index: 1, [encodedDocument]), from: n2, naming: context(9))
        one.receive(
            .batch(shard, number: 1, index: 0, [encodedDocument]), from: n2, naming: context(8))
        one.done(1, of: 2, seqs(1...9), from: n2)
        #expect(one.copy.current.vector == seqs(8...9))
    }

    @Test func `the claims of two peers are never united`() {
        var one = Driven(peers: [n2, n3])
        one.offer(seqs(1...5), from: n2)
        one.offer(seqs(1...9), from: n3)
        #expect(one.said() == ["n2 pull 1 beyond 0"])
        one.done(1, of: 0, seqs(1...5), from: n2)
        #expect(one.copy.current.vector == seqs(1...5))
        #expect(one.said() == ["n3 pull 2 beyond 5"])
    }

    @Test func `a pull that breaks or falls silent goes to another peer, then back`() {
        var one = Driven(peers: [n2, n3])
        one.offer(seqs(1...5), from: n2)
        one.offer(seqs(1...5), from: n3)
        one.receive(.broken(shard, number: 1), from: n2)
        _ = one.copy.onTick(now: one.now)
        #expect(one.said() == ["n2 pull 1 beyond 0", "n3 pull 2 beyond 0"])
        one.now += Pull.patienceMilliseconds
        _ = one.copy.onTick(now: one.now)
        #expect(one.said() == ["n2 pull 3 beyond 0"])
    }

    @Test func `a pull that never left is asked again at once, not when its patience ends`() {
        var one = Driven()
        one.offer(seqs(1...5), from: n2)
        #expect(one.said() == ["n2 pull 1 beyond 0"])
        one.copy.onDropped(.pull(shard, number: 1, SaidVector(Vector())), to: n2, now: one.now)
        one.now += Pull.pauseMilliseconds
        _ = one.copy.onTick(now: one.now)
        #expect(one.said() == ["n2 pull 2 beyond 0"])
    }

    @Test func `a peer is told with the next offer that its pull was not served`() {
        var one = Driven()
        one.receive(.pull(shard, number: 7, SaidVector(Vector())), from: n2)
        one.copy.onScanned([encodedDocument], next: nil, for: n2)
        _ = one.said()
        one.copy.onDropped(
            .batch(shard, number: 7, index: 0, [encodedDocument]), to: n2, now: one.now)
        #expect(one.copy.served.isEmpty)
        one.copy.offer(to: n2)
        #expect(one.said().first == "n2 broken 7")
        one.copy.offer(to: n2)
        #expect(one.said().contains("n2 broken 7") == false)
    }

    @Test func `a merge that fails ends the pull it came in`() {
        var one = Driven()
        one.offer(seqs(1...5), from: n2)
        _ = one.copy.receive(
            .batch(shard, number: 1, index: 0, [encodedDocument]), from: n2, now: one.now)
        one.copy.onMergeFailed(from: n2, now: one.now)
        one.done(1, of: 1, seqs(1...5), from: n2)
        #expect(one.copy.current.vector.isEmpty)
    }

    @Test func `done claims what was stored before the scan`() {
        var one = Driven()
        _ = one.write(1)
        one.commit()
        _ = one.write(2)
        one.receive(.pull(shard, number: 7, SaidVector(Vector())), from: n2)
        #expect(one.copy.served == [n2])
        #expect(one.copy.nextScan(for: n2)?.ours == seqs(1...1, of: mine))
        one.commit()
        _ = one.said()
        one.copy.onScanned([encodedDocument], next: Dot(replica: mine, seq: 1), for: n2)
        one.copy.onScanned([encodedDocument], next: nil, for: n2)
        #expect(one.said() == ["n2 batch 7.0", "n2 batch 7.1", "n2 done 7 of 2 claims 1"])
        #expect(one.copy.served.isEmpty)
    }

    @Test func `an offer is answered once, and an answer never`() {
        var (one, two) = (Driven(peers: [n2]), Driven(peers: [n1]))
        _ = one.write(1)
        one.commit()
        _ = one.said()
        two.copy.noteMerge(change(5), naming: context(5), from: n1)
        two.commit()
        _ = two.said()
        two.copy.offer(to: n1)
        var rounds = 0
        while rounds < 10 {
            let toOne = two.copy.takeOutbox()
            for (_, frame) in toOne { one.receive(frame, from: n2) }
            let toTwo = one.copy.takeOutbox()
            for (_, frame) in toTwo { two.receive(frame, from: n1) }
            guard !toOne.isEmpty || !toTwo.isEmpty else { break }
            rounds += 1
        }
        #expect(rounds <= 2)
    }

    @Test func `equal vectors with different digests are compared in full, once a minute`() {
        var one = Driven()
        one.receive(.push(shard, [encodedDocument], cause: Vector()), from: n2, naming: context(1))
        one.commit()
        _ = one.said()
        one.offer(seqs(1...1), from: n2)
        #expect(one.said() == ["n2 pull 1 beyond 0"])
        #expect(one.copy.takeDivergences() == [n2])
        one.done(1, of: 0, seqs(1...1), from: n2)
        one.offer(seqs(1...1), from: n2)
        one.commit()
        #expect(!one.said().contains { $0.contains("pull") })
        one.now += PeerProgress.comparisonPauseMilliseconds
        one.offer(seqs(1...1), from: n2)
        #expect(one.said().contains("n2 pull 2 beyond 0"))
    }
}

@Suite struct PhaseTests {
    @Test func `a copy serves once it is level with all owners, or with one that serves`() {
        var one = Driven(owners: 2)
        #expect(one.copy.phase != .serving)
        one.copy.onCaughtUp(with: n2, isServing: false)
        #expect(one.copy.phase == .serving)
        var incomplete = Driven(isComplete: false, owners: 2)
        incomplete.copy.onCaughtUp(with: n2, isServing: true)
        #expect(incomplete.copy.phase != .serving)
        for isServing in [true, false] {
            var one = Driven()
            one.copy.onCaughtUp(with: n2, isServing: isServing)
            #expect((one.copy.phase == .serving) == isServing)
            _ = one.copy.onTick(now: one.now + 999)
            #expect((one.copy.phase == .serving) == isServing)
            // By now the peer may serve, and is asked once more.
            _ = one.copy.onTick(now: one.now + 5_000)
            let claim = Frame.VersionClaim(
                vector: Vector(), digest: .zero, isComplete: true, isServing: false)
            one.receive(.report(shard, number: one.now + 5_000, claim), from: n2)
            _ = one.copy.onTick(now: one.now + 5_100)
            #expect(one.copy.phase == .serving, "nobody who serves was reached")
        }
    }

    @Test func `who begins to serve tells the owners that may be waiting for it`() {
        var one = Driven(peers: [n2, n3])
        one.copy.onCaughtUp(with: n2, isServing: false)
        #expect(one.said().isEmpty)
        one.copy.onCaughtUp(with: n3, isServing: true)
        #expect(one.said() == ["n2 answer"])
        one.copy.onCaughtUp(with: n3, isServing: true)
        #expect(one.said().isEmpty, "it is told once")
    }

    @Test func `nobody is complete by what a copy sends that is catching up itself`() {
        var wiped = Driven(isComplete: false)
        wiped.offer(seqs(1...2), isServing: false, from: n2)
        #expect(wiped.said().contains("n2 pull 1 beyond 0"))
        wiped.done(1, of: 0, seqs(1...2), isServing: false, from: n2)
        #expect(wiped.copy.current.vector == seqs(1...2))
        wiped.commit()
        wiped.now += 5_000
        _ = wiped.copy.onTick(now: wiped.now)
        #expect(wiped.copy.phase != .serving && !wiped.copy.current.isComplete)
        #expect(!wiped.said().contains { $0.contains("pull") }, "nothing is lacked")
        wiped.offer(seqs(1...2), from: n2)
        wiped.done(2, of: 0, seqs(1...2), from: n2)
        #expect(wiped.copy.phase == .serving && wiped.copy.current.isComplete)
    }

    @Test func `who is catching up says so to those who pull from it`() {
        for isServing in [true, false] {
            var one = Driven()
            if isServing { one.copy.onNobodyReached() }
            _ = one.copy.receive(
                .pull(shard, number: 3, SaidVector(Vector())), from: n2, now: one.now)
            one.copy.onScanned([], next: nil, for: n2)
            let claims = one.copy.takeOutbox().compactMap { _, frame in
                if case .done(_, _, _, let claim) = frame { claim } else { nil }
            }
            #expect(claims.map(\.isServing) == [isServing])
            #expect(claims.map(\.isComplete) == [true])
        }
    }

    @Test func `what lost acknowledged writes is complete by nobody's having more`() {
        var one = Driven(owners: 2)
        one.copy.doubt(now: one.now)
        one.offer(Vector(), isComplete: false, isServing: false, from: n2)
        one.now += 5_000
        _ = one.copy.onTick(now: one.now)
        one.copy.onNobodyReached()
        #expect(one.copy.phase != .serving && one.copy.isDoubted)
        one.offer(Vector(), from: n2)
        for number: UInt64 in 1...2 { one.done(number, of: 0, Vector(), from: n2) }
        one.commit()
        #expect(one.copy.phase == .serving && !one.copy.isDoubted)
    }

    @Test func `a copy serves after done from a complete one, not after another`() {
        for isComplete in [true, false] {
            var one = Driven(isComplete: false)
            one.offer(seqs(1...2), isComplete: isComplete, from: n2)
            one.done(1, of: 0, seqs(1...2), isComplete: isComplete, from: n2)
            #expect((one.copy.phase == .serving) == isComplete)
            #expect(one.copy.current.isComplete == isComplete)
        }
    }

    @Test func `a copy that only caught up in memory has to do so again after a failure`() {
        var one = Driven()
        one.offer(seqs(1...2), from: n2)
        one.done(1, of: 0, seqs(1...2), from: n2)
        _ = one.begin()
        #expect(one.copy.phase == .serving)
        _ = one.copy.onCommitFailed(now: one.now)
        #expect(one.copy.phase != .serving)
    }

    @Test func `alone, a complete copy serves and another does not`() {
        for isComplete in [true, false] {
            var one = Driven(isComplete: isComplete, peers: [])
            one.copy.onNobodyReached()
            #expect((one.copy.phase == .serving) == isComplete)
        }
    }

    @Test func `what is set aside is not claimed, and not served`() {
        var one = Driven()
        _ = one.write(1)
        one.commit()
        one.copy.onCaughtUp(with: n2, isServing: true)
        let rest = ReplicaHeader(
            remaining: Vector(), digest: .zero, counts: [], greatest: .zero)
        _ = one.copy.onSetAside(rest, now: one.now)
        #expect(one.copy.stored.vector.isEmpty)
        #expect(!one.copy.stored.isComplete)
        #expect(one.copy.phase != .serving)
        let next = one.copy.nextDot { RandomID(high: 0, low: 3) }
        #expect(next == Dot(replica: RandomID(high: 0, low: 3), seq: 1))
    }

    @Test func `a time that no clock follows does not take the place of the greatest one`() {
        let wall = WallTime(milliseconds: 1_000)
        let (followed, ahead) = (
            HybridTimestamp(milliseconds: 900), HybridTimestamp(milliseconds: 9_000)
        )
        var header = ReplicaHeader(
            remaining: Vector(), digest: .zero, counts: [], greatest: ahead)
        header.raise(to: followed, at: wall)
        #expect(header.greatest == followed && header.latest == ahead)
        header.raise(to: HybridTimestamp(milliseconds: 800), at: wall)
        #expect(header.greatest == followed)
    }
}

@Suite struct AcknowledgementTests {
    private static let slot = ReplySlot(session: 1, number: 1)

    /// Returns the numbers of replicas in the replies, each with the event after which it came.
    private func outcome(
        _ level: AckLevel, peers: [NodeName], owners: Int
    ) -> [String] {
        var one = Driven(peers: peers, owners: owners)
        let dot = one.write(1)
        one.copy.wait(Self.slot, storing: Context(dot), level: level, now: one.now)
        var told: [String] = []
        func note(_ settled: [(ReplySlot, Stored)], _ event: String) {
            for (_, stored) in settled { told.append("\(event) \(stored.on)/\(stored.owners)") }
        }
        note(one.copy.takeSettled(now: one.now + 60_000), "before the disk")
        note(one.commit(), "disk")
        for peer in peers {
            one.receive(.confirm(shard, seqs(1...1, of: mine)), from: peer)
            note(one.copy.takeSettled(now: one.now), "\(peer)")
        }
        let deadline = one.now + Acknowledgements.patienceMilliseconds
        note(one.copy.takeSettled(now: deadline - 1), "early")
        note(one.copy.onTick(now: deadline), "deadline")
        return told
    }

    @Test func `a reply comes from the disk and from as many copies as its level asks`() {
        #expect(outcome(.local, peers: [n2, n3], owners: 3) == ["disk 1/3"])
        #expect(outcome(.majority, peers: [n2, n3], owners: 3) == ["n2 2/3"])
        #expect(outcome(.all, peers: [n2, n3], owners: 3) == ["n3 3/3"])
        #expect(outcome(.majority, peers: [n2], owners: 5) == ["n2 2/5"])
        #expect(outcome(.all, peers: [n2], owners: 3) == ["n2 2/3"])
        #expect(outcome(.majority, peers: [], owners: 3) == ["disk 1/3"])
    }

    @Test func `who does not confirm is waited for a second at most`() {
        var one = Driven(peers: [n2, n3])
        let dot = one.write(1)
        one.copy.wait(Self.slot, storing: Context(dot), level: .all, now: one.now)
        let early = one.commit()
        let deadline = one.now + Acknowledgements.patienceMilliseconds
        let late = one.copy.onTick(now: deadline)
        #expect(early.isEmpty)
        #expect(late.map(\.1) == [Stored(on: 1, owners: 3, isEnough: false)])
    }

    @Test func `a reply is not sent for a commit of another shard`() {
        var one = Driven(peers: [], owners: 1)
        _ = one.write(1)
        one.commit()
        let dot = one.write(2)
        one.copy.wait(Self.slot, storing: Context(dot), level: .local, now: one.now)
        let settled = one.copy.onCommitted(one.ticket + 5, now: one.now)
        #expect(settled.isEmpty)
    }

    @Test func `how many copies hold a set is told by the seq that fewest hold`() {
        var one = Driven(peers: [n2, n3])
        for number in 1...4 as ClosedRange<UInt64> { _ = one.write(number) }
        #expect(one.copy.copies(of: seqs(1...4, of: mine)) == 0)
        one.commit()
        #expect(one.copy.copies(of: seqs(1...4, of: mine)) == 1)
        one.receive(.confirm(shard, seqs(1...2, of: mine)), from: n2)
        one.receive(.confirm(shard, seqs(3...4, of: mine)), from: n3)
        #expect(one.copy.copies(of: seqs(1...4, of: mine)) == 2)
        one.receive(.confirm(shard, seqs(1...3, of: mine)), from: n3)
        #expect(one.copy.copies(of: seqs(1...2, of: mine)) == 3)
        #expect(one.copy.copies(of: seqs(1...3, of: mine)) == 2)
        #expect(one.copy.copies(of: seqs(5...5, of: mine)) == 0)
        #expect(one.copy.copies(of: Vector()) == 3)
    }

    @Test func `changes await a majority until any majority has each of them`() {
        var one = Driven(peers: [n2, n3])
        for number in 1...2 as ClosedRange<UInt64> { _ = one.write(number) }
        #expect(one.copy.awaitsMajority(seqs(1...2, of: mine)))
        one.commit()
        #expect(one.copy.awaitsMajority(seqs(1...2, of: mine)))
        _ = one.said()
        one.copy.check(seqs(1...2, of: mine), isAgain: false)
        #expect(one.said() == ["n2 check 2", "n3 check 2"])
        one.copy.check(seqs(1...2, of: mine), isAgain: false)
        #expect(one.said().isEmpty)
        one.receive(.confirm(shard, seqs(1...1, of: mine)), from: n2)
        one.copy.check(seqs(1...2, of: mine), isAgain: true)
        #expect(one.said() == ["n2 check 1", "n3 check 2"])
        #expect(one.copy.awaitsMajority(seqs(1...2, of: mine)))
        #expect(!one.copy.awaitsMajority(seqs(1...1, of: mine)))
        one.receive(.confirm(shard, seqs(2...2, of: mine)), from: n3)
        #expect(!one.copy.awaitsMajority(seqs(1...2, of: mine)))
    }

    @Test func `a peer is told what is here of what it asks for, once that is on disk`() {
        var one = Driven(peers: [n2, n3])
        _ = one.write(1)
        one.receive(.check(shard, seqs(1...2, of: mine)), from: n2)
        #expect(!one.said().contains("n2 confirm 1"))
        one.commit()
        #expect(one.said() == ["n2 confirm 1"])
    }
}
