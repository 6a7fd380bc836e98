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

    /// An errand that is asked for.
    struct Running: Sendable {
        let errand: Errand
        /// For whom it asks.
        let user: UserID
        /// The number of its last request.
        var number: UInt64 = 0
        /// What the request came to, until the disk has it.
        var kept: Outcome?
        /// Whether some shards could not be asked.
        var isPartial = false
        /// Whose profiles are still to be asked for.
        var left: [UserID] = []
        var found: [DatedProfile] = []
    }

    /// A change that is not told to all yet.
    struct Change: Sendable {
        var announcement: Announcement
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
    /// Errands that could not ask everybody, to be done again.
    var late: Set<Errand> = []
    var retriedAt: UInt64 = 0
    private var next: UInt64 = 0

    /// In the sessions of its requests, and in no client's.
    static let sessionBit: UInt64 = 1 << 61
    /// The most errands that are asked for at a time.
    static let runningMax = 16
    /// The most changes that wait: with more, all watchers are surveyed.
    static let changesMax = 256
    /// How long an errand waits for shards that cannot be asked, in milliseconds.
    static let pauseMilliseconds: UInt64 = 1_000

    var isIdle: Bool { taken == queue.count && running.isEmpty && late.isEmpty }

    mutating func add(_ errand: Errand) {
        if queued.insert(errand).inserted { queue.append(errand) }
    }

    /// - Returns: false where too many wait.
    mutating func add(_ announcement: Announcement, of user: UserID) -> Bool {
        guard changes[user] != nil || changes.count < ProfileDesk.changesMax else { return false }
        var announcement = announcement
        // Two are told as one, unless the first was told to some.
        if let old = changes[user], old.told.isEmpty, let new = announcement.change {
            announcement = Announcement(
                ProfileChange(new.view, replacing: old.announcement.change?.replaced),
                at: announcement.event.at)
        } else if changes[user] != nil, let new = announcement.change {
            announcement = Announcement(
                ProfileChange(new.view, replacing: nil), at: announcement.event.at)
        }
        changes[user] = Change(announcement: announcement)
        add(.change(of: user))
        return true
    }

    /// It was told to these, and there may be more.
    mutating func keep(_ change: Change, of user: UserID) {
        if changes[user] == nil { changes[user] = change }
        late.insert(.change(of: user))
    }

    mutating func takeChange(of user: UserID) -> Change? { changes.removeValue(forKey: user) }

    /// The next errand, where not too many are under way; of one user's changes one after the
    /// other.
    mutating func takeNext() -> Errand? {
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
        return errand
    }

    mutating func begin(_ errand: Errand, for user: UserID) -> UInt64 {
        next += 1
        let id = ProfileDesk.sessionBit | next
        running[id] = Running(errand: errand, user: user)
        return id
    }

    /// A session watches nobody any more.
    mutating func forget(_ session: UInt64) {
        stale.remove(session)
        late.remove(.survey(session: session))
    }

    mutating func retry() {
        for errand in late { add(errand) }
        late = []
    }
}
