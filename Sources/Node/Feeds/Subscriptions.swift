import CRDT
import Chat
import Replication
import Wire

/// The watchers of this node, and the holder from which each shard's events come.
struct Subscriptions: Sendable {
    /// The feed of one shard, from one holder.
    struct Feed: Sendable {
        /// Nil while no member can be asked.
        var holder: NodeName?
        var number: UInt64 = 0
        /// Whether the holder has reported the position of everything that it has told so far.
        ///
        /// A watcher that begins before that gets a replay.
        var isOpen = false
        /// The position up to which this node's watchers have been told of the shard; nil while it
        /// is unknown.
        var position: Vector?
        /// The members that refused the feed, and until when they are not asked again, in
        /// milliseconds.
        var refusedBy: [NodeName: UInt64] = [:]

        /// How long a member that refused a feed is not asked again, in milliseconds.
        static let pauseMilliseconds: UInt64 = 200
    }

    /// The part of a shard that a watcher has not been told yet.
    struct Backlog: Sendable {
        /// The vector that the watcher has seen.
        var since: Vector
        /// How far replays since then have come.
        var progress = ReplayProgress()
        /// The number of the replay that brings the rest; 0 while none has been requested.
        var number: UInt64 = 0
        /// The last event of the replay so far, and what this replay has passed once the watcher is
        /// told of it.
        ///
        /// It follows with the next one, or with the end of the replay, so that the token of the
        /// last event stands for the whole replay.
        var held: (event: WatchedEvent, passed: Vector?)?
    }

    /// A session that watches a user.
    struct Watcher: Sendable {
        let slot: ReplySlot
        let user: UserID
        /// Whether the session gets a token with each event.
        var hasTokens = true
        /// The resume token; nil once the replays have been requested.
        var since: Token?
        /// The numbers of the `watch` frames that holders have not answered yet.
        var awaited: Set<UInt64> = []
        /// When the session gets its reply without waiting any longer, in milliseconds.
        let deadline: UInt64
        /// Earlier operations of the connection that may still be executed.
        var unsettled = Unsettled()
        /// The sums of the profiles that the session was told of; nil while they are unknown.
        var sums: ProfileSums?
        /// Until when the reply waits for `sums`, in milliseconds; nil if it does not wait.
        var sumsDeadline: UInt64?
        /// Whether the session has its reply; events go to it from then on.
        var isAnswered = false
        /// The shards of which a replay is still due; the feed's own events are withheld meanwhile.
        var behind: [ShardID: Backlog] = [:]
        /// Changes that the feed told before the session's replay, and that the replay did not
        /// contain because its holder lacks them; another holder may have them.
        var lacked: [ShardID: Vector] = [:]
        /// The shards that hold something of the user's, or that brought the session an event,
        /// ascending.
        var concerns: [ShardID]

        /// Whether the session has been told everything that the feeds have told.
        var isCaughtUp: Bool { behind.isEmpty && lacked.isEmpty }

        /// The key under which the token is shared with other watchers; nil if it is this one's
        /// alone.
        var tokenKey: TokenKey? {
            isCaughtUp && unsettled.counters.isEmpty
                ? TokenKey(concerns: concerns, sums: sums) : nil
        }

        /// How long the reply waits for holders, in milliseconds.
        static let patienceMilliseconds: UInt64 = 1_000
        /// How long the reply waits for the sums of the first token, in milliseconds.
        ///
        /// A client that resumes with a token without sums is told the profiles once more.
        static let sumsMilliseconds: UInt64 = 200

        func waits(now: UInt64, areFeedsOpen: Bool) -> Bool {
            guard now < deadline else { return false }
            return !areFeedsOpen || !awaited.isEmpty || sumsDeadline.map { now < $0 } ?? false
        }
    }

    /// The key of a token: watchers that lack nothing and have equal keys share their token.
    struct TokenKey: Hashable, Sendable {
        let concerns: [ShardID]
        let sums: ProfileSums?
    }

    /// The feeds, by shard number; empty while none is open.
    var feeds: [Feed] = []
    /// The watching sessions, by session number.
    private(set) var watchers: [UInt64: Watcher] = [:]
    /// The sessions that have no reply yet.
    private(set) var unanswered: Set<UInt64> = []
    /// The sessions that wait for a replay.
    private(set) var lagging: Set<UInt64> = []
    /// The sessions of which `lacked` is not empty.
    private(set) var lacking: Set<UInt64> = []
    /// The sessions that watch each user, in the order in which they began.
    private var sessions: [UserID: [UInt64]] = [:]
    /// Whom the watched users have blocked, as far as it is known.
    private var blocks: [UserID: Blocks] = [:]
    /// The watched users of whom it is known only as far as events have told it.
    private(set) var usersOfUnknownBlocks: Set<UserID> = []
    /// The same as what is not shown to them; for those who have blocked somebody.
    private var senders: [UserID: BlockedSenders] = [:]
    /// The holders that know which users are watched here.
    var informed: Set<NodeName> = []
    /// `watch` frames that holders have not answered yet, by number.
    var asks: [UInt64: (session: UInt64, holder: NodeName)] = [:]
    /// The replays that are underway, by number.
    var replays: [UInt64: (session: UInt64, shard: ShardID)] = [:]
    /// The sessions whose clients do not keep up with their events.
    var full: Set<UInt64> = []
    /// Whether feeds, profiles or replies to watchers need work at the end of the turn.
    var isLost = false
    /// When the last watcher left, in milliseconds; nil while somebody watches or no feed is open.
    var idleSince: UInt64?
    /// The greatest length of new tokens, in bytes.
    private let tokenBytesMax: Int
    /// The clock of new tokens: no earlier than any event that was told.
    var clock = HybridTimestamp.zero
    /// The tokens of watchers that lack nothing; valid until a position changes.
    private var tokens: [TokenKey: String] = [:]

    /// The most watching sessions of one node: more than it accepts clients.
    static let watchersMax = 1 << 17
    /// How long feeds stay open after the last watcher has left, in milliseconds.
    static let idleMilliseconds: UInt64 = 10_000
    /// The most tokens that are cached.
    private static let tokensMax = 4_096

    init(tokenBytesMax: Int) { self.tokenBytesMax = tokenBytesMax }

    var isIdle: Bool { watchers.isEmpty }

    /// The users that are watched here, ascending.
    var users: [UserID] { sessions.keys.sorted() }

    func sessions(of user: UserID) -> [UInt64] { sessions[user] ?? [] }

    subscript(_ session: UInt64) -> Watcher? { watchers[session] }

    mutating func add(_ watcher: Watcher) {
        watchers[watcher.slot.session] = watcher
        unanswered.insert(watcher.slot.session)
        if sessions[watcher.user] == nil { usersOfUnknownBlocks.insert(watcher.user) }
        sessions[watcher.user, default: []].append(watcher.slot.session)
    }

    /// - Returns: the watcher, and whether no other session watches its user.
    mutating func remove(_ session: UInt64) -> (watcher: Watcher, isLast: Bool)? {
        guard let watcher = watchers.removeValue(forKey: session) else { return nil }
        full.remove(session)
        unanswered.remove(session)
        lagging.remove(session)
        lacking.remove(session)
        for number in watcher.awaited { asks[number] = nil }
        for behind in watcher.behind.values { replays[behind.number] = nil }
        sessions[watcher.user]?.removeAll { $0 == session }
        let isLast = sessions[watcher.user]?.isEmpty ?? true
        if isLast {
            sessions[watcher.user] = nil
            blocks[watcher.user] = nil
            senders[watcher.user] = nil
            usersOfUnknownBlocks.remove(watcher.user)
        }
        return (watcher, isLast)
    }

    mutating func updateWatcher(_ session: UInt64, _ body: (inout Watcher) -> Void) {
        guard var watcher = watchers[session] else { return }
        body(&watcher)
        watchers[session] = watcher
        if watcher.isAnswered { unanswered.remove(session) }
        if watcher.behind.isEmpty { lagging.remove(session) } else { lagging.insert(session) }
        if watcher.lacked.isEmpty { lacking.remove(session) } else { lacking.insert(session) }
    }

    /// Ends a replay: with the event that is returned, the session has been told everything in
    /// `position`, and nothing beyond it.
    mutating func endReplay(of shard: ShardID, to session: UInt64, at position: Vector)
        -> WatchedEvent?
    {
        let held = watchers[session]?.behind[shard]?.held?.event
        let claimed = feeds[Int(shard.number)].position ?? Vector()
        let lacked = claimed.subtracting(position)
        updateWatcher(session) {
            $0.behind[shard] = nil
            $0.lacked[shard] = lacked.isEmpty ? nil : lacked
        }
        return held
    }

    /// Notes that the holder's replica contains `position`: changes in it that sessions lacked have
    /// arrived there since, and the feed told them to everybody.
    mutating func noteHeld(_ position: Vector, of shard: ShardID) {
        for session in lacking.sorted() {
            guard let lacked = watchers[session]?.lacked[shard]?.subtracting(position) else {
                continue
            }
            updateWatcher(session) { $0.lacked[shard] = lacked.isEmpty ? nil : lacked }
        }
    }

    /// Turns what sessions lack of a shard into backlogs: the shard's new holder may have it.
    mutating func lag(behind shard: ShardID) {
        let position = feeds[Int(shard.number)].position ?? Vector()
        for session in lacking.sorted() {
            guard let lacked = watchers[session]?.lacked[shard] else { continue }
            updateWatcher(session) {
                $0.lacked[shard] = nil
                $0.behind[shard] = Backlog(since: position.subtracting(lacked))
            }
        }
    }

    mutating func noteConcern(_ shard: ShardID, of session: UInt64) {
        guard let concerns = watchers[session]?.concerns else { return }
        let index = concerns.firstIndex { $0 >= shard } ?? concerns.count
        guard index == concerns.count || concerns[index] != shard else { return }
        watchers[session]?.concerns.insert(shard, at: index)
    }

    mutating func raise(_ shard: ShardID, to position: Vector) {
        let index = Int(shard.number)
        let old = feeds[index].position ?? Vector()
        guard feeds[index].position == nil || !old.covers(position) else { return }
        feeds[index].position = old.union(position)
        tokens.removeAll(keepingCapacity: true)
    }

    /// Notes that a feed goes on from a holder that lacks some of what its watchers were told.
    ///
    /// Its events may be older than that, so that tokens leave it out.
    mutating func lower(_ shard: ShardID, to position: Vector) {
        let index = Int(shard.number)
        guard let old = feeds[index].position else { return }
        feeds[index].position = old.intersection(position)
        tokens.removeAll(keepingCapacity: true)
    }

    /// Notes the same of a session's replay, which begins anew.
    mutating func lower(_ shard: ShardID, of session: UInt64, to position: Vector) {
        updateWatcher(session) {
            guard let since = $0.behind[shard]?.since else { return }
            $0.behind[shard]?.since = since.intersection(position)
            $0.behind[shard]?.progress = ReplayProgress()
            $0.behind[shard]?.held?.passed = nil
        }
    }

    /// Begins a session's replay, which goes on where the one before was: at what the session has
    /// been told.
    ///
    /// What the one before passed with an event that is still held counts no more: it was within
    /// another target.
    ///
    /// - Returns: what the holder is to be asked for; nil where nothing is due.
    mutating func beginReplay(of shard: ShardID, for session: UInt64, as number: UInt64)
        -> Backlog?
    {
        guard let before = watchers[session]?.behind[shard] else { return nil }
        replays[before.number] = nil
        replays[number] = (session, shard)
        updateWatcher(session) {
            $0.behind[shard]?.number = number
            $0.behind[shard]?.held?.passed = nil
        }
        return watchers[session]?.behind[shard]
    }

    /// Takes the last of some events of a session's replay in place of the one that was held.
    ///
    /// - Parameter passed: the changes of documents that the replay has told with the events; nil
    ///   where that is not known.
    /// - Returns: the events to tell, in order; their token includes the first of them alone.
    mutating func hold(
        _ events: [WatchedEvent], passing passed: Vector?, of shard: ShardID,
        for session: UInt64
    ) -> [WatchedEvent] {
        guard let last = events.last, var backlog = watchers[session]?.behind[shard] else {
            return []
        }
        let before = backlog.held
        if let passed = before?.passed { backlog.progress.passed = passed }
        backlog.held = (last, passed)
        watchers[session]?.behind[shard] = backlog
        return [before?.event].compactMap(\.self) + events.dropLast()
    }

    // MARK: Blocks

    /// Whether an event tells of what somebody has sent whom a user has blocked.
    func hides(_ event: Event, from user: UserID) -> Bool {
        guard !senders.isEmpty, let senders = senders[user] else { return false }
        return event.isHidden(by: senders)
    }

    func areBlocksUnknown(of user: UserID) -> Bool { usersOfUnknownBlocks.contains(user) }

    /// Takes whom a user has blocked, from the shard or from an event of it, in any order.
    ///
    /// - Parameter isWhole: whether it is all that the shard has, and not what an event told of it.
    mutating func note(_ more: Blocks, of user: UserID, isWhole: Bool) {
        guard sessions[user] != nil else { return }
        blocks[user, default: Blocks()].merge(more)
        if isWhole { usersOfUnknownBlocks.remove(user) }
        hide(BlockedSenders(of: blocks[user] ?? more), from: user)
    }

    /// Hides from a user what these have sent, unless the shard or an event has told whom.
    mutating func hideKnown(_ senders: BlockedSenders, from user: UserID) {
        if sessions[user] != nil, blocks[user] == nil { hide(senders, from: user) }
    }

    private mutating func hide(_ senders: BlockedSenders, from user: UserID) {
        self.senders[user] = senders.isEmpty ? nil : senders
    }

    // MARK: Tokens

    /// Returns the token for an event; nil for watchers that want none.
    mutating func eventToken(
        of session: UInt64, in cluster: ClusterID, _ checkpoints: Checkpoints
    ) -> String? {
        guard watchers[session]?.hasTokens ?? false else { return nil }
        return token(of: session, in: cluster, checkpoints)
    }

    /// Returns a watcher's resume token as text.
    ///
    /// - Parameter earlier: a shard, and the position of its feed before the events that are being
    ///   delivered; for an event that is not the last of them.
    mutating func token(
        of session: UInt64, at earlier: (shard: ShardID, position: Vector?)? = nil,
        in cluster: ClusterID, _ checkpoints: Checkpoints
    ) -> String {
        guard let watcher = watchers[session] else { return "" }
        let key = earlier == nil ? watcher.tokenKey : nil
        if let key, let token = tokens[key] { return token }
        // A shard that holds nothing of the user's needs no entry: a resumed watcher is told all of
        // it.
        var seen: [(shard: ShardID, vector: Vector)] = []
        var progress: [(shard: ShardID, passed: Vector, target: Vector)] = []
        for id in watcher.concerns where Int(id.number) < feeds.count {
            let position =
                earlier?.shard == id ? earlier?.position : feeds[Int(id.number)].position
            guard var vector = watcher.behind[id]?.since ?? position else { continue }
            if let lacked = watcher.lacked[id] { vector = vector.subtracting(lacked) }
            seen.append((id, vector))
            guard let replay = watcher.behind[id]?.progress, !replay.isEmpty else { continue }
            let (passed, target) = (replay.passed, replay.target)
            progress.append((id, passed.subtracting(vector), target.subtracting(vector)))
        }
        let token = Token(
            of: seen, progress: progress, first: watcher.concerns, cluster: cluster,
            checkpoints: checkpoints, clock: clock, unsettled: watcher.unsettled,
            sums: watcher.sums?.groups ?? [], textBytesMax: tokenBytesMax
        ).text
        if let key {
            if tokens.count >= Subscriptions.tokensMax { tokens = [:] }
            tokens[key] = token
        }
        return token
    }
}
