/// What the sessions of a node hold together, who waits for room, and who stands still.
///
/// Only who holds more than is free to all is counted. What is held is lines without an end, lines
/// that wait, replies that wait or were not taken, and what is reckoned for replies on their way.
struct HeldBytes: Sendable {
    private struct Entry {
        var bytes: Int
        /// Whether the client is waited for, and nobody else.
        var isItsTurn: Bool
        /// What it has taken in all.
        var taken: UInt64
        /// What it had taken when that was last found enough, and when that was.
        var takenBefore: UInt64
        var since: UInt64
    }

    private struct Waiting {
        let id: UInt64
        let bytes: Int
    }

    private var entries: [UInt64: Entry] = [:]
    /// In the order in which they came.
    private var waiting: [Waiting] = []
    private(set) var total = 0

    var isTight: Bool { total >= SessionLimits.heldBytesTight }

    var isSpent: Bool { total >= SessionLimits.heldBytesMax }

    /// Notes what a session holds.
    ///
    /// - Parameter taken: how many bytes its client has ever taken.
    mutating func note(
        _ id: UInt64, holds bytes: Int, isItsTurn: Bool, taken: UInt64, now: UInt64
    ) {
        guard bytes > SessionLimits.freeBytes else {
            if let entry = entries.removeValue(forKey: id) { total -= entry.bytes }
            return
        }
        var entry =
            entries[id]
            ?? Entry(bytes: 0, isItsTurn: isItsTurn, taken: taken, takenBefore: taken, since: now)
        total += bytes - entry.bytes
        if !entry.isItsTurn { entry.since = now }
        entry.bytes = bytes
        entry.isItsTurn = isItsTurn
        entry.taken = taken
        entries[id] = entry
    }

    mutating func forget(_ id: UInt64) {
        if let entry = entries.removeValue(forKey: id) { total -= entry.bytes }
        waiting.removeAll { $0.id == id }
    }

    /// Whether a reply of so many bytes may be made.
    ///
    /// One that is longer than everything may have is reckoned as half of that: it would wait for
    /// ever.
    func hasRoom(for bytes: Int) -> Bool {
        total + min(bytes, SessionLimits.heldBytesMax / 2) <= SessionLimits.heldBytesMax
    }

    /// Whether a session waits for room.
    var isAwaited: Bool { !waiting.isEmpty }

    mutating func wait(_ id: UInt64, for bytes: Int) {
        waiting.append(Waiting(id: id, bytes: bytes))
    }

    /// The session for whose reply there is room, the one that asks for least first: who asks for
    /// much does not hold up everybody.
    mutating func takeWaiting() -> UInt64? {
        guard let least = waiting.indices.min(by: { waiting[$0].bytes < waiting[$1].bytes }),
            hasRoom(for: waiting[least].bytes)
        else { return nil }
        return waiting.remove(at: least).id
    }

    /// The sessions to be let go, so that memory is not tight any longer: of those that stand
    /// still, the ones that hold most.
    mutating func takeStill(now: UInt64) -> [UInt64] {
        guard isTight else { return [] }
        var still: [(bytes: Int, id: UInt64)] = []
        for (id, entry) in entries
        where entry.isItsTurn && now >= entry.since + SessionLimits.stillMillisecondsMax {
            if entry.taken < entry.takenBefore + UInt64(SessionLimits.movingBytesMin) {
                still.append((entry.bytes, id))
            } else {
                entries[id]?.takenBefore = entry.taken
                entries[id]?.since = now
            }
        }
        var excess = total - SessionLimits.heldBytesTight / 2
        return still.sorted { ($1.bytes, $0.id) < ($0.bytes, $1.id) }.prefix { one in
            defer { excess -= one.bytes }
            return excess > 0
        }.map(\.id)
    }
}
