import CRDT
import Chat
import Wire

/// The queue of profile changes for watchers who share a conversation with the profile's user.
///
/// A user's conversations are in many shards, which are queried at each profile change and when a
/// watcher begins. There are three kinds of jobs (`Job`). A `change` job sends the new state of one
/// profile. A `survey` job finds the profiles that concern a resumed watcher, sends those that may
/// have changed since the sums in the watcher's token, and computes the sums for the next tokens. A
/// `sum` job computes the sums for the first token of a watcher without a resume token.
struct ProfileJobs: Sendable {
    /// A job, and the user or the session that it is for.
    enum Job: Hashable, Sendable {
        case change(of: UserID)
        case survey(session: UInt64)
        /// The job is given up if the watcher gets its reply first, or if some shards cannot be
        /// queried: changes after the first token must not be in the token's sums.
        case sum(session: UInt64)
    }

    /// The positions of the feeds at the first start of a job.
    ///
    /// The feeds deliver the changes after these positions; the job has to find all others.
    struct StartPositions: Sendable {
        /// The positions by shard; nil if a position was unknown.
        let positions: [Vector?]
        /// When the job was first started, in milliseconds.
        let since: UInt64

        /// The time for which a job requires replicas that contain all start positions, in
        /// milliseconds.
        ///
        /// Changes that are missing after that may exist on no node any more.
        static let patienceMilliseconds: UInt64 = 1_000
    }

    /// A job that is running.
    struct Running: Sendable {
        let job: Job
        /// The user for whom the job's queries are made.
        let user: UserID
        /// The number of the job's last query.
        var number: UInt64 = 0
        /// The result of the last query, until the disk has stored the changes that it shows.
        var kept: Completion?
        let minimums: StartPositions
        /// Whether some shards could not be queried, or a replica that answered lacks changes.
        var isPartial = false
        /// The users whose profiles are still to be queried.
        var left: ArraySlice<UserID> = []
        var found: [DatedProfile] = []
    }

    /// A change of a profile that has not been sent to all watchers concerned.
    struct Change: Sendable {
        var addressedEvent: AddressedEvent
        /// The sessions that got the change, if some shards could not be queried for further users.
        var told: Set<UInt64> = []
    }

    private var queue: [Job] = []
    /// The number of jobs at the front of `queue` that have been started.
    private var taken = 0
    private var queued: Set<Job> = []
    private(set) var changes: [UserID: Change] = [:]
    var running: [UInt64: Running] = [:]
    /// The jobs whose last query has been answered, in the order of the answers.
    private var answered: [(id: UInt64, outcome: Completion)] = []
    /// The sessions that received a profile since their surveys began; surveys may find older ones.
    var stale: Set<UInt64> = []
    /// The jobs that could not query all shards and are to be repeated, in order.
    private var late: [Job] = []
    /// The start positions of the jobs that are to be repeated.
    private var minimums: [Job: StartPositions] = [:]
    var retriedAt: UInt64 = 0
    /// The number of first tokens that may still get sums before the next tick.
    private var sumsLeft = ProfileJobs.sumsPerTick
    private var next: UInt64 = 0

    /// The maximum number of running jobs.
    static let runningMax = 16
    /// The maximum number of waiting changes; beyond it, all watchers are surveyed instead.
    static let changesMax = 256
    /// The pause before jobs with unreachable shards are repeated, in milliseconds.
    static let pauseMilliseconds: UInt64 = 200
    /// The maximum number of jobs repeated at a time; each takes about 1 ms with 64 shards.
    static let retriesMax = 32
    /// The maximum number of first tokens that get sums between two ticks.
    ///
    /// The sums of a token take about 0.4 ms with 64 shards. Beyond the limit, a watcher gets a
    /// token without sums, and receives all profiles when it resumes.
    static let sumsPerTick = 16
    /// The maximum number of jobs that keep their start positions until they are repeated.
    static let minimumsMax = 1_024

    var isIdle: Bool { taken == queue.count && running.isEmpty && !hasLate }

    var hasLate: Bool { !late.isEmpty }

    /// Whether a survey for the session is queued, running, or to be repeated.
    func hasSurvey(for session: UInt64) -> Bool {
        let job = Job.survey(session: session)
        return queued.contains(job) || minimums[job] != nil
            || running.values.contains { $0.job == job }
    }

    mutating func onTick() { sumsLeft = ProfileJobs.sumsPerTick }

    /// Adds the job that computes the sums of a first token.
    ///
    /// - Returns: false if too many such jobs were added since the last tick.
    mutating func addSum(for session: UInt64) -> Bool {
        guard sumsLeft > 0 else { return false }
        sumsLeft -= 1
        add(.sum(session: session))
        return true
    }

    /// - Parameter isNew: whether the job starts at the present positions of the feeds.
    mutating func add(_ job: Job, isNew: Bool = true) {
        if isNew, minimums.removeValue(forKey: job) != nil { late.removeAll { $0 == job } }
        if queued.insert(job).inserted { queue.append(job) }
    }

    /// - Returns: false if too many changes wait.
    mutating func add(_ addressedEvent: AddressedEvent, of user: UserID) -> Bool {
        guard changes[user] != nil || changes.count < ProfileJobs.changesMax else { return false }
        var addressedEvent = addressedEvent
        // Two changes are sent as one change, unless some sessions have received the first.
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

    /// Keeps a change that some sessions have received, while further sessions may be found.
    mutating func keep(_ change: Change, of user: UserID) {
        if changes[user] == nil { changes[user] = change }
    }

    mutating func takeChange(of user: UserID) -> Change? { changes.removeValue(forKey: user) }

    /// Removes and returns the next job, unless too many jobs are running.
    ///
    /// Changes of one user are sent one after the other.
    ///
    /// - Returns: the job, and its start positions if it was started before.
    mutating func takeNext() -> (job: Job, minimums: StartPositions?)? {
        guard running.count < ProfileJobs.runningMax else { return nil }
        let underway = Set(running.values.map(\.job))
        guard let index = queue[taken...].firstIndex(where: { !underway.contains($0) }) else {
            return nil
        }
        let job = queue[index]
        // Only running jobs are passed over, and those are few.
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
    ///   - kept: the start positions, if the job was started before.
    ///   - positions: the present positions of the feeds, by shard.
    mutating func begin(
        _ job: Job, for user: UserID, keeping kept: StartPositions?, at positions: [Vector?],
        now: UInt64
    ) -> UInt64 {
        next += 1
        let id = SessionBit.profile | next
        // The feeds may have been closed and opened again since the first start.
        let old = kept?.positions.count == positions.count ? kept?.positions : nil
        let minimums = StartPositions(
            positions: old.map { zip($0, positions).map { $0 ?? $1 } } ?? positions,
            since: kept?.since ?? now)
        running[id] = Running(
            job: job, user: user, minimums: minimums,
            isPartial: minimums.positions.contains(nil))
        return id
    }

    /// Records the vector of the replica that answered for a shard.
    mutating func recordVector(_ vector: Vector, of shard: ShardID, for id: UInt64, now: UInt64) {
        guard let minimums = running[id]?.minimums, Int(shard.number) < minimums.positions.count,
            now < minimums.since + StartPositions.patienceMilliseconds,
            let minimum = minimums.positions[Int(shard.number)], !vector.covers(minimum)
        else { return }
        running[id]?.isPartial = true
    }

    /// Queues a job to be repeated later, unless it is queued already.
    mutating func delay(_ job: Job, at minimums: StartPositions) {
        guard !queued.contains(job), self.minimums[job] == nil else { return }
        // Beyond the limit a job starts again at later positions, which only takes longer.
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
