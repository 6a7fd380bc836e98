/// The memory that the sessions of a node use together, and the requests that wait for memory.
///
/// Only sessions that use more than `SessionLimits.freeBytes` are counted. The memory of a session
/// consists of unfinished lines, waiting lines, replies that wait or are unread, and estimates for
/// replies that are not made yet. The line of an event that waits for many clients counts once, in
/// whichever sessions it waits.
struct HeldBytes: Sendable {
    private struct Entry {
        let source: TurnSource
        var bytes: Int
        /// The bytes of event lines that other sessions may share; not contained in `bytes`.
        var sharing: Int
        /// Whether the session waits only for its client, to read replies or to finish a line.
        var isItsTurn: Bool
        /// The number of bytes that the client has read since it connected.
        var taken: UInt64
        /// The value of `taken` at the time `since`, in milliseconds, from which the progress of
        /// the client is measured.
        var takenBefore: UInt64
        var since: UInt64
    }

    private struct Waiting {
        let id: UInt64
        let source: TurnSource
        let bytes: Int
    }

    private var entries: [UInt64: Entry] = [:]
    /// The waiting requests in the order of arrival.
    private var waiting: [Waiting] = []
    /// The bytes of all counted sessions, without shared event lines.
    private var own = 0
    /// The bytes of the event lines that sessions share.
    private var shared = 0
    /// The sum of `sharing` over the entries, in which a line counts once for each session.
    private var sharing = 0
    /// The bytes of each source's counted sessions, without shared event lines.
    private var bySource: [TurnSource: Int] = [:]
    /// The sum of all sources' bytes, in which each source counts with at most `lightBytesMax`.
    private var light = 0

    var total: Int { own + shared }

    var isTight: Bool { total >= SessionLimits.heldBytesTight }

    var isSpent: Bool { total >= SessionLimits.heldBytesMax }

    /// Records the memory that a session uses.
    ///
    /// - Parameters:
    ///   - bytes: the bytes that only this session stores.
    ///   - sharing: the bytes of waiting event lines that other sessions may share.
    ///   - taken: the number of bytes that the client has read since it connected.
    ///   - source: the user or connection for the bytes; an existing entry keeps its source.
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

    /// Adds the bytes of a shared line; negative after the last session has released the line.
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

    /// Whether the estimates leave memory for a reply of that many bytes to a source.
    ///
    /// A reply longer than half of the limit counts as half of the limit, since it might otherwise
    /// wait for ever. A source that uses little memory does not wait for sources that use much,
    /// whose replies may be several times as large as estimated.
    ///
    /// - Parameter isMeasured: whether `bytes` is the actual size, not the greatest likely size.
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

    /// Removes and returns the waiting session with the smallest reply for which there is memory,
    /// so that large requests do not delay all other requests.
    mutating func takeWaiting() -> UInt64? {
        let possible = waiting.indices.lazy.filter { [self] index in
            hasCapacity(for: waiting[index].bytes, of: waiting[index].source)
        }
        guard let least = possible.min(by: { waiting[$0].bytes < waiting[$1].bytes }) else {
            return nil
        }
        return waiting.remove(at: least).id
    }

    /// Returns the sessions that have to release memory until memory is not tight any more: of the
    /// sessions whose clients stall, those for which the most bytes wait.
    ///
    /// A shared line is freed once the last session has released it, so each session is assumed to
    /// free its fraction of the shared bytes. If less is freed, the next call returns further
    /// sessions.
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
