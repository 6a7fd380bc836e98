/// What the sessions of a node hold together, who waits for room, and who stands still.
///
/// Only who holds more than is free to all is counted. What is held is lines without an end, lines
/// that wait, replies that wait or were not taken, and what is reckoned for replies on their way.
/// The line of an event that waits for many clients is one, and counts once, whoever holds it.
struct HeldBytes: Sendable {
    private struct Entry {
        var bytes: Int
        /// Of lines that other sessions may hold, too; not among `bytes`.
        var sharing: Int
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
    /// The bytes of entries.
    private var own = 0
    /// The bytes of what sessions share.
    private var shared = 0
    /// The sum of what entries share, as if each held all of it alone.
    private var sharing = 0

    var total: Int { own + shared }

    var isTight: Bool { total >= SessionLimits.heldBytesTight }

    var isSpent: Bool { total >= SessionLimits.heldBytesMax }

    /// Notes what a session holds.
    ///
    /// - Parameters:
    ///   - bytes: what it holds alone.
    ///   - sharing: the bytes of lines that wait for its client and that others may hold, too.
    ///   - taken: how many bytes its client has ever taken.
    mutating func note(
        _ id: UInt64, holds bytes: Int, sharing: Int = 0, isItsTurn: Bool, taken: UInt64,
        now: UInt64
    ) {
        guard bytes + sharing > SessionLimits.freeBytes else { return remove(id) }
        var entry =
            entries[id]
            ?? Entry(
                bytes: 0, sharing: 0, isItsTurn: isItsTurn, taken: taken, takenBefore: taken,
                since: now)
        own += bytes - entry.bytes
        self.sharing += sharing - entry.sharing
        if !entry.isItsTurn { entry.since = now }
        entry.bytes = bytes
        entry.sharing = sharing
        entry.isItsTurn = isItsTurn
        entry.taken = taken
        entries[id] = entry
    }

    /// Notes that lines which sessions share wait, or that the last to hold them let go.
    mutating func note(shared bytes: Int) { shared += bytes }

    mutating func forget(_ id: UInt64) {
        remove(id)
        waiting.removeAll { $0.id == id }
    }

    private mutating func remove(_ id: UInt64) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        own -= entry.bytes
        sharing -= entry.sharing
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
    /// still, the ones for which most waits.
    ///
    /// What a session shares is free once the last that holds it has gone: each counts for its part
    /// of it, and where that was too much, more go the next time.
    mutating func takeStill(now: UInt64) -> [UInt64] {
        guard isTight else { return [] }
        var still: [(waiting: Int, frees: Int, id: UInt64)] = []
        for (id, entry) in entries
        where entry.isItsTurn && now >= entry.since + SessionLimits.stillMillisecondsMax {
            if entry.taken < entry.takenBefore + UInt64(SessionLimits.movingBytesMin) {
                let part = sharing > 0 ? shared * entry.sharing / sharing : 0
                still.append((entry.bytes + entry.sharing, entry.bytes + part, id))
            } else {
                entries[id]?.takenBefore = entry.taken
                entries[id]?.since = now
            }
        }
        var excess = total - SessionLimits.heldBytesTight / 2
        return still.sorted { ($1.waiting, $0.id) < ($0.waiting, $1.id) }.prefix { one in
            defer { excess -= one.frees }
            return excess > 0
        }.map(\.id)
    }
}
