import CRDT
import Chat
import Wire

/// Profiles on their way to the watchers of those who share a conversation with their users.
///
/// Who that is lies in many shards: it is asked for with each change of a profile, and when a
/// watcher comes. Three kinds of errands do that. One tells what a single profile has become; one
/// surveys the profiles that concern a watcher who came back, tells those that may have changed
/// since the sums that it came with, and makes the sums of its next tokens; one makes the sums of
/// the first token of who comes without one, and tells nothing.
struct ProfileDesk: Sendable {
    enum Errand: Hashable, Sendable {
        case change(of: UserID)
        case survey(session: UInt64)
        /// Given up where the watcher is answered first, or not all can be asked: what changes
        /// behind the first token must not be in its sums.
        case sum(session: UInt64)
    }

    /// Where the feeds stood when an errand was first asked for: what they tell from then on is
    /// told as it comes, and all before that is to be found.
    struct StartPositions: Sendable {
        /// By shard; nil where that was not known.
        let positions: [Vector?]
        /// When that was, in milliseconds.
        let since: UInt64

        /// How long somebody is waited for who holds all of it, in milliseconds: what is lacked
        /// then may exist nowhere any more.
        static let patienceMilliseconds: UInt64 = 1_000
    }

    /// An errand that is asked for.
    struct Running: Sendable {
        let errand: Errand
        /// For whom it asks.
        let user: UserID
        /// The number of its last request.
        var number: UInt64 = 0
        /// What the request came to, until the disk has it.
        var kept: Completion?
        let minimums: StartPositions
        /// Whether some shards could not be asked, or somebody answered who holds less.
        var isPartial = false
        /// Whose profiles are still to be asked for.
        var left: [UserID] = []
        var found: [DatedProfile] = []
    }

    /// A change that is not told to all yet.
    struct Change: Sendable {
        var addressedEvent: AddressedEvent
        /// The sessions that were told it, where some shards could not be asked for more.
        var told: Set<UInt64> = []
    }

    private var queue: [Errand] = []
    /// How many at its front are taken.
    private var taken = 0
    private var queued: Set<Errand> = []
    private(set) var changes: [UserID: Change] = [:]
    var running: [UInt64: Running] = [:]
    /// Sessions that were told something since their surveys began: what those find may be older.
    var stale: Set<UInt64> = []
    /// Errands that could not ask everybody, to be done again, in order.
    private var late: [Errand] = []
    /// Their floors.
    private var minimums: [Errand: StartPositions] = [:]
    var retriedAt: UInt64 = 0
    /// How many first tokens may still get their sums before the next tick.
    private var sumsLeft = ProfileDesk.sumsPerTick
    private var next: UInt64 = 0

    /// In the sessions of its requests, and in no client's.
    static let sessionBit: UInt64 = 1 << 61
    /// The most errands that are asked for at a time.
    static let runningMax = 16
    /// The most changes that wait: with more, all watchers are surveyed.
    static let changesMax = 256
    /// How long an errand waits for shards that cannot be asked, in milliseconds.
    static let pauseMilliseconds: UInt64 = 200
    /// The most errands that are done again at a time: some 1 ms of work each, on 64 shards.
    static let retriesMax = 32
    /// The most first tokens that get their sums between two ticks: some 0.4 ms of work each, on 64
    /// shards. Beyond it a watcher is answered without, and told all profiles when it comes back.
    static let sumsPerTick = 16
    /// The most errands whose floors are kept until they are done again.
    static let minimumsMax = 1_024

    var isIdle: Bool { taken == queue.count && running.isEmpty && !hasLate }

    var hasLate: Bool { !late.isEmpty }

    mutating func onTick() { sumsLeft = ProfileDesk.sumsPerTick }

    /// Begins to make the sums of a first token.
    ///
    /// - Returns: false where too many were asked for since the last tick.
    mutating func addSum(for session: UInt64) -> Bool {
        guard sumsLeft > 0 else { return false }
        sumsLeft -= 1
        add(.sum(session: session))
        return true
    }

    /// - Parameter isNew: what is told from now on is told as it comes.
    mutating func add(_ errand: Errand, isNew: Bool = true) {
        if isNew, minimums.removeValue(forKey: errand) != nil { late.removeAll { $0 == errand } }
        if queued.insert(errand).inserted { queue.append(errand) }
    }

    /// - Returns: false where too many wait.
    mutating func add(_ addressedEvent: AddressedEvent, of user: UserID) -> Bool {
        guard changes[user] != nil || changes.count < ProfileDesk.changesMax else { return false }
        var addressedEvent = addressedEvent
        // Two are told as one, unless the first was told to some.
        if let old = changes[user], old.told.isEmpty, let new = addressedEvent.change {
            addressedEvent = AddressedEvent(
                ProfileChange(new.view, replacing: old.addressedEvent.change?.replaced),
                at: addressedEvent.event.at)
        } else if changes[user] != nil, let new = addressedEvent.change {
            addressedEvent = AddressedEvent(
                ProfileChange(new.view, replacing: nil), at: addressedEvent.event.at)
        }
        changes[user] = Change(addressedEvent: addressedEvent)
        add(.change(of: user))
        return true
    }

    /// It was told to these, and there may be more.
    mutating func keep(_ change: Change, of user: UserID) {
        if changes[user] == nil { changes[user] = change }
    }

    mutating func takeChange(of user: UserID) -> Change? { changes.removeValue(forKey: user) }

    /// The next errand, where not too many are under way; of one user's changes one after the
    /// other.
    ///
    /// - Returns: its floors, too, where it was begun before.
    mutating func takeNext() -> (errand: Errand, minimums: StartPositions?)? {
        guard running.count < ProfileDesk.runningMax else { return nil }
        let underway = Set(running.values.map(\.errand))
        guard let index = queue[taken...].firstIndex(where: { !underway.contains($0) }) else {
            return nil
        }
        let errand = queue[index]
        // What is passed over is asked for at present: there are few of these.
        for passed in (taken..<index).reversed() { queue[passed + 1] = queue[passed] }
        taken += 1
        if taken * 2 > queue.count {
            queue.removeFirst(taken)
            taken = 0
        }
        queued.remove(errand)
        return (errand, minimums.removeValue(forKey: errand))
    }

    /// - Parameters:
    ///   - kept: its floors, where it was begun before.
    ///   - positions: where the feeds stand, by shard.
    mutating func begin(
        _ errand: Errand, for user: UserID, keeping kept: StartPositions?, at positions: [Vector?],
        now: UInt64
    ) -> UInt64 {
        next += 1
        let id = ProfileDesk.sessionBit | next
        // The feeds may have been closed and opened anew.
        let old = kept?.positions.count == positions.count ? kept?.positions : nil
        let minimums = StartPositions(
            positions: old.map { zip($0, positions).map { $0 ?? $1 } } ?? positions,
            since: kept?.since ?? now)
        running[id] = Running(
            errand: errand, user: user, minimums: minimums,
            isPartial: minimums.positions.contains(nil))
        return id
    }

    /// Notes what somebody holds who answers for a shard.
    mutating func note(_ vector: Vector, of shard: ShardID, for id: UInt64, now: UInt64) {
        guard let minimums = running[id]?.minimums, Int(shard.number) < minimums.positions.count,
            now < minimums.since + StartPositions.patienceMilliseconds,
            let minimum = minimums.positions[Int(shard.number)], !vector.covers(minimum)
        else { return }
        running[id]?.isPartial = true
    }

    /// It is to be done again, if that is not asked for already.
    mutating func delay(_ errand: Errand, at minimums: StartPositions) {
        guard !queued.contains(errand), self.minimums[errand] == nil else { return }
        // Newer floors do as well: all that is lost is time.
        let isKept = late.count < ProfileDesk.minimumsMax
        self.minimums[errand] =
            isKept ? minimums : StartPositions(positions: [], since: minimums.since)
        late.append(errand)
    }

    /// A session watches nobody any more.
    mutating func forget(_ session: UInt64) {
        stale.remove(session)
        guard minimums.removeValue(forKey: .survey(session: session)) != nil else { return }
        late.removeAll { $0 == .survey(session: session) }
    }

    mutating func retry() {
        for errand in late.prefix(ProfileDesk.retriesMax) { add(errand, isNew: false) }
        late.removeFirst(min(late.count, ProfileDesk.retriesMax))
    }
}
