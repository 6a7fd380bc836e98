import CRDT
import Chat
import Replication
import Wire

/// Who watches here, and where each shard's events come from.
struct Subscriptions: Sendable {
    /// A shard's events, from one holder.
    struct Feed: Sendable {
        /// Nil where nobody can be asked.
        var holder: NodeName?
        var number: UInt64 = 0
        /// Whether the holder has said where it stands with what it told last: who comes before
        /// that is told of all of it.
        var isOpen = false
        /// What of the shard this node's watchers have been told of; nil before that is known.
        var position: Vector?
        /// Who said that it could not, and until when that counts.
        var refusedBy: [NodeName: UInt64] = [:]

        /// For how long who refused a feed is not asked again, in milliseconds.
        static let pauseMilliseconds: UInt64 = 200
    }

    /// What a watcher lacks of a shard.
    struct Backlog: Sendable {
        let since: Vector
        /// Of the replay that brings it; 0 where nobody is asked yet.
        var number: UInt64
    }

    /// A connection that watches.
    struct Watcher: Sendable {
        let slot: ReplySlot
        let user: UserID
        /// Whether each event comes with a token.
        var hasTokens = true
        /// What it has seen elsewhere, until it is told what it has not.
        var since: Token?
        /// The holders that have not said that they tell of its user, by the numbers they have.
        var awaited: Set<UInt64> = []
        /// When it begins all the same, in milliseconds.
        let deadline: UInt64
        /// What its connection asked for before, and may yet be executed.
        var unsettled = Unsettled()
        /// What it was told of profiles; nil where that is not known.
        var sums: ProfileSums?
        /// Until when its answer waits for them, in milliseconds; nil where it does not.
        var sumsDeadline: UInt64?
        /// Whether its request was answered, and events go to it.
        var isAnswered = false
        var behind: [ShardID: Backlog] = [:]
        /// What a shard's feed has told, before this one was told of the shard, and the holder does
        /// not have: it may be told by another.
        var lacked: [ShardID: Vector] = [:]
        /// The shards that something of its user's is in, or was told of from, ascending.
        var concerns: [ShardID]

        /// Whether it was told all that the feeds have told.
        var isLevel: Bool { behind.isEmpty && lacked.isEmpty }

        /// What its token is told from, where that is the same for many.
        var tokenKey: TokenKey? {
            isLevel && unsettled.counters.isEmpty
                ? TokenKey(concerns: concerns, sums: sums) : nil
        }

        /// How long it waits for holders, in milliseconds.
        static let patienceMilliseconds: UInt64 = 1_000
        /// How long it waits for the sums of its first token, in milliseconds: without them the
        /// profiles are told once more to who comes back with it.
        static let sumsMilliseconds: UInt64 = 200

        func waits(now: UInt64, areFeedsOpen: Bool) -> Bool {
            guard now < deadline else { return false }
            return !areFeedsOpen || !awaited.isEmpty || sumsDeadline.map { now < $0 } ?? false
        }
    }

    /// Watchers for whom it is the same have the same tokens, if they lack nothing.
    struct TokenKey: Hashable, Sendable {
        let concerns: [ShardID]
        let sums: ProfileSums?
    }

    /// By the numbers of shards; empty where nobody watches.
    var feeds: [Feed] = []
    private(set) var watchers: [UInt64: Watcher] = [:]
    /// Those that are not answered.
    private(set) var unanswered: Set<UInt64> = []
    /// Those that lack something.
    private(set) var lagging: Set<UInt64> = []
    /// Those that lack what the holder does not have, either.
    private(set) var lacking: Set<UInt64> = []
    /// The sessions that watch each user, in the order in which they came.
    private var sessions: [UserID: [UInt64]] = [:]
    /// The holders that know who is watched here.
    var informed: Set<NodeName> = []
    /// Holders that were asked to tell of a watcher's user, by number.
    var asks: [UInt64: (session: UInt64, holder: NodeName)] = [:]
    /// The sessions of replays, by number.
    var replays: [UInt64: (session: UInt64, shard: ShardID)] = [:]
    /// The sessions whose clients are full.
    var full: Set<UInt64> = []
    /// Whether some feed needs a holder.
    var isLost = false
    /// Since when nobody watches, in milliseconds.
    var idleSince: UInt64?
    /// No earlier than anything that was told.
    var clock = HybridTimestamp.zero
    /// The tokens of watchers who lack nothing, while no position changes.
    private var tokens: [TokenKey: String] = [:]

    /// The most connections that watch on one node: more than it takes clients.
    static let watchersMax = 1 << 17
    /// How long feeds stay open when nobody watches, in milliseconds.
    static let idleMilliseconds: UInt64 = 10_000
    /// The most tokens that are kept.
    private static let tokensMax = 4_096

    var isIdle: Bool { watchers.isEmpty }

    /// Whom all these watch, ascending.
    var users: [UserID] { sessions.keys.sorted() }

    func sessions(of user: UserID) -> [UInt64] { sessions[user] ?? [] }

    subscript(_ session: UInt64) -> Watcher? { watchers[session] }

    mutating func add(_ watcher: Watcher) {
        watchers[watcher.slot.session] = watcher
        unanswered.insert(watcher.slot.session)
        sessions[watcher.user, default: []].append(watcher.slot.session)
    }

    /// - Returns: it, and whether nobody else watches its user.
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
        if isLast { sessions[watcher.user] = nil }
        return (watcher, isLast)
    }

    mutating func note(_ session: UInt64, _ body: (inout Watcher) -> Void) {
        guard var watcher = watchers[session] else { return }
        body(&watcher)
        watchers[session] = watcher
        if watcher.isAnswered { unanswered.remove(session) }
        if watcher.behind.isEmpty { lagging.remove(session) } else { lagging.insert(session) }
        if watcher.lacked.isEmpty { lacking.remove(session) } else { lacking.insert(session) }
    }

    /// A replay is over: all that is in `position` was told to a session, and nothing else.
    mutating func endReplay(of shard: ShardID, to session: UInt64, at position: Vector) {
        let claimed = feeds[Int(shard.number)].position ?? Vector()
        let lacked = claimed.subtracting(position)
        note(session) {
            $0.behind[shard] = nil
            $0.lacked[shard] = lacked.isEmpty ? nil : lacked
        }
    }

    /// The holder has all of this: what some lacked of it has come, and was told to all.
    mutating func noteHeld(_ position: Vector, of shard: ShardID) {
        for session in lacking.sorted() {
            guard let lacked = watchers[session]?.lacked[shard]?.subtracting(position) else {
                continue
            }
            note(session) { $0.lacked[shard] = lacked.isEmpty ? nil : lacked }
        }
    }

    /// Another holder may have what some lack of a shard: they are to be told anew.
    mutating func lag(behind shard: ShardID) {
        let position = feeds[Int(shard.number)].position ?? Vector()
        for session in lacking.sorted() {
            guard let lacked = watchers[session]?.lacked[shard] else { continue }
            note(session) {
                $0.lacked[shard] = nil
                $0.behind[shard] = Backlog(since: position.subtracting(lacked), number: 0)
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

    // MARK: Tokens

    /// Where a watcher stands that wants to know it with each event; nil for the others.
    mutating func eventToken(
        of session: UInt64, in cluster: ClusterID, _ checkpoints: Checkpoints
    ) -> String? {
        guard watchers[session]?.hasTokens ?? false else { return nil }
        return token(of: session, in: cluster, checkpoints)
    }

    /// Where a watcher stands, as a word.
    ///
    /// - Parameter earlier: where a shard's feed stood before the last of what is being told.
    mutating func token(
        of session: UInt64, at earlier: (shard: ShardID, position: Vector?)? = nil,
        in cluster: ClusterID, _ checkpoints: Checkpoints
    ) -> String {
        guard let watcher = watchers[session] else { return "" }
        let key = earlier == nil ? watcher.tokenKey : nil
        if let key, let token = tokens[key] { return token }
        // A shard where nothing is the user's needs no place: who comes back is told all of it.
        var seen: [(shard: ShardID, vector: Vector)] = []
        for id in watcher.concerns where Int(id.number) < feeds.count {
            let position =
                earlier?.shard == id ? earlier?.position : feeds[Int(id.number)].position
            guard var vector = watcher.behind[id]?.since ?? position else { continue }
            if let lacked = watcher.lacked[id] { vector = vector.subtracting(lacked) }
            seen.append((id, vector))
        }
        let token = Token(
            of: seen, first: watcher.concerns, cluster: cluster, checkpoints: checkpoints,
            clock: clock, unsettled: watcher.unsettled, sums: watcher.sums?.groups ?? []
        ).text
        if let key {
            if tokens.count >= Subscriptions.tokensMax { tokens = [:] }
            tokens[key] = token
        }
        return token
    }
}
