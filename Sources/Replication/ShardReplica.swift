import CRDT
import Wire

/// One node's copy of a shard, as replication sees it: what is in it, what of that is on disk, what
/// each co-owner is known to hold, and what has to be fetched.
///
/// A value that does no I/O: frames go in by `receive`, the ones to send wait in `takeOutbox`, and
/// the documents themselves stay with whoever owns this value.
///
/// Invariants:
/// - `stored.vector` ⊆ `current.vector`; the difference is in commits under way or about to be.
/// - What a copy claims to others (offers, confirmations, `done`) comes from `stored`, never from
///   `current`: a crash takes back nothing that was claimed.
/// - The rest of a peer's set is added only at `done` of the open pull with every batch arrived.
/// - A replica's numbering is never continued: not by another process, not after a failed commit.
public struct ShardReplica: Sendable {
    /// Whether what is here may be shown.
    public enum Phase: Hashable, Sendable {
        /// Since the start, in milliseconds: an old disk must not show what has since been deleted.
        case catchingUp(since: UInt64)
        case serving
    }

    struct Commit: Sendable {
        let ticket: UInt64
        let header: ReplicaHeader
        /// Whether the copy was serving with what it holds.
        let isServing: Bool
        /// What to tell whom once it is on disk.
        var owed: Owed
    }

    /// What co-owners and holders are to be told once what is here is on disk.
    struct Owed: Sendable {
        var confirmed: [NodeName: Vector] = [:]
        /// The marks of holders' copies of which all is here.
        var accepted: [NodeName: UInt64] = [:]

        var isEmpty: Bool { confirmed.isEmpty && accepted.isEmpty }

        mutating func add(_ vector: Vector, for peer: NodeName) {
            confirmed[peer, default: Vector()].formUnion(vector)
        }

        mutating func add(_ other: Owed) {
            confirmed.merge(other.confirmed) { $0.union($1) }
            accepted.merge(other.accepted) { max($0, $1) }
        }
    }

    public let shard: ShardID
    /// What is on disk.
    public internal(set) var stored: ReplicaHeader {
        didSet { storedHash = stored.hash }
    }
    /// The hash of what is on disk: compared with the co-owners' twice a second.
    public private(set) var storedHash: UInt64
    /// What will be on disk once everything under way is.
    public internal(set) var current: ReplicaHeader
    public internal(set) var phase: Phase
    /// Whether only `done` of a pull that began since may end the catching up.
    ///
    /// A connection that outlives the time in which the shard belonged elsewhere may still bring
    /// what a peer said before.
    var needsPull = false
    /// Who should hold the shard, as this node sees the members.
    public internal(set) var ownership: Ownership
    /// How far the copy is with being given away; nil where it belongs here.
    var handover: Handover?
    /// The last mark of handovers that are over: an answer to one of them answers no other.
    var lastMark: UInt64
    /// Whether it is on its way off the disk: it takes and gives nothing any more.
    public internal(set) var isDropping = false
    /// Bad documents are being set aside.
    private(set) var isSuspended = false
    /// Acknowledged changes are missing from it: what it and others hold is not all that there is,
    /// until one that is complete has filled it.
    public private(set) var isDoubted = false
    /// It does not belong here, and has looked for one that serves for long enough: who takes it
    /// over has all that there is.
    var hasWaited = false

    /// Every connected node, ascending by name.
    var peers: [PeerProgress] = []
    var pull: Pull?
    /// The number of the last pull; the first is one greater than `firstNumber`.
    var pullsOpened: UInt64
    /// Behind every number that an earlier copy of the shard gave on a connection of this process.
    let firstNumber: UInt64
    var pullsDone: UInt64 = 0
    var merges: UInt64 = 0
    var changingMerges: UInt64 = 0
    var outbox: [(to: NodeName, frame: Frame)] = []
    var acknowledgements = Acknowledgements()
    /// Equal vectors, different digests: a defect, to be said loudly.
    ///
    /// By peer.
    var divergences: [NodeName] = []

    var causes: Causes
    /// Rounds of asking everybody, in order.
    var barrierRounds: [ReadBarrierRound] = []
    var barrierRoundsBegun: UInt64 = 0

    private let startedAt: UInt64
    private let restRangesMax: Int
    /// Whether what is on disk was enough to serve: a failed commit goes back to it.
    private var isServedByDisk = false
    private var replica: ReplicaID?
    private var lastSeq: UInt64 = 0
    /// Whether something changed that no commit holds.
    ///
    /// With the copy changes what is offered of it.
    private var isDirty = false {
        didSet { if isDirty { handover?.restart() } }
    }
    var owed = Owed()
    var commits: [Commit] = []
    /// The ticket of the last commit handed out.
    private var lastTicket: UInt64 = 0

    /// - Parameter life: how many copies this process dropped before: what answers a pull or an
    ///   offer of one of them may still be on its way, on a connection that outlives them all.
    public init(
        _ shard: ShardID, stored: ReplicaHeader, ownership: Ownership, life: UInt64, now: UInt64,
        restRangesMax: Int = VectorBase.restRangesMax,
        causePatienceMilliseconds: UInt64 = Causes.patienceMillisecondsDefault
    ) {
        self.restRangesMax = restRangesMax
        causes = Causes(patienceMilliseconds: causePatienceMilliseconds)
        self.shard = shard
        firstNumber = life << ShardReplica.numberBits
        pullsOpened = firstNumber
        lastMark = firstNumber
        self.stored = stored
        self.ownership = ownership
        storedHash = stored.hash
        current = stored
        handover = ownership.isOwnedHere ? nil : Handover(after: firstNumber)
        phase = .catchingUp(since: now)
        startedAt = now
        #if PlantedBugs
            if PlantedBug.servesOldDisk.isOn { serve() }
        #endif
    }

    /// How many bits of a number count the pulls, or the marks, of one copy.
    private static let numberBits = 32

    /// What is here is all there is of the shard: it begins here, or nobody has more.
    public mutating func found() {
        current.isComplete = true
        isDirty = true
        serve()
    }

    /// Whether what it claims may be shown by others.
    var isVouching: Bool { phase == .serving || hasWaited }

    /// The disk has lost acknowledged changes, of which nobody knows which: the copy holds what it
    /// counts, and is not complete.
    public mutating func doubt(now: UInt64) {
        stored.isComplete = false
        current.isComplete = false
        isDoubted = true
        catchUp(now: now)
    }

    /// Whether everything in it is on disk.
    public var isSettled: Bool { !isDirty && commits.isEmpty }

    /// What is here may not be older than what others hold, until they are heard.
    mutating func catchUp(now: UInt64) {
        phase = .catchingUp(since: now)
        hasWaited = false
        isServedByDisk = false
    }

    /// What is here may be shown from here on.
    mutating func serve() {
        let wasServing = phase == .serving
        phase = .serving
        needsPull = false
        if isSettled { isServedByDisk = true }
        if !wasServing { tellServing() }
    }

    public mutating func takeOutbox() -> [(to: NodeName, frame: Frame)] {
        defer { outbox = [] }
        return outbox
    }

    public mutating func takeDivergences() -> [NodeName] {
        defer { divergences = [] }
        return divergences
    }
}

// MARK: Changes

/// What a change of one document does to its copy.
public struct Change: Sendable {
    public let kind: UInt8
    /// The document's digest before; nil where it is new.
    public let before: Hash128?
    public let after: Hash128
    /// What the clock of the copy comes to: behind it the next process starts.
    public let greatest: HybridTimestamp
    /// The greatest time in the document.
    public let latest: HybridTimestamp

    public init(
        kind: UInt8, before: Hash128?, after: Hash128, greatest: HybridTimestamp,
        latest: HybridTimestamp
    ) {
        self.kind = kind
        self.before = before
        self.after = after
        self.greatest = greatest
        self.latest = latest
    }
}

extension ShardReplica {
    /// The name of the next local mutation.
    ///
    /// - Parameter mint: gives 128 random bits, for the first mutation since the start or since the
    ///   last numbering ended.
    public mutating func nextDot(minting mint: () -> ReplicaID) -> Dot {
        let replica = self.replica ?? begin(mint())
        self.replica = replica
        lastSeq += 1
        return Dot(replica: replica, seq: lastSeq)
    }

    /// How many replicas a vector has when no numbering begins in it any more.
    ///
    /// All that others may have begun meanwhile on their sides of a cut, ten for each node that a
    /// cluster can have, still fit what nodes tell each other.
    public static let replicasMax = Vector.sharedReplicasMax - 1_024

    /// Whether a mutation can be named.
    public var mayNumber: Bool {
        replica != nil || current.vector.entries.count < ShardReplica.replicasMax
    }

    /// Whether so many replicas more still fit what nodes tell each other: all that any honest node
    /// has seen does.
    public func hasRoom(for vector: Vector) -> Bool {
        let count = current.vector.entries.count
        return count + vector.entries.count <= Vector.sharedReplicasMax
            || current.vector.union(vector).entries.count <= Vector.sharedReplicasMax
    }

    /// The same of what a document names.
    public func hasRoom(for context: Context) -> Bool {
        let count = current.vector.entries.count
        if count + context.dots.count <= Vector.sharedReplicasMax { return true }
        let more = context.dots.count { current.vector.seqs(of: $0.replica).isEmpty }
        return count + more <= Vector.sharedReplicasMax
    }

    private mutating func begin(_ replica: ReplicaID) -> ReplicaID {
        lastSeq = 0
        #if PlantedBugs
            if PlantedBug.dotsReusedAfterWipe.isOn { return ReplicaID(high: 0, low: 1) }
            if PlantedBug.numberingContinuedAfterRestore.isOn,
                let mine = current.vector.entries.first
            {
                lastSeq = mine.seqs.greatest ?? 0
                return mine.replica
            }
        #endif
        return replica
    }

    /// Notes a local mutation.
    public mutating func noteWrite(_ change: Change, by dot: Dot) {
        note(change)
        current.vector.insert(dot)
    }

    /// Notes that an encoded document of `peer` was merged.
    ///
    /// - Parameters:
    ///   - change: nil where the merge changed nothing: its seqs are recorded all the same.
    ///   - context: the seqs that the encoded document names.
    ///   - superseded: what it holds of seqs that it does not name.
    public mutating func noteMerge(
        _ change: Change?, naming context: Context, superseding superseded: Vector = Vector(),
        from peer: NodeName
    ) {
        merges += 1
        if let change {
            changingMerges += 1
            note(change)
        }
        if !current.vector.contains(context) {
            current.vector.insert(context)
            isDirty = true
        }
        noteUntold(context, from: peer)
        owed.confirmed[peer, default: Vector()].insert(context)
        guard !superseded.isEmpty else { return }
        if !current.vector.covers(superseded) {
            current.vector.formUnion(superseded)
            isDirty = true
        }
        noteUntold(superseded, from: peer)
        owed.add(superseded, for: peer)
    }

    private mutating func note(_ change: Change) {
        if let before = change.before {
            current.digest -= before
        } else {
            current.count(change.kind)
        }
        current.digest += change.after
        current.greatest = change.greatest
        current.latest = max(current.latest, change.latest)
        isDirty = true
    }

    /// Adds what a finished pull proves.
    mutating func noteDone(_ claim: Frame.VersionClaim, from peer: NodeName) {
        if !current.vector.covers(claim.vector) {
            current.vector.formUnion(claim.vector)
            isDirty = true
        }
        if claim.isVouching, !current.isComplete {
            current.isComplete = true
            isDirty = true
        }
        noteUntold(claim.vector, from: peer)
        owed.add(claim.vector, for: peer)
    }
}

// MARK: Commits

extension ShardReplica {
    /// Hands out the header for the next commit, and whether its base has to be stored with it; nil
    /// where there is nothing to store.
    ///
    /// The base of the header before is on the disk, or on its way in a commit whose failure fails
    /// this one as well.
    ///
    /// - Parameter ticket: the commit's number: greater than every one before.
    public mutating func beginCommit(
        _ ticket: UInt64
    ) -> (header: ReplicaHeader, isBaseNew: Bool)? {
        defer { owed = Owed() }
        guard isDirty else {
            if commits.isEmpty {
                tell(owed)
            } else {
                commits[commits.count - 1].owed.add(owed)
            }
            return nil
        }
        precondition(ticket > lastTicket, "commits are numbered in order")
        isDirty = false
        lastTicket = ticket
        acknowledgements.noteHandedOut(with: ticket)
        let before = (commits.last?.header ?? stored).base
        current.rebase(restRangesMax: restRangesMax)
        commits.append(
            Commit(
                ticket: ticket, header: current, isServing: phase == .serving, owed: owed))
        return (current, isNew(current.base, after: before))
    }

    private func isNew(_ base: VectorBase, after before: VectorBase) -> Bool {
        #if PlantedBugs
            if PlantedBug.olderBaseTaken.isOn, before.name != nil { return false }
        #endif
        return base.name != nil && base.name != before.name
    }

    /// Everything up to `ticket` is on disk.
    ///
    /// Who has become complete says so: others may be about to go on without a complete copy.
    public mutating func onCommitted(_ ticket: UInt64, now: UInt64) -> [(ReplySlot, Stored)] {
        let wasComplete = stored.isComplete
        while let commit = commits.first, commit.ticket <= ticket {
            commits.removeFirst()
            stored = commit.header
            if stored.isComplete { isDoubted = false }
            if commit.isServing { isServedByDisk = true }
            tell(commit.owed)
        }
        if stored.isComplete, !wasComplete { for peer in peers { offer(to: peer.name) } }
        acknowledgements.noteCommit(of: ticket)
        return takeSettled(now: now)
    }

    /// A commit failed, and with it all that were handed out: back to what is on disk.
    ///
    /// Their documents may have reached others, so the numbering ends here, and so does every pull
    /// from or into this copy. A copy that had only caught up in memory has to do so again.
    ///
    /// - Returns: the replies that will not come.
    public mutating func onCommitFailed() -> [ReplySlot] {
        current = stored
        commits = []
        owed = Owed()
        isDirty = false
        handover?.restart()
        if !isServedByDisk { phase = .catchingUp(since: startedAt) }
        endNumbering()
        breakPulls()
        forgetHeard()
        return acknowledgements.takeFailed()
    }

    /// Some of its documents are bad: nothing is shown or accepted until they are set aside.
    ///
    /// Not while the disk is told to drop all of it.
    public mutating func suspend(now: UInt64) {
        isSuspended = true
        catchUp(now: now)
    }

    /// Documents were set aside because their bytes are bad: the copy is what the others make up.
    ///
    /// Or only what leads to them was damaged, and has been made anew.
    ///
    /// The disk has to drop them and keep what is `stored` from here on in one transaction. What
    /// was confirmed to co-owners may be gone, so their connections have to be given up.
    ///
    /// - Parameter header: made from the remaining documents alone and not complete; or the one
    ///   that is stored, where they are all that it counts.
    /// - Returns: the replies that will not come: what they wait for may be gone.
    public mutating func onSetAside(_ header: ReplicaHeader, now: UInt64) -> [ReplySlot] {
        precondition(isSettled, "nothing is under way while a copy is counted anew")
        isSuspended = false
        let greatest = max(stored.greatest, header.greatest)
        stored = header
        stored.greatest = greatest
        current = stored
        catchUp(now: now)
        handover?.restart()
        replica = nil
        breakPulls()
        forgetHeard()
        return acknowledgements.takeAll()
    }

    private mutating func endNumbering() {
        #if PlantedBugs
            if PlantedBug.numberingContinuedAfterFailure.isOn {
                lastSeq = replica.flatMap { stored.vector.seqs(of: $0).greatest } ?? 0
                return
            }
        #endif
        replica = nil
    }

    private mutating func tell(_ owed: Owed) {
        guard !owed.isEmpty else { return }
        for peer in peers {
            if let vector = owed.confirmed[peer.name], !vector.isEmpty {
                outbox.append((peer.name, .confirm(shard, vector)))
            }
            if let mark = owed.accepted[peer.name], ownership.isOwnedHere {
                outbox.append((peer.name, .accept(shard, mark: mark, claim)))
            }
        }
    }
}

// MARK: Acknowledgements

extension ShardReplica {
    /// Has a reply wait for the disk, and for co-owners as its level asks.
    ///
    /// - Parameter context: what has to be stored; empty for a reply that only shows what is here.
    public mutating func wait(
        _ slot: ReplySlot, storing context: Context, level: AckLevel, now: UInt64
    ) {
        acknowledgements.add(
            Acknowledgements.Waiter(
                slot: slot, ticket: isDirty ? nil : commits.last?.ticket, context: context,
                level: level, deadline: now + Acknowledgements.patienceMilliseconds,
                isOnDisk: isSettled || isPlantedEarly))
    }

    private var isPlantedEarly: Bool {
        #if PlantedBugs
            return PlantedBug.acknowledgedBeforeStored.isOn
        #else
            return false
        #endif
    }

    /// The replies whose conditions hold.
    public mutating func takeSettled(now: UInt64) -> [(ReplySlot, Stored)] {
        guard !acknowledgements.waiters.isEmpty else { return [] }
        let (ownership, peers) = (ownership, peers)
        let owners = ownership.owners.count
        return acknowledgements.takeSettled { waiter in
            guard !waiter.context.isEmpty else {
                return Stored(on: 1, owners: owners, isEnough: true)
            }
            var on = ownership.isOwnedHere ? 1 : 0
            // By index: what is known of a peer is large, and nothing of it is to be copied.
            for index in peers.indices where peers[index].isOwner {
                if peers[index].confirmed.contains(waiter.context) { on += 1 }
            }
            let copies = waiter.level.copies(owners: owners, living: ownership.livingOwners)
            guard on >= copies || waiter.level == .local || now >= waiter.deadline else {
                return nil
            }
            let isEnough =
                waiter.level == .local || on >= waiter.level.copies(owners: owners)
            return Stored(on: on, owners: owners, isEnough: isEnough)
        }
    }

    /// Whether replies wait for this copy.
    var isAwaited: Bool { !acknowledgements.waiters.isEmpty }

    /// On how many owners each of these seqs is stored: the smallest such number.
    public func copies(of vector: Vector) -> Int {
        vector.entries.map { entry in
            let isHere = stored.vector.seqs(of: entry.replica).isSuperset(of: entry.seqs)
            let others = peers.filter(\.isOwner).map { $0.confirmed.seqs(of: entry.replica) }
            return (isHere && ownership.isOwnedHere ? 1 : 0) + fewest(entry.seqs, in: others)
        }.min() ?? ownership.owners.count
    }

    /// Whether all of these seqs are known to be on the disks of all owners.
    public func isOnAllOwners(_ vector: Vector) -> Bool {
        ownership.owners.allSatisfy { owner in
            guard owner != ownership.me else { return stored.vector.covers(vector) }
            return index(of: owner).map { peers[$0].confirmed.covers(vector) } ?? false
        }
    }

    /// How many of the sets hold each seq: the smallest such number.
    private func fewest(_ seqs: SeqSet, in sets: [SeqSet]) -> Int {
        var rest = [(seqs: seqs, ownership: 0)]
        for set in sets {
            rest = rest.flatMap { part in
                let lacked = part.seqs.subtracting(set)
                let held = part.seqs.subtracting(lacked)
                return [(lacked, part.ownership), (held, part.ownership + 1)]
            }.filter { !$0.0.isEmpty }
        }
        return rest.map(\.ownership).min() ?? sets.count
    }
}
