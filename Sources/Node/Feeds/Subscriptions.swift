import CRDT
import Chat
import Replication
import Wire

/// The watchers of this node, and the holder from which each shard's events come.
struct Subscriptions: Sendable {
    /// The feed of one shard, from one holder.
    struct Feed: Sendable {
        /// The holder that serves the feed; nil while no member can serve it.
        var holder: NodeName?
        var number: UInt64 = 0
        /// Whether the holder has reported the position of all events that it has sent so far.
        ///
        /// A watcher that begins before that report gets a replay.
        var isOpen = false
        /// The position up to which this node's watchers have received events; nil while it is
        /// unknown.
        var position: Vector?
        /// The members that refused the feed, each with the time until which it is not requested
        /// again, in milliseconds.
        var refusedBy: [NodeName: UInt64] = [:]

        /// The pause before a member that refused a feed is requested again, in milliseconds.
        static let pauseMilliseconds: UInt64 = 200
    }

    /// The part of a shard whose events a watcher has not received yet.
    struct Backlog: Sendable {
        /// The version vector that the watcher has seen.
        var since: Vector
        /// The progress of the replays since that vector.
        var progress = ReplayProgress()
        /// The number of the replay that brings the missing events; 0 while no replay is requested.
        var number: UInt64 = 0
        /// The last event of the replay so far, with the changes that the replay has passed once
        /// the watcher has received this event.
        ///
        /// The event is delivered together with the next event, or at the end of the replay, so
        /// that the token of the last event includes the whole replay.
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
        /// The time at which the session gets its reply without further waiting, in milliseconds.
        let deadline: UInt64
        /// Earlier operations of the connection that may still be executed.
        var unsettled = Unsettled()
        /// The sums of the profiles that the session has received; nil while they are unknown.
        var sums: ProfileSums?
        /// The time until which the reply waits for `sums`, in milliseconds; nil for no wait.
        var sumsDeadline: UInt64?
        /// Whether the session has received its reply; events are sent to the session afterwards.
        var isAnswered = false
        /// The shards of which the session still needs a replay; events of the shard's feed are
        /// withheld meanwhile.
        var behind: [ShardID: Backlog] = [:]
        /// The changes that the feed sent before the session's replay, and that the replay did not
        /// contain because its holder lacks them; another holder may have these changes.
        var lacked: [ShardID: Vector] = [:]
        /// The shards that contain data of the user, or that sent an event, ascending.
        var concerns: [ShardID]

        /// Whether the session has received all events that the feeds have delivered.
        var isCaughtUp: Bool { behind.isEmpty && lacked.isEmpty }

        /// The key under which watchers share a token; nil if the token is for this watcher alone.
        var tokenKey: TokenKey? {
            isCaughtUp && unsettled.counters.isEmpty
                ? TokenKey(concerns: concerns, sums: sums) : nil
        }

        /// The maximum time that the reply waits for holders, in milliseconds.
        static let patienceMilliseconds: UInt64 = 1_000
        /// The maximum time that the reply waits for the sums of the first token, in milliseconds.
        ///
        /// A client that resumes with a token without sums receives the profiles once more.
        static let sumsMilliseconds: UInt64 = 200

        func waits(now: UInt64, areFeedsOpen: Bool) -> Bool {
            guard now < deadline else { return false }
            return !areFeedsOpen || !awaited.isEmpty || sumsDeadline.map { now < $0 } ?? false
        }
    }

    /// The key of a token: watchers that lack no events and have equal keys share their token.
    struct TokenKey: Hashable, Sendable {
        let concerns: [ShardID]
        let sums: ProfileSums?
    }

    /// The feeds, by shard number; empty while no feed is open.
    var feeds: [Feed] = []
    /// The watching sessions, by session number.
    private(set) var watchers: [UInt64: Watcher] = [:]
    /// The sessions that have not received their reply yet.
    private(set) var unanswered: Set<UInt64> = []
    /// The sessions that wait for a replay.
    private(set) var lagging: Set<UInt64> = []
    /// The sessions whose streams have extra events.
    var streams = Streams()
    /// The sessions that lack changes whose events a feed has already sent (`Watcher.lacked`).
    private(set) var lacking: Set<UInt64> = []
    /// The sessions that watch each user, in the order in which their watches began.
    private var sessions: [UserID: [UInt64]] = [:]
    /// The users whom each watched user has blocked, as far as these are known.
    private var blocks: [UserID: Blocks] = [:]
    /// The watched users whose blocks have not been read from their shards yet.
    private(set) var usersOfUnknownBlocks: Set<UserID> = []
    /// The senders whose messages are hidden from each watched user who has blocked somebody.
    private var senders: [UserID: BlockedSenders] = [:]
    /// The holders that have received the list of users watched here.
    var informed: Set<NodeName> = []
    /// The `watch` frames that holders have not answered yet, by number.
    var asks: [UInt64: (session: UInt64, holder: NodeName)] = [:]
    /// The replays under way, by number.
    var replays: [UInt64: (session: UInt64, shard: ShardID)] = [:]
    /// The sessions whose clients read their events too slowly.
    var full: Set<UInt64> = []
    /// Whether feeds, profiles or replies to watchers need work at the end of the turn.
    var isLost = false
    /// When the last watcher left, in milliseconds; nil while a watcher exists or no feed is open.
    var idleSince: UInt64?
    /// The maximum length of new tokens, in bytes.
    private let tokenBytesMax: Int
    /// The clock of new tokens: no earlier than any event that was delivered.
    var clock = HybridTimestamp.zero
    /// The tokens of watchers that lack no events; valid until a position changes.
    private var tokens: [TokenKey: String] = [:]

    /// The maximum number of watching sessions of one node: more than the clients that it accepts.
    static let watchersMax = 1 << 17
    /// The time that feeds stay open after the last watcher has left, in milliseconds.
    static let idleMilliseconds: UInt64 = 10_000
    /// The maximum number of cached tokens.
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
        streams.removeSession(session)
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

    /// Ends a replay: after the returned event, the session has received everything in `position`,
    /// and nothing beyond `position`.
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

    /// Records that the holder's replica contains `position`.
    ///
    /// Changes in `position` that sessions lacked have arrived at the holder since, and the feed
    /// has sent their events to all sessions.
    mutating func noteHeld(_ position: Vector, of shard: ShardID) {
        for session in lacking.sorted() {
            guard let lacked = watchers[session]?.lacked[shard]?.subtracting(position) else {
                continue
            }
            updateWatcher(session) { $0.lacked[shard] = lacked.isEmpty ? nil : lacked }
        }
    }

    /// Turns the changes of a shard that sessions lack into backlogs, because the shard's new
    /// holder may have these changes.
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

    /// Records that a feed continues from a holder that lacks some changes whose events the
    /// watchers have received.
    ///
    /// Events of that holder may be older than these changes, so that tokens leave the changes out.
    mutating func lower(_ shard: ShardID, to position: Vector) {
        let index = Int(shard.number)
        guard let old = feeds[index].position else { return }
        feeds[index].position = old.intersection(position)
        tokens.removeAll(keepingCapacity: true)
    }

    /// Records that a session's replay restarts at a holder that lacks changes the session has
    /// seen.
    mutating func lower(_ shard: ShardID, of session: UInt64, to position: Vector) {
        updateWatcher(session) {
            guard let since = $0.behind[shard]?.since else { return }
            $0.behind[shard]?.since = since.intersection(position)
            $0.behind[shard]?.progress = ReplayProgress()
            $0.behind[shard]?.held?.passed = nil
        }
    }

    /// Starts a session's replay at the point up to which the session has received events.
    ///
    /// The changes that the previous replay passed with a held event count no more, because they
    /// belong to the target of the previous replay.
    ///
    /// - Returns: the backlog to request from the holder; nil if the session lacks nothing.
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

    /// Holds back the last of some replayed events, in place of the event held back before.
    ///
    /// - Parameter passed: the changes of the documents that the replay has completed with the
    ///   events; nil if they are unknown.
    /// - Returns: the events to deliver, in order; their token includes the first of them alone.
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

    /// Whether an event shows something sent by a user whom the watching user has blocked.
    func hides(_ event: Event, from user: UserID) -> Bool {
        guard !senders.isEmpty, let senders = senders[user] else { return false }
        return event.isHidden(by: senders)
    }

    func areBlocksUnknown(of user: UserID) -> Bool { usersOfUnknownBlocks.contains(user) }

    /// Adds users whom a user has blocked, as read from the shard or from its events, in any order.
    ///
    /// - Parameter isWhole: whether `more` contains all blocks in the shard, not only those of an
    ///   event.
    mutating func note(_ more: Blocks, of user: UserID, isWhole: Bool) {
        guard sessions[user] != nil else { return }
        blocks[user, default: Blocks()].merge(more)
        if isWhole { usersOfUnknownBlocks.remove(user) }
        hide(BlockedSenders(of: blocks[user] ?? more), from: user)
    }

    /// Hides the messages of these senders from a user, unless the shard or an event has supplied
    /// the user's blocks.
    mutating func hideKnown(_ senders: BlockedSenders, from user: UserID) {
        if sessions[user] != nil, blocks[user] == nil { hide(senders, from: user) }
    }

    private mutating func hide(_ senders: BlockedSenders, from user: UserID) {
        self.senders[user] = senders.isEmpty ? nil : senders
    }

    // MARK: Tokens

    /// Returns the token for an event; nil for watchers that have requested no tokens.
    mutating func eventToken(
        of session: UInt64, in cluster: ClusterID, _ checkpoints: Checkpoints
    ) -> String? {
        guard watchers[session]?.hasTokens ?? false else { return nil }
        return token(of: session, in: cluster, checkpoints)
    }

    /// Returns a watcher's resume token as text.
    ///
    /// - Parameter earlier: a shard, and the position of its feed before the events that are being
    ///   delivered; given for every event but the last.
    mutating func token(
        of session: UInt64, at earlier: (shard: ShardID, position: Vector?)? = nil,
        in cluster: ClusterID, _ checkpoints: Checkpoints
    ) -> String {
        guard let watcher = watchers[session] else { return "" }
        let key = earlier == nil ? watcher.tokenKey : nil
        if let key, let token = tokens[key] { return token }
        // A shard without data of the user needs no entry: a resumed watcher receives all its
        // events.
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
