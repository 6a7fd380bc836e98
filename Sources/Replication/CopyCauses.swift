import CRDT
import Wire

/// What senders had seen of a shard when they sent what is here, and is not here itself.
///
/// An answer may arrive before what it answers, where the two come from different nodes. It is
/// merged and confirmed at once; who watches is told of it once the cause is on disk, too.
struct Causes: Sendable {
    /// How long they are waited for, in milliseconds: one may exist nowhere any more.
    static let patienceMilliseconds: UInt64 = 2_000
    /// How long one may be on its way before the sender of its effect is asked for it, in
    /// milliseconds.
    static let transitMilliseconds: UInt64 = 50

    private(set) var awaited = Vector()
    /// Since when the first of them is, in milliseconds.
    private(set) var since: UInt64 = 0
    /// Who has them, until it is asked.
    private var holders: [NodeName] = []

    mutating func await(_ vector: Vector, of peer: NodeName, now: UInt64) {
        if awaited.isEmpty { since = now }
        awaited.formUnion(vector)
        if !holders.contains(peer) { holders.append(peer) }
    }

    /// Those to be asked now; each once.
    mutating func takeHolders(now: UInt64) -> [NodeName] {
        guard !holders.isEmpty, now >= since + Causes.transitMilliseconds else { return [] }
        defer { holders = [] }
        return holders
    }
}

extension Copy {
    /// Whether whoever is told of all that is on disk is told of its causes, too.
    ///
    /// - Returns: true as well where they were waited for long enough.
    public mutating func hasCauses(now: UInt64) -> Bool {
        guard !causes.awaited.isEmpty else { return true }
        let isOver =
            stored.vector.covers(causes.awaited)
            || now >= causes.since + Causes.patienceMilliseconds
        if isOver { causes = Causes() }
        return isOver
    }

    /// Nobody is told, so nobody waits.
    public mutating func forgetCauses() { causes = Causes() }

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
        guard !causes.awaited.isEmpty, !current.vector.covers(causes.awaited) else { return }
        for peer in causes.takeHolders(now: now) where index(of: peer) != nil {
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
