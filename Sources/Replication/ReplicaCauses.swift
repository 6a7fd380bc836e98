import CRDT
import Wire

/// What senders had seen of a shard when they sent what is here, and is not here itself.
///
/// An answer may arrive before what it answers, where the two come from different nodes. It is
/// merged and confirmed at once; who watches is told of it once the cause is on disk, too.
public struct Causes: Sendable {
    /// How long they are waited for where nothing else was said, in milliseconds.
    public static let patienceMillisecondsDefault: UInt64 = 2_000
    /// How long one may be on its way before the sender of its effect is asked for it, in
    /// milliseconds.
    static let transitMilliseconds: UInt64 = 50

    /// How long they are waited for, in milliseconds: one may exist nowhere any more.
    let patienceMilliseconds: UInt64
    /// Those that were named within such a part of that are given up together.
    private static let batchesMax: UInt64 = 20

    private struct Batch: Sendable {
        var vector: Vector
        /// When the first of them was named, in milliseconds.
        let since: UInt64
    }

    /// Oldest first.
    private var batches: [Batch] = []
    /// Who has them, until it is asked, and since when they are to be.
    private var ownership: [NodeName] = []
    private var ownershipSince: UInt64 = 0
    /// Whether somebody is told of what answers them: otherwise nobody is asked.
    var areWanted = true

    init(patienceMilliseconds: UInt64) { self.patienceMilliseconds = patienceMilliseconds }

    var isEmpty: Bool { batches.isEmpty }

    var awaited: Vector {
        guard areWanted else { return Vector() }
        return batches.reduce(into: Vector()) { $0.formUnion($1.vector) }
    }

    mutating func await(_ vector: Vector, of peer: NodeName, now: UInt64) {
        batches.removeAll { now >= $0.since + patienceMilliseconds }
        if let last = batches.last,
            now < last.since + patienceMilliseconds / Causes.batchesMax
        {
            batches[batches.count - 1].vector.formUnion(vector)
        } else {
            batches.append(Batch(vector: vector, since: now))
        }
        if ownership.isEmpty { ownershipSince = now }
        if !ownership.contains(peer) { ownership.append(peer) }
    }

    /// Those are not waited for any more that are stored, or were waited for long enough: each by
    /// itself, for there may be no moment at which none is on its way.
    mutating func settle(having stored: Vector, now: UInt64) {
        for index in batches.indices {
            batches[index].vector = batches[index].vector.subtracting(stored)
        }
        batches.removeAll { $0.vector.isEmpty || now >= $0.since + patienceMilliseconds }
    }

    /// Those to be asked now; each once.
    mutating func takeOwnership(now: UInt64) -> [NodeName] {
        guard !ownership.isEmpty, now >= ownershipSince + Causes.transitMilliseconds else {
            return []
        }
        defer { ownership = [] }
        return ownership
    }
}

extension ShardReplica {
    /// How long whoever is told waits for causes, in milliseconds.
    public var causePatienceMilliseconds: UInt64 { causes.patienceMilliseconds }

    /// Whether whoever is told of all that is on disk is told of its causes, too.
    ///
    /// - Returns: true as well where they were waited for long enough.
    public mutating func hasCauses(now: UInt64) -> Bool {
        guard !causes.isEmpty else { return true }
        causes.areWanted = true
        causes.settle(having: stored.vector, now: now)
        return causes.isEmpty
    }

    /// Nobody is told, so nobody is asked for causes.
    ///
    /// Each is named once, and kept: who begins to watch before it is here is told behind it.
    public mutating func leaveCauses() { causes.areWanted = false }

    /// What `peer` sends may answer all of this.
    mutating func noteCause(_ cause: Vector, of peer: NodeName, now: UInt64) {
        #if PlantedBugs
            if PlantedBug.causeForgotten.isOn { return }
        #endif
        guard !current.vector.covers(cause) else { return }
        causes.await(cause, of: peer, now: now)
    }

    /// Asks for causes that do not come by themselves.
    mutating func seekCauses(now: UInt64) {
        guard !causes.isEmpty, !current.vector.covers(causes.awaited) else { return }
        for peer in causes.takeOwnership(now: now) where index(of: peer) != nil {
            outbox.append((peer, .seek(shard)))
        }
    }

    /// What was merged here is what the next push to any other owner may answer.
    mutating func noteUntold(_ context: Context, from peer: NodeName) {
        addUntold(from: peer) { untold in untold.insert(context) }
    }

    mutating func noteUntold(_ vector: Vector, from peer: NodeName) {
        addUntold(from: peer) { untold in untold.formUnion(vector) }
    }

    private mutating func addUntold(from peer: NodeName, _ add: (inout Vector) -> Void) {
        for index in peers.indices where peers[index].isOwner && peers[index].name != peer {
            add(&peers[index].untold)
        }
    }

    /// What the next push to a peer may answer and was not told before.
    mutating func takeUntold(of index: Int) -> Vector {
        guard !peers[index].untold.isEmpty else { return Vector() }
        defer { peers[index].untold = Vector() }
        return peers[index].untold.subtracting(peers[index].confirmed)
    }
}
