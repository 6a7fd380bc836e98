import CRDT
import Wire

/// The causes that a replica waits for: changes that the replica lacks and that a peer had seen
/// when it sent documents to the replica.
///
/// A reply to a message may arrive before the message if the two come from different nodes. The
/// replica merges and confirms the reply at once, but reports the reply to watchers only when the
/// message is on disk too.
public struct Causes: Sendable {
    /// The default time for which watchers wait for causes, in milliseconds.
    public static let patienceMillisecondsDefault: UInt64 = 2_000
    /// How long a named cause may take to arrive before this node requests the cause from the node
    /// that named it, in milliseconds.
    static let transitMilliseconds: UInt64 = 50

    /// How long watchers wait for causes, in milliseconds; the wait is limited, since a cause may
    /// exist on no node any more.
    let patienceMilliseconds: UInt64
    /// The number of parts that the waiting time is divided into; the waits for all causes that
    /// were named within one part end together.
    private static let batchesMax: UInt64 = 20

    private struct Batch: Sendable {
        var vector: Vector
        /// When the first cause of the batch was named, in milliseconds.
        let since: UInt64
    }

    /// The awaited causes, oldest batch first.
    private var batches: [Batch] = []
    /// The nodes that named causes and that this node has not asked for these causes, and the time
    /// of the first naming in milliseconds.
    private var namers: [NodeName] = []
    private var namersSince: UInt64 = 0
    /// The named causes that have not arrived, whether or not watchers still wait for them, and the
    /// changes that arrived and were not kept.
    private var missing = Vector()
    /// When the first of the missing causes was named, in milliseconds.
    private var missingSince: UInt64 = 0
    /// How long a cause counts as missing, in milliseconds; then the cause is assumed to exist on
    /// no node.
    private static let missingMilliseconds: UInt64 = 600_000
    /// Whether watchers wait for documents whose causes are missing; if not, no cause is requested.
    var areWanted = true

    init(patienceMilliseconds: UInt64) { self.patienceMilliseconds = patienceMilliseconds }

    var isEmpty: Bool { batches.isEmpty }

    var awaited: Vector {
        guard areWanted else { return Vector() }
        return batches.reduce(into: Vector()) { $0.formUnion($1.vector) }
    }

    /// - Parameter peer: the node that can be asked for the changes; nil if no such node is known.
    mutating func await(_ vector: Vector, of peer: NodeName?, now: UInt64) {
        batches.removeAll { now >= $0.since + patienceMilliseconds }
        if let last = batches.last,
            now < last.since + patienceMilliseconds / Causes.batchesMax
        {
            batches[batches.count - 1].vector.formUnion(vector)
        } else {
            batches.append(Batch(vector: vector, since: now))
        }
        if namers.isEmpty { namersSince = now }
        if let peer, !namers.contains(peer) { namers.append(peer) }
        if missing.isEmpty { missingSince = now }
        missing.formUnion(vector)
    }

    /// Whether the vector `current` of a replica lacks a named cause.
    mutating func areMissing(from current: Vector, now: UInt64) -> Bool {
        guard !missing.isEmpty else { return false }
        let isOver = now >= missingSince + Causes.missingMilliseconds
        missing = isOver ? Vector() : missing.subtracting(current)
        return !missing.isEmpty
    }

    /// Stops waiting for causes that are stored, or whose waiting time has ended.
    ///
    /// Each batch has its own waiting time, since under load there may be no moment at which no
    /// cause is in transit.
    mutating func settle(having stored: Vector, now: UInt64) {
        for index in batches.indices {
            batches[index].vector = batches[index].vector.subtracting(stored)
        }
        batches.removeAll { $0.vector.isEmpty || now >= $0.since + patienceMilliseconds }
    }

    /// Removes and returns the nodes to ask for causes now; each node is asked once.
    mutating func takeNamers(now: UInt64) -> [NodeName] {
        guard !namers.isEmpty, now >= namersSince + Causes.transitMilliseconds else {
            return []
        }
        defer { namers = [] }
        return namers
    }
}

extension ShardReplica {
    /// How long watchers wait for causes, in milliseconds.
    public var causePatienceMilliseconds: UInt64 { causes.patienceMilliseconds }

    /// Whether all documents on disk may be reported to watchers, because the causes of these
    /// documents are on disk too.
    ///
    /// - Returns: true also if the waiting time of the missing causes has ended.
    public mutating func hasCauses(now: UInt64) -> Bool {
        guard !causes.isEmpty else { return true }
        causes.areWanted = true
        causes.settle(having: stored.vector, now: now)
        return causes.isEmpty
    }

    /// Whether this replica has, as far as it knows, all changes that its documents may depend on:
    /// no pull is under way, and no named cause is missing.
    public mutating func isCausallyComplete(now: UInt64) -> Bool {
        pull == nil && !causes.areMissing(from: current.vector, now: now)
    }

    /// Stops requesting causes from other nodes while this node has no watchers.
    ///
    /// The list of causes is kept, since a peer names each cause only once: a watcher that
    /// subscribes before a cause has arrived still receives the cause before the documents that
    /// depend on it.
    public mutating func leaveCauses() { causes.areWanted = false }

    /// Begins to wait for changes on which present or future documents of this replica may depend.
    ///
    /// - Parameter peer: the node that can be asked for the changes; nil if no such node is known.
    mutating func noteCause(_ cause: Vector, of peer: NodeName?, now: UInt64) {
        #if PlantedBugs
            if PlantedBug.causeForgotten.isOn { return }
        #endif
        guard !current.vector.covers(cause) else { return }
        // `areMissing` removes causes that have arrived, so that `missingSince` restarts when none
        // is missing.
        _ = causes.areMissing(from: current.vector, now: now)
        causes.await(cause, of: peer, now: now)
    }

    /// Records changes that arrived from a peer and were not kept, because the disk is full or
    /// their document cannot be merged.
    ///
    /// A later pull fetches these changes. Before the pull, changes that depend on the missing
    /// changes may arrive and be kept.
    public mutating func noteNotKept(
        _ changes: Context, superseding: Vector, of peer: NodeName, now: UInt64
    ) {
        var vector = superseding
        vector.insert(changes)
        noteCause(vector.subtracting(current.vector), of: peer, now: now)
    }

    /// Sends `seek` to the nodes that named causes, if the causes have not arrived within
    /// `transitMilliseconds`.
    mutating func seekCauses(now: UInt64) {
        guard !causes.isEmpty, !current.vector.covers(causes.awaited) else { return }
        for peer in causes.takeNamers(now: now) where index(of: peer) != nil {
            outbox.append((peer, .seek(shard)))
        }
    }

    /// Adds a merged change to the cause that the next push to every owner except `peer` names.
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

    /// Removes and returns the cause of the next push to a peer.
    mutating func takeUntold(of index: Int) -> Vector {
        guard !peers[index].untold.isEmpty else { return Vector() }
        defer { peers[index].untold = Vector() }
        return peers[index].untold.subtracting(peers[index].confirmed)
    }
}
