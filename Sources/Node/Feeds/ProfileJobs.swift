import CRDT
import Chat
import Wire

/// The queue of profile changes that are to be told to watchers who share a conversation with the
/// profile's user.
///
/// A user's conversations lie in many shards, so these are queried with each change of a profile,
/// and when a watcher comes. There are three kinds of jobs (`Job`). `change` tells what one
/// profile has become. `survey` finds the profiles that concern a resumed watcher, tells those that
/// may have changed since the sums in its token, and makes the sums of its next tokens. `sum` makes
/// the sums of the first token of a watcher that came without one, and tells nothing.
struct ProfileJobs: Sendable {
    /// A job, and the user or the session that it is for.
    enum Job: Hashable, Sendable {
        case change(of: UserID)
        case survey(session: UInt64)
        /// Given up if the watcher gets its reply first, or if not all shards can be asked: what
        /// changes after the first token must not be in its sums.
        case sum(session: UInt64)
    }

    /// The positions of the feeds when a job was first begun.
    ///
    /// The feeds tell the changes after them; all earlier ones have to be found by the job.
    struct StartPositions: Sendable {
        /// By shard; nil if the position was not known.
        let positions: [Vector?]
        /// When the job was first begun, in milliseconds.
        let since: UInt64

        /// How long a job insists on replicas that hold all of it, in milliseconds: what they lack
        /// after that may exist nowhere any more.
        static let patienceMilliseconds: UInt64 = 1_000
    }

    /// A job that is underway.
    struct Running: Sendable {
        let job: Job
        /// The user for whom the job's queries are made.
        let user: UserID
        /// The number of the last query.
        var number: UInt64 = 0
        /// The result of the last query, until the disk has stored what it shows.
        var kept: Completion?
        let minimums: StartPositions
        /// Whether some shards could not be asked, or a replica that answered holds too little.
        var isPartial = false
        /// The users whose profiles are still to be queried.
        var left: ArraySlice<UserID> = []
        var found: [DatedProfile] = []
    }

    /// A change of a profile that has not been told to everybody yet.
    struct Change: Sendable {
        var addressedEvent: AddressedEvent
        /// The sessions that were told, if some shards could not be asked for others.
        var told: Set<UInt64> = []
    }

    private var queue: [Job] = []
    /// The number of jobs at the front of `queue` that have been taken.
    private var taken = 0
    private var queued: Set<Job> = []
    private(set) var changes: [UserID: Change] = [:]
    var running: [UInt64: Running] = [:]
    /// The jobs whose last query is answered, in the order of the answers.
    private var answered: [(id: UInt64, outcome: Completion)] = []
    /// The sessions that were told a profile since their surveys began: a survey may find older
    /// ones.
    var stale: Set<UInt64> = []
    /// The jobs that could not ask everybody and are to be done again, in order.
    private var late: [Job] = []
    /// The start positions of the jobs that are to be done again.
    private var minimums: [Job: StartPositions] = [:]
    var retriedAt: UInt64 = 0
    /// The number of first tokens that may still get sums before the next tick.
    private var sumsLeft = ProfileJobs.sumsPerTick
    private var next: UInt64 = 0

    /// The most jobs that are underway.
    static let runningMax = 16
    /// The most changes that wait: when there are more, all watchers are surveyed instead.
    static let changesMax = 256
    /// How long a job waits for shards that could not be asked, in milliseconds.
    static let pauseMilliseconds: UInt64 = 200
    /// The most jobs that are done again at a time: some 1 ms of work each, with 64 shards.
    static let retriesMax = 32
    /// The most first tokens that get sums between two ticks.
    ///
    /// Each takes some 0.4 ms of work on 64 shards. Beyond the limit, a watcher gets a token
    /// without sums, and all profiles when it resumes.
    static let sumsPerTick = 16
    /// The most jobs that keep their start positions until they are done again.
    static let minimumsMax = 1_024

    var isIdle: Bool { taken == queue.count && running.isEmpty && !hasLate }

    var hasLate: Bool { !late.isEmpty }

    mutating func onTick() { sumsLeft = ProfileJobs.sumsPerTick }

    /// Adds the job that computes the sums of a first token.
    ///
    /// - Returns: false if too many were added since the last tick.
    mutating func addSum(for session: UInt64) -> Bool {
        guard sumsLeft > 0 else { return false }
        sumsLeft -= 1
        add(.sum(session: session))
        return true
    }

    /// - Parameter isNew: whether the job begins at the present positions of the feeds.
    mutating func add(_ job: Job, isNew: Bool = true) {
        if isNew, minimums.removeValue(forKey: job) != nil { late.removeAll { $0 == job } }
        if queued.insert(job).inserted { queue.append(job) }
    }

    /// - Returns: false if too many changes wait.
    mutating func add(_ addressedEvent: AddressedEvent, of user: UserID) -> Bool {
        guard changes[user] != nil || changes.count < ProfileJobs.changesMax else { return false }
        var addressedEvent = addressedEvent
        // Two changes are told as one, unless the first has been told to some sessions.
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

    /// Keeps a change that was told to some sessions, while there may be others.
    mutating func keep(_ change: Change, of user: UserID) {
        if changes[user] == nil { changes[user] = change }
    }

    mutating func takeChange(of user: UserID) -> Change? { changes.removeValue(forKey: user) }

    /// Takes the next job, unless too many are underway.
    ///
    /// Changes of one user are told one after the other.
    ///
    /// - Returns: the job, and its start positions if it was begun before.
    mutating func takeNext() -> (job: Job, minimums: StartPositions?)? {
        guard running.count < ProfileJobs.runningMax else { return nil }
        let underway = Set(running.values.map(\.job))
        guard let index = queue[taken...].firstIndex(where: { !underway.contains($0) }) else {
            return nil
        }
        let job = queue[index]
        // Only jobs that are underway already are passed over, and those are few.
        for passed in (taken..<index).reversed() { queue[passed + 1] = queue[passed] }
        taken += 1
        if taken * 2 > queue.count {
            queue.removeFirst(taken)
            taken = 0
        }
        queued.remove(job)
        return (job, minimums.removeValue(forKey: job))
    }

    mutating func noteAnswered(_ id: UInt64, by outcome: Completion) {
        answered.append((id, outcome))
    }

    mutating func takeAnswered() -> (id: UInt64, outcome: Completion)? {
        answered.isEmpty ? nil : answered.removeFirst()
    }

    /// - Parameters:
    ///   - kept: the start positions, if the job was begun before.
    ///   - positions: the present positions of the feeds, by shard.
    mutating func begin(
        _ job: Job, for user: UserID, keeping kept: StartPositions?, at positions: [Vector?],
        now: UInt64
    ) -> UInt64 {
        next += 1
        let id = SessionBit.profile | next
        // The feeds may have been closed and opened anew since.
        let old = kept?.positions.count == positions.count ? kept?.positions : nil
        let minimums = StartPositions(
            positions: old.map { zip($0, positions).map { $0 ?? $1 } } ?? positions,
            since: kept?.since ?? now)
        running[id] = Running(
            job: job, user: user, minimums: minimums,
            isPartial: minimums.positions.contains(nil))
        return id
    }

    /// Notes what a replica holds that answers for a shard.
    mutating func recordVector(_ vector: Vector, of shard: ShardID, for id: UInt64, now: UInt64) {
        guard let minimums = running[id]?.minimums, Int(shard.number) < minimums.positions.count,
            now < minimums.since + StartPositions.patienceMilliseconds,
            let minimum = minimums.positions[Int(shard.number)], !vector.covers(minimum)
        else { return }
        running[id]?.isPartial = true
    }

    /// Has a job done again later, unless it is queued already.
    mutating func delay(_ job: Job, at minimums: StartPositions) {
        guard !queued.contains(job), self.minimums[job] == nil else { return }
        // Beyond the limit a job begins anew with later positions, which only takes longer.
        let isKept = late.count < ProfileJobs.minimumsMax
        self.minimums[job] =
            isKept ? minimums : StartPositions(positions: [], since: minimums.since)
        late.append(job)
    }

    /// Forgets a session that has stopped watching.
    mutating func removeSession(_ session: UInt64) {
        stale.remove(session)
        guard minimums.removeValue(forKey: .survey(session: session)) != nil else { return }
        late.removeAll { $0 == .survey(session: session) }
    }

    mutating func retry() {
        for job in late.prefix(ProfileJobs.retriesMax) { add(job, isNew: false) }
        late.removeFirst(min(late.count, ProfileJobs.retriesMax))
    }
}
