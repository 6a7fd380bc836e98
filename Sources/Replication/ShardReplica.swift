import CRDT
import Wire

/// The replication state of one node's replica of a shard: its content as a vector and a digest,
/// the part of it that is on disk, the progress of each connected node, and the open pull.
///
/// The value does no I/O: `receive` processes frames, `takeOutbox` returns the frames to send, and
/// the caller stores the documents.
///
/// Invariants:
/// - `stored.vector` ⊆ `current.vector`; the difference is in commits that are in progress or about
///   to begin.
/// - All claims to other nodes (offers, confirmations, `done`) come from `stored`, never from
///   `current`: a crash does not invalidate a claim.
/// - Seqs of a peer's vector that no document names are added only at `done` of the open pull, once
///   every batch has arrived.
/// - The numbering of a replica id is never continued: not by another process, not after a failed
///   commit.
public struct ShardReplica: Sendable {
    /// The phase of a replica, which determines whether its content may be shown to clients.
    public enum Phase: Hashable, Sendable {
        /// The replica is not shown until it is known to be up to date, since an old disk may
        /// contain documents that have since been deleted.
        case catchingUp
        case serving
    }

    struct Commit: Sendable {
        let ticket: UInt64
        let header: ReplicaHeader
        /// Whether the replica has served without interruption since the commit began.
        var isServing: Bool
        /// The confirmations and acceptances to send once the commit is on disk.
        var owed: Owed
    }

    /// Messages to co-owners and holders that wait until the current content is on disk.
    struct Owed: Sendable {
        var confirmed: [NodeName: Vector] = [:]
        /// By holder, the mark of a handover whose replica has been fetched entirely.
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
    /// The header on disk.
    public internal(set) var stored: ReplicaHeader {
        didSet { storedHash = stored.hash }
    }
    /// The hash of `stored`, which is compared with the co-owners' hashes twice a second.
    public private(set) var storedHash: UInt64
    /// The header that will be on disk once all commits in progress have succeeded.
    public internal(set) var current: ReplicaHeader
    public internal(set) var phase: Phase
    /// Whether the replica may serve only after `done` of a pull that begins from now on.
    ///
    /// Set when this node owns the shard again, since an open connection may still deliver old
    /// claims of a peer, and after some failed commits.
    var needsPull = false
    /// The owners of the shard and the other members, as this node sees them.
    public internal(set) var ownership: Ownership
    /// The progress of handing the replica over; nil if this node owns the shard.
    var handover: Handover?
    /// The last mark of the handovers that have ended; marks are not reused, so a late `accept` of
    /// an ended handover does not count for a later handover.
    var lastMark: UInt64
    /// Whether the storage is dropping the replica, which then ignores all frames.
    public internal(set) var isDropping = false
    /// Whether damaged documents are being set aside.
    private(set) var isSuspended = false
    /// Whether this disk has lost acknowledged changes; only a pull from a complete replica can
    /// then make this replica complete.
    public private(set) var isDoubted = false
    /// Whether a replica of a shard that this node does not own has searched for a serving replica
    /// for long enough; an owner that fetches the replica may then serve.
    var hasWaited = false
    /// Whether a peer with a replica has disconnected or reported `absent` since the last tick.
    var hasLostHolder = false

    /// The connected nodes, ascending by name.
    var peers: [PeerProgress] = []
    var pull: Pull?
    /// The number of the last pull; the first pull has `firstNumber + 1`.
    var pullsOpened: UInt64
    /// Greater than every pull number and mark of the replicas of this shard that this process
    /// dropped before.
    let firstNumber: UInt64
    var pullsDone: UInt64 = 0
    var merges: UInt64 = 0
    var changingMerges: UInt64 = 0
    var outbox: [(to: NodeName, frame: Frame)] = []
    var acknowledgements = Acknowledgements()
    /// Peers whose vector is equal and whose digest is different: a defect, which is logged as an
    /// error.
    var divergences: [NodeName] = []

    var causes: Causes
    /// The open read barrier rounds, in the order in which they began.
    var barrierRounds: [ReadBarrierRound] = []
    var barrierRoundsBegun: UInt64 = 0

    /// When the replica last began to catch up, in milliseconds.
    private(set) var catchingUpSince: UInt64
    private let restRangesMax: Int
    /// Whether the replica served with the content on disk; if not, a failed commit ends serving.
    private var isServedByDisk = false
    private var replica: ReplicaID?
    private var lastSeq: UInt64 = 0
    /// Whether the replica has a change that is not in any commit yet.
    ///
    /// Each change of the replica restarts the replica's handover.
    var isDirty = false {
        didSet { if isDirty { handover?.restart() } }
    }
    var owed = Owed()
    var commits: [Commit] = []
    /// The number of the last commit that was begun.
    private var lastTicket: UInt64 = 0

    /// - Parameter life: how many replicas this process has dropped before; late answers to a pull
    ///   or a handover of a dropped replica may still arrive on an open connection.
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
        phase = .catchingUp
        catchingUpSince = now
        #if PlantedBugs
            if PlantedBug.servesOldDisk.isOn { serve() }
        #endif
    }

    /// The number of low bits of a pull number or a mark that count within one replica; the higher
    /// bits are the replica's `life`.
    private static let numberBits = 32

    /// Declares the replica complete: the cluster starts with it, or no reachable node has more
    /// changes.
    public mutating func found() {
        current.isComplete = true
        isDirty = true
        serve()
    }

    /// Whether another replica that has fetched all of this replica may serve.
    var isVouching: Bool { phase == .serving || hasWaited }

    /// Marks the replica as incomplete, because the disk has lost unknown acknowledged changes.
    public mutating func doubt(now: UInt64) {
        stored.isComplete = false
        current.isComplete = false
        isDoubted = true
        catchUp(now: now)
    }

    /// Whether the whole content of the replica is on disk.
    public var isSettled: Bool { !isDirty && commits.isEmpty }

    /// Whether a pull is open; if the reply is lost, the pull is repeated.
    public var isPulling: Bool { pull != nil }

    /// Stops serving until the replica has caught up with the other nodes.
    mutating func catchUp(now: UInt64) {
        phase = .catchingUp
        catchingUpSince = now
        hasWaited = false
        isServedByDisk = false
        for index in commits.indices { commits[index].isServing = false }
    }

    /// Lets the replica serve from now on.
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

/// The effect of a change of one document on its replica's header.
public struct Change: Sendable {
    public let kind: UInt8
    /// The document's digest before the change; nil for a new document.
    public let before: Hash128?
    public let after: Hash128
    /// The value of the replica's clock after the change; the clock of the next process starts
    /// after that value.
    public let greatest: HybridTimestamp
    /// The greatest time in the changed document.
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
    /// Returns the dot of the next local mutation.
    ///
    /// - Parameter mint: returns 128 random bits; called only at the start of a numbering.
    public mutating func nextDot(minting mint: () -> ReplicaID) -> Dot {
        let replica = self.replica ?? begin(mint())
        self.replica = replica
        lastSeq += 1
        return Dot(replica: replica, seq: lastSeq)
    }

    /// The number of replica ids in a vector from which on this node starts no new replica id.
    ///
    /// The reserve of 1,024 up to the limit of a frame is for the replica ids that other nodes may
    /// start meanwhile on their sides of a partition: ten for each node of the largest cluster.
    public static let replicasMax = Vector.sharedReplicasMax - 1_024

    /// Whether a local mutation can be given a dot.
    public var mayNumber: Bool {
        replica != nil || current.vector.entries.count < ShardReplica.replicasMax
    }

    /// Whether this replica's vector united with another vector stays within
    /// `Vector.sharedReplicasMax`, the limit of a frame, as the vectors of all nodes that follow
    /// the protocol do.
    public func hasCapacity(for vector: Vector) -> Bool {
        let count = current.vector.entries.count
        return count + vector.entries.count <= Vector.sharedReplicasMax
            || current.vector.union(vector).entries.count <= Vector.sharedReplicasMax
    }

    /// Whether this replica's vector united with the context of a document stays within
    /// `Vector.sharedReplicasMax`.
    public func hasCapacity(for context: Context) -> Bool {
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

    /// Records a local mutation.
    public mutating func noteWrite(_ change: Change, by dot: Dot) {
        recordChange(change)
        current.vector.insert(dot)
    }

    /// Records that an encoded document of `peer` was merged.
    ///
    /// - Parameters:
    ///   - change: the effect of the merge; nil if the document did not change.
    ///   - context: the seqs that the encoded document names.
    ///   - superseded: seqs whose effect the encoded document contains without naming them.
    public mutating func noteMerge(
        _ change: Change?, naming context: Context, superseding superseded: Vector = Vector(),
        from peer: NodeName
    ) {
        merges += 1
        if let change {
            changingMerges += 1
            recordChange(change)
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

    private mutating func recordChange(_ change: Change) {
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

    /// Adds the claimed vector of a finished pull, whose changes this replica now contains.
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
    /// Begins a commit, and returns its header and whether the header's base has to be stored with
    /// it; nil if there is nothing to store.
    ///
    /// The base of the previous header is on disk, or in an earlier commit whose failure also fails
    /// this commit.
    ///
    /// - Parameter ticket: the commit's number, greater than that of every commit before.
    public mutating func beginCommit(
        _ ticket: UInt64
    ) -> (header: ReplicaHeader, isBaseNew: Bool)? {
        defer { owed = Owed() }
        guard isDirty else {
            if commits.isEmpty {
                sendOwed(owed)
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

    /// Records that every commit up to `ticket` is on disk, and returns the replies that may be
    /// sent.
    ///
    /// A replica that has become complete offers itself to every peer, since a peer may be about to
    /// serve without a complete replica.
    public mutating func onCommitted(_ ticket: UInt64, now: UInt64) -> [(ReplySlot, Stored)] {
        let wasComplete = stored.isComplete
        while let commit = commits.first, commit.ticket <= ticket {
            commits.removeFirst()
            stored = commit.header
            if stored.isComplete { isDoubted = false }
            if commit.isServing { isServedByDisk = true }
            sendOwed(commit.owed)
        }
        if stored.isComplete, !wasComplete { for peer in peers { offer(to: peer.name) } }
        acknowledgements.noteCommit(of: ticket)
        return takeSettled(now: now)
    }

    /// Returns to the state on disk after a commit, and therefore every commit in progress, failed.
    ///
    /// Documents of these commits may have reached other nodes. Therefore the replica id is not
    /// used for further changes, and every pull from or into this replica ends. A replica that had
    /// caught up only in memory has to catch up again.
    ///
    /// - Returns: the slots of the replies whose changes are lost.
    public mutating func onCommitFailed(now: UInt64) -> [ReplySlot] {
        let lost = current.vector.subtracting(stored.vector)
        current = stored
        noteCause(lost, of: nil, now: now)
        commits = []
        owed = Owed()
        isDirty = false
        handover?.restart()
        if !isServedByDisk {
            phase = .catchingUp
            // The changes that let it serve are lost, and the peers' last claims may be older.
            needsPull = true
        }
        endNumbering()
        breakPulls()
        forgetHeard()
        return acknowledgements.takeFailed()
    }

    /// Stops serving and handing over until damaged documents have been set aside.
    ///
    /// The caller must not call this method while the storage drops the replica.
    public mutating func suspend(now: UInt64) {
        isSuspended = true
        catchUp(now: now)
    }

    /// Continues with the remaining documents after damaged documents were set aside, or with all
    /// documents if only an index was damaged and has been rebuilt.
    ///
    /// The disk has to drop the damaged documents and store the new `stored` in one transaction.
    /// The caller has to close the connections to all peers: changes that were confirmed on these
    /// connections may be lost.
    ///
    /// - Parameter header: an incomplete header computed from the remaining documents; or the
    ///   stored header, if no document that it counts is missing.
    /// - Returns: the replies that will not be sent, since their changes may be lost.
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

    private mutating func sendOwed(_ owed: Owed) {
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
