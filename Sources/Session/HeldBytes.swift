/// The memory that the sessions of a node hold together, and the requests that wait for memory.
///
/// Only sessions that hold more than `SessionLimits.freeBytes` are counted. A session holds
/// unfinished lines, lines that wait, replies that wait or were not taken, and estimates for
/// replies on their way. The line of an event that waits for many clients counts once, whoever
/// holds it.
struct HeldBytes: Sendable {
    private struct Entry {
        let source: TurnSource
        var bytes: Int
        /// The bytes of lines that other sessions may hold, too; not contained in `bytes`.
        var sharing: Int
        /// Whether the session waits for nothing but its client.
        var isItsTurn: Bool
        /// The number of bytes that the client has taken since it connected.
        var taken: UInt64
        /// The value of `taken`, and the time in milliseconds, when the client last had taken
        /// enough.
        var takenBefore: UInt64
        var since: UInt64
    }

    private struct Waiting {
        let id: UInt64
        let source: TurnSource
        let bytes: Int
    }

    private var entries: [UInt64: Entry] = [:]
    /// In the order of arrival.
    private var waiting: [Waiting] = []
    /// The sum of `bytes` over the entries.
    private var own = 0
    /// The bytes of the lines that sessions share.
    private var shared = 0
    /// The sum of `sharing` over the entries, as if each held all of it alone.
    private var sharing = 0
    /// The sum of `bytes` over the entries of each source.
    private var bySource: [TurnSource: Int] = [:]
    /// The sum over the sources of what each holds, but `lightBytesMax` of each at most.
    private var light = 0

    var total: Int { own + shared }

    var isTight: Bool { total >= SessionLimits.heldBytesTight }

    var isSpent: Bool { total >= SessionLimits.heldBytesMax }

    /// Notes what a session holds.
    ///
    /// - Parameters:
    ///   - bytes: the bytes that the session holds alone.
    ///   - sharing: the bytes of lines that wait for its client and that others may hold, too.
    ///   - taken: the number of bytes that its client has taken since it connected.
    ///   - source: whose session it is, which it stays while it holds something.
    mutating func recordHeld(
        _ id: UInt64, of source: TurnSource, holds bytes: Int, sharing: Int = 0, isItsTurn: Bool,
        taken: UInt64, now: UInt64
    ) {
        guard bytes + sharing > SessionLimits.freeBytes else { return remove(id) }
        var entry =
            entries[id]
            ?? Entry(
                source: source, bytes: 0, sharing: 0, isItsTurn: isItsTurn, taken: taken,
                takenBefore: taken, since: now)
        add(bytes - entry.bytes, to: entry.source)
        self.sharing += sharing - entry.sharing
        if !entry.isItsTurn { entry.since = now }
        entry.bytes = bytes
        entry.sharing = sharing
        entry.isItsTurn = isItsTurn
        entry.taken = taken
        entries[id] = entry
    }

    /// Notes that shared lines wait, or that the last session has let go of them.
    mutating func addBytes(shared bytes: Int) { shared += bytes }

    mutating func removeSession(_ id: UInt64) {
        remove(id)
        waiting.removeAll { $0.id == id }
    }

    private mutating func remove(_ id: UInt64) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        add(-entry.bytes, to: entry.source)
        sharing -= entry.sharing
    }

    private mutating func add(_ bytes: Int, to source: TurnSource) {
        let before = bySource[source, default: 0]
        let after = before + bytes
        bySource[source] = after > 0 ? after : nil
        own += bytes
        light += min(after, SessionLimits.lightBytesMax) - min(before, SessionLimits.lightBytesMax)
    }

    /// Whether there is memory for a reply of that many bytes to a source, as far as is known.
    ///
    /// A reply longer than half of the limit counts as half of it: otherwise it might wait for
    /// ever. A source that holds little does not wait for those that hold much: their replies may
    /// be several times as large as was estimated.
    ///
    /// - Parameter isMeasured: whether the size is known, and not the greatest that is likely.
    func hasCapacity(
        for bytes: Int, of source: TurnSource, isMeasured: Bool = false
    ) -> Bool {
        if total + min(bytes, SessionLimits.heldBytesMax / 2) <= SessionLimits.heldBytesMax {
            return true
        }
        guard isMeasured || bytes <= SessionLimits.textsBytesEstimated else { return false }
        let counted = isMeasured ? bytes : min(bytes, SessionLimits.lightBytesMax)
        return bySource[source, default: 0] + counted <= SessionLimits.lightBytesMax
            && light + counted <= SessionLimits.heldBytesOfLight
    }

    /// Whether a request waits for memory.
    var isAwaited: Bool { !waiting.isEmpty }

    mutating func wait(_ id: UInt64, of source: TurnSource, for bytes: Int) {
        waiting.append(Waiting(id: id, source: source, bytes: bytes))
    }

    /// Takes the waiting session with the smallest reply of those for which there is memory, so
    /// that large requests do not hold up all others.
    mutating func takeWaiting() -> UInt64? {
        let possible = waiting.indices.lazy.filter { [self] index in
            hasCapacity(for: waiting[index].bytes, of: waiting[index].source)
        }
        guard let least = possible.min(by: { waiting[$0].bytes < waiting[$1].bytes }) else {
            return nil
        }
        return waiting.remove(at: least).id
    }

    /// Returns sessions that have to give up memory until it is not tight any more: of those whose
    /// clients stall, the ones for which the most bytes wait.
    ///
    /// A shared line is freed once the last session that holds it has gone, so each session counts
    /// for its part of it. If that was too little, more sessions are returned the next time.
    mutating func takeStalled(now: UInt64) -> [UInt64] {
        guard isTight else { return [] }
        var stalled: [(waiting: Int, frees: Int, id: UInt64)] = []
        for (id, entry) in entries
        where entry.isItsTurn && now >= entry.since + SessionLimits.stalledMillisecondsMax {
            if entry.taken < entry.takenBefore + UInt64(SessionLimits.movingBytesMin) {
                let part = sharing > 0 ? shared * entry.sharing / sharing : 0
                stalled.append((entry.bytes + entry.sharing, entry.bytes + part, id))
            } else {
                entries[id]?.takenBefore = entry.taken
                entries[id]?.since = now
            }
        }
        var excess = total - SessionLimits.heldBytesTight / 2
        return stalled.sorted { ($1.waiting, $0.id) < ($0.waiting, $1.id) }.prefix { one in
            defer { excess -= one.frees }
            return excess > 0
        }.map(\.id)
    }
}
