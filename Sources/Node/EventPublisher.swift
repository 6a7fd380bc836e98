import CRDT
import Chat
import Wire

/// What this node tells those who watch, itself among them: as a holder of shards.
struct EventPublisher: Sendable {
    /// A shard's events on their way to one node.
    struct Served: Sendable {
        let shard: ShardID
        let number: UInt64
        /// Whom a replay is for; nil for a feed.
        let user: UserID?
        let since: UInt64
        /// What the receiver has been told of, or known before.
        var known: Vector
        /// What is in `known` and is not here: the receiver was told of it elsewhere.
        var ahead = Vector()
        /// What is being read for it; nil once it is level.
        var scan: FeedScan?
        /// How many replicas and ranges `known` had when it was asked for.
        var weight = 0

        var isFeed: Bool { user == nil }

        /// Whether something has come from processes of which the receiver was told more elsewhere.
        ///
        /// The receiver may be past the state that such a change starts from: a message that was
        /// deleted and restored elsewhere comes here unchanged.
        func needsReading(at position: Vector) -> Bool {
            #if PlantedBugs
                if PlantedBug.aheadToldOfChanges.isOn { return false }
            #endif
            guard !ahead.isEmpty else { return false }
            let new = position.subtracting(known.subtracting(ahead))
            return new.entries.contains { !ahead.seqs(of: $0.replica).isEmpty }
        }
    }

    /// A node that has watchers.
    struct Subscriber: Sendable {
        /// Whom it watches.
        var users: Set<UserID> = []
        /// By number.
        var served: [UInt64: Served] = [:]
        /// The number of each shard's feed.
        var feeds: [ShardID: UInt64] = [:]
        /// The sum of the weights of what is served.
        var weight = 0
        /// Of which it has to be told that there is nothing more to come.
        var refused: [(shard: ShardID, number: UInt64)] = []

        /// The most feeds and replays: one feed a shard, and replays for those who come back.
        static let servedMax = 1 << 18
        /// The most replicas and ranges of all that their receivers know: some 100 MB.
        static let weightMax = 1 << 21
        /// The most users that one node watches: as many as it has clients.
        static let usersMax = 1 << 17
    }

    private(set) var subscribers: [NodeName: Subscriber] = [:]
    /// By how many nodes each user is watched.
    private var watched: [UserID: Int] = [:]
    /// How many feeds of each shard there are.
    private var feeds: [ShardID: Int] = [:]
    /// The numbers of what has to be read, by node.
    private(set) var scanning: [NodeName: [UInt64]] = [:]
    /// When those on whose feeds nothing was told were last told where these stand.
    var positionsToldAt: UInt64 = 0

    func isWatched(_ user: UserID) -> Bool { watched[user] != nil }

    func isFed(_ shard: ShardID) -> Bool { feeds[shard] != nil }

    /// The shards of which there are feeds, ascending.
    var fedShards: [ShardID] { feeds.keys.sorted() }

    var names: [NodeName] { subscribers.keys.sorted() }

    var isScanning: Bool { !scanning.isEmpty }

    // MARK: Users

    /// - Returns: false where that is more than anybody may watch.
    mutating func add(_ users: [UserID], for name: NodeName) -> Bool {
        for user in users {
            let count = subscribers[name]?.users.count ?? 0
            guard count < Subscriber.usersMax else { return false }
            if subscribers[name, default: Subscriber()].users.insert(user).inserted {
                watched[user, default: 0] += 1
            }
        }
        return true
    }

    mutating func remove(_ user: UserID, for name: NodeName) {
        guard subscribers[name]?.users.remove(user) != nil else { return }
        forget(user)
    }

    private mutating func forget(_ user: UserID) {
        let count = (watched[user] ?? 1) - 1
        watched[user] = count == 0 ? nil : count
    }

    /// The connection to it is gone, and all that was for it.
    mutating func forget(_ name: NodeName) {
        guard let subscriber = subscribers.removeValue(forKey: name) else { return }
        for user in subscriber.users { forget(user) }
        for served in subscriber.served.values where served.isFeed { endFeed(of: served.shard) }
        scanning[name] = nil
    }

    private mutating func endFeed(of shard: ShardID) {
        let count = (feeds[shard] ?? 1) - 1
        feeds[shard] = count == 0 ? nil : count
    }

    // MARK: Feeds

    /// - Returns: false where there are too many.
    mutating func add(_ served: Served, for name: NodeName) -> Bool {
        var served = served
        served.weight = served.known.entries.count + served.known.rangesCount
        let count = subscribers[name]?.served.count ?? 0
        let weight = (subscribers[name]?.weight ?? 0) + served.weight
        guard count < Subscriber.servedMax, weight <= Subscriber.weightMax,
            subscribers[name]?.served[served.number] == nil
        else { return false }
        subscribers[name, default: Subscriber()].served[served.number] = served
        subscribers[name]?.weight = weight
        if served.isFeed {
            if let old = subscribers[name]?.feeds[served.shard] { remove(old, for: name) }
            subscribers[name]?.feeds[served.shard] = served.number
            feeds[served.shard, default: 0] += 1
        }
        if served.scan != nil { scanning[name, default: []].append(served.number) }
        return true
    }

    mutating func remove(_ number: UInt64, for name: NodeName) {
        guard let served = subscribers[name]?.served.removeValue(forKey: number) else { return }
        subscribers[name]?.weight -= served.weight
        if served.isFeed {
            subscribers[name]?.feeds[served.shard] = nil
            endFeed(of: served.shard)
        }
        stopScanning(number, for: name)
    }

    private mutating func stopScanning(_ number: UInt64, for name: NodeName) {
        scanning[name]?.removeAll { $0 == number }
        if scanning[name]?.isEmpty ?? false { scanning[name] = nil }
    }

    /// Ends it, and has the node told so.
    mutating func refuse(_ number: UInt64, for name: NodeName) {
        guard let served = subscribers[name]?.served[number] else { return }
        remove(number, for: name)
        noteRefused(number, of: served.shard, for: name)
    }

    /// Has the node told, once there is capacity, that this feed or replay is not served.
    mutating func noteRefused(_ number: UInt64, of shard: ShardID, for name: NodeName) {
        subscribers[name]?.refused.append((shard, number))
    }

    /// Ends all that is fed of a shard.
    mutating func refuseAll(of shard: ShardID) {
        for name in names {
            let numbers = subscribers[name]?.served.values.filter { $0.shard == shard } ?? []
            for served in numbers { refuse(served.number, for: name) }
        }
    }

    mutating func takeRefused(for name: NodeName) -> [(shard: ShardID, number: UInt64)] {
        defer { subscribers[name]?.refused = [] }
        return subscribers[name]?.refused ?? []
    }

    func served(_ number: UInt64, for name: NodeName) -> Served? {
        subscribers[name]?.served[number]
    }

    mutating func note(
        _ number: UInt64, for name: NodeName, _ body: (inout Served) -> Void
    ) {
        guard var served = subscribers[name]?.served[number] else { return }
        let wasScanning = served.scan != nil
        body(&served)
        subscribers[name]?.served[number] = served
        if wasScanning, served.scan == nil { stopScanning(number, for: name) }
    }

    /// The feeds of a shard that are level, by node.
    func live(of shard: ShardID) -> [(name: NodeName, served: Served)] {
        guard isFed(shard) else { return [] }
        return names.compactMap { name in liveFeed(of: shard, for: name).map { (name, $0) } }
    }

    func hasFeed(of shard: ShardID, for name: NodeName) -> Bool {
        subscribers[name]?.feeds[shard] != nil
    }

    /// Has a feed that is level read what its receiver was not told of from here.
    mutating func rescan(_ number: UInt64, for name: NodeName) {
        note(number, for: name) {
            $0.known = $0.known.subtracting($0.ahead)
            $0.scan = FeedScan()
        }
        scanning[name, default: []].append(number)
    }

    /// The receiver of a shard's feed was told of this elsewhere, and it is not here.
    mutating func noteAhead(_ ahead: Vector, of shard: ShardID, for name: NodeName) {
        guard !ahead.isEmpty, let number = subscribers[name]?.feeds[shard] else { return }
        note(number, for: name) {
            $0.known.formUnion(ahead)
            $0.ahead.formUnion(ahead)
        }
    }

    /// A node's feed of a shard, where it is level.
    func liveFeed(of shard: ShardID, for name: NodeName) -> Served? {
        guard let subscriber = subscribers[name], let number = subscriber.feeds[shard],
            let served = subscriber.served[number], served.scan == nil
        else { return nil }
        return served
    }

    /// The scans take turns.
    mutating func nextScan(for name: NodeName) -> Served? {
        guard let number = scanning[name]?.first else { return nil }
        scanning[name]?.removeFirst()
        scanning[name]?.append(number)
        return subscribers[name]?.served[number]
    }
}

/// How far the reading of what somebody does not know has come.
struct FeedScan: Hashable, Sendable {
    /// What is read next.
    enum Place: Hashable, Sendable {
        /// Changes that are not known, behind one of them; nil at the beginning.
        case changes(after: Dot?)
        /// What was here before its conversation was.
        case earlier(Earlier)
    }

    /// Messages of conversations that came behind them: whom they concern was not known when they
    /// came.
    struct Earlier: Hashable, Sendable {
        /// What is left of these, the first of them behind a message.
        var conversations: [ConversationID]
        var position: HistoryPosition?
        /// Behind which the changes go on; nil where none are left.
        let cursor: Dot?
    }

    /// What was on disk when it began; nil before that.
    var target: Vector?
    var place = Place.changes(after: nil)

    /// How long a holder waits until it holds all that the receiver has seen elsewhere, in
    /// milliseconds: what it lacks then may exist nowhere any more.
    static let patienceMilliseconds: UInt64 = 1_000
}
