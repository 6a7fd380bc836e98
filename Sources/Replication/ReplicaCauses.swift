import CRDT
import Wire

/// The causes that a replica waits for: changes that a sender had seen when it sent documents that
/// are here, and that are not here themselves.
///
/// A reply to a message may arrive before the message if the two come from different nodes. The
/// reply is merged and confirmed at once, but watchers are told of it only when the message is on
/// disk too.
public struct Causes: Sendable {
    /// The default for how long causes are waited for, in milliseconds.
    public static let patienceMillisecondsDefault: UInt64 = 2_000
    /// How long a cause may be on its way before the node that named it is asked for it, in
    /// milliseconds.
    static let transitMilliseconds: UInt64 = 50

    /// How long causes are waited for, in milliseconds; a cause may exist nowhere any more.
    let patienceMilliseconds: UInt64
    /// The number of parts that the waiting time is divided into; causes that were named within one
    /// part are given up together.
    private static let batchesMax: UInt64 = 20

    private struct Batch: Sendable {
        var vector: Vector
        /// When the first cause of the batch was named, in milliseconds.
        let since: UInt64
    }

    /// The awaited causes, oldest batch first.
    private var batches: [Batch] = []
    /// The nodes that named causes and have not been asked for them, and when the first of these
    /// did so, in milliseconds.
    private var namers: [NodeName] = []
    private var namersSince: UInt64 = 0
    /// The named causes that have not arrived, given up or not, and the changes that arrived and
    /// were not kept.
    private var missing = Vector()
    /// When the first of these was named, in milliseconds.
    private var missingSince: UInt64 = 0
    /// How long a missing cause counts, in milliseconds; after that it exists nowhere any more.
    private static let missingMilliseconds: UInt64 = 600_000
    /// Whether watchers have to be told of documents that wait for causes; otherwise no node is
    /// asked.
    var areWanted = true

    init(patienceMilliseconds: UInt64) { self.patienceMilliseconds = patienceMilliseconds }

    var isEmpty: Bool { batches.isEmpty }

    var awaited: Vector {
        guard areWanted else { return Vector() }
        return batches.reduce(into: Vector()) { $0.formUnion($1.vector) }
    }

    /// - Parameter peer: the node that can be asked for the changes; nil for nobody in particular.
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

    /// Whether causes are missing from what a replica has, in memory or on disk.
    mutating func areMissing(from current: Vector, now: UInt64) -> Bool {
        guard !missing.isEmpty else { return false }
        let isOver = now >= missingSince + Causes.missingMilliseconds
        missing = isOver ? Vector() : missing.subtracting(current)
        return !missing.isEmpty
    }

    /// Stops waiting for causes that are stored, or that were waited for long enough.
    ///
    /// Each batch is given up by itself, since there may be no moment at which no cause is on its
    /// way.
    mutating func settle(having stored: Vector, now: UInt64) {
        for index in batches.indices {
            batches[index].vector = batches[index].vector.subtracting(stored)
        }
        batches.removeAll { $0.vector.isEmpty || now >= $0.since + patienceMilliseconds }
    }

    /// Removes and returns the nodes to ask now; each is asked once.
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

    /// Whether watchers may be told of everything on disk, because its causes are on disk too.
    ///
    /// - Returns: also true where the missing causes were waited for long enough.
    public mutating func hasCauses(now: UInt64) -> Bool {
        guard !causes.isEmpty else { return true }
        causes.areWanted = true
        causes.settle(having: stored.vector, now: now)
        return causes.isEmpty
    }

    /// Whether all that the documents here may depend on is here too, as far as this replica knows:
    /// no pull is under way, and no named cause is missing.
    public mutating func isCausallyComplete(now: UInt64) -> Bool {
        pull == nil && !causes.areMissing(from: current.vector, now: now)
    }

    /// Stops asking for causes while there are no watchers.
    ///
    /// The causes are kept, since each is named only once: a watcher that subscribes before a cause
    /// has arrived is told of the answer after the cause.
    public mutating func leaveCauses() { causes.areWanted = false }

    /// Waits for changes that documents here, or those to come, may answer.
    ///
    /// - Parameter peer: the node that can be asked for them; nil for nobody in particular.
    mutating func noteCause(_ cause: Vector, of peer: NodeName?, now: UInt64) {
        #if PlantedBugs
            if PlantedBug.causeForgotten.isOn { return }
        #endif
        guard !current.vector.covers(cause) else { return }
        // What has arrived does not count, or the time of what has not would never end.
        _ = causes.areMissing(from: current.vector, now: now)
        causes.await(cause, of: peer, now: now)
    }

    /// Notes changes that arrived from a peer and are not kept here, because the disk is full or
    /// their document cannot be merged.
    ///
    /// A pull brings them later. Until then, changes that depend on them may arrive and be kept.
    public mutating func noteNotKept(
        _ changes: Context, superseding: Vector, of peer: NodeName, now: UInt64
    ) {
        var vector = superseding
        vector.insert(changes)
        noteCause(vector.subtracting(current.vector), of: peer, now: now)
    }

    /// Asks the nodes that named causes for them if they have not arrived by themselves.
    mutating func seekCauses(now: UInt64) {
        guard !causes.isEmpty, !current.vector.covers(causes.awaited) else { return }
        for peer in causes.takeNamers(now: now) where index(of: peer) != nil {
            outbox.append((peer, .seek(shard)))
        }
    }

    /// Adds a merged change to what the next push to any other owner names as its cause.
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
