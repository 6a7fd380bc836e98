import CRDT
import Chat
import Wire

/// The feeds and replays that this node serves, as a holder of shards, to the nodes with watchers;
/// this node may be one of them.
struct EventPublisher: Sendable {
    /// A feed, or a replay: a shard's events on their way to one node.
    struct Served: Sendable {
        let shard: ShardID
        /// The number that the receiver has given it.
        let number: UInt64
        /// The user whom a replay is for; nil for a feed.
        let user: UserID?
        /// When the receiver asked for it, in milliseconds.
        let since: UInt64
        /// The changes that the receiver has been told of, or had seen before.
        var known: Vector
        /// How far an earlier replay since `known` came.
        ///
        /// Documents whose changes were all passed are left out; the others are compared with
        /// `known` alone.
        var progress = ReplayProgress()
        /// The part of `known` that this replica lacks: the receiver was told of it elsewhere.
        var ahead = Vector()
        /// The progress of the reading for it; nil for a live feed, whose receiver has been told of
        /// all that is here.
        var scan: FeedScan?
        /// How many replica ids and ranges these had when the receiver asked for it.
        var weight = 0

        var isFeed: Bool { user == nil }

        /// The changes without which a scan finds nothing to tell.
        var skipped: Vector { progress.isEmpty ? known : known.union(progress.passed) }

        /// What a replica has to hold before a scan of it begins.
        var needed: Vector { progress.isEmpty ? known : skipped.union(progress.target) }

        /// Whether the feed needs a scan: some new changes are by processes of which the receiver
        /// was told more elsewhere.
        ///
        /// A live feed tells each change as a step from the state before it. Such a receiver may be
        /// past that state: a message that was deleted and restored elsewhere arrives here
        /// unchanged.
        func needsReading(at position: Vector) -> Bool {
            guard !ahead.isEmpty else { return false }
            let new = position.subtracting(known.subtracting(ahead))
            return new.entries.contains { !ahead.seqs(of: $0.replica).isEmpty }
        }
    }

    /// A node with watchers.
    struct Subscriber: Sendable {
        /// The users that its watchers watch.
        var users: Set<UserID> = []
        /// The feeds and replays that it is served, by number.
        var served: [UInt64: Served] = [:]
        /// The number of each shard's feed.
        var feeds: [ShardID: UInt64] = [:]
        /// The sum of the weights of `served`.
        var weight = 0
        /// The feeds and replays that were ended here and that it has not been told of.
        var refused: [(shard: ShardID, number: UInt64)] = []

        /// The most feeds and replays: one feed for each shard, and replays for watchers that
        /// resume.
        static let servedMax = 1 << 18
        /// The most replica ids and ranges in all their vectors together: some 100 MB.
        static let weightMax = 1 << 21
        /// The most users that one node watches: as many as it has clients.
        static let usersMax = 1 << 17
    }

    private(set) var subscribers: [NodeName: Subscriber] = [:]
    /// The number of nodes that watch each user.
    private var watched: [UserID: Int] = [:]
    /// The number of feeds of each shard.
    private var feeds: [ShardID: Int] = [:]
    /// The numbers of the feeds and replays with a scan, by node; the one to read next is first.
    private(set) var scanning: [NodeName: [UInt64]] = [:]
    /// When positions were last sent on feeds without events, in milliseconds.
    var positionsToldAt: UInt64 = 0

    func isWatched(_ user: UserID) -> Bool { watched[user] != nil }

    func isFed(_ shard: ShardID) -> Bool { feeds[shard] != nil }

    /// The shards with a feed, ascending.
    var fedShards: [ShardID] { feeds.keys.sorted() }

    var names: [NodeName] { subscribers.keys.sorted() }

    var isScanning: Bool { !scanning.isEmpty }

    // MARK: Users

    /// Adds users that a node watches.
    ///
    /// - Returns: false where the node would watch more than `Subscriber.usersMax`.
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
        releaseUser(user)
    }

    private mutating func releaseUser(_ user: UserID) {
        let count = (watched[user] ?? 1) - 1
        watched[user] = count == 0 ? nil : count
    }

    /// Removes a node whose connection is lost, with all feeds and replays that it was served.
    mutating func removeSubscriber(_ name: NodeName) {
        guard let subscriber = subscribers.removeValue(forKey: name) else { return }
        for user in subscriber.users { releaseUser(user) }
        for served in subscriber.served.values where served.isFeed { endFeed(of: served.shard) }
        scanning[name] = nil
    }

    private mutating func endFeed(of shard: ShardID) {
        let count = (feeds[shard] ?? 1) - 1
        feeds[shard] = count == 0 ? nil : count
    }

    // MARK: Feeds

    /// Begins a feed or a replay; a feed replaces the one that the node had of the shard.
    ///
    /// - Returns: false where the node has too many or too large ones, or has used the number.
    mutating func add(_ served: Served, for name: NodeName) -> Bool {
        var served = served
        let progress = served.progress
        served.weight = [served.known, progress.passed, progress.target].reduce(0) {
            $0 + $1.entries.count + $1.rangesCount
        }
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

    /// Ends a feed or a replay, and has the node told so.
    mutating func refuse(_ number: UInt64, for name: NodeName) {
        guard let served = subscribers[name]?.served[number] else { return }
        remove(number, for: name)
        noteRefused(number, of: served.shard, for: name)
    }

    /// Notes a feed or a replay that is not served: the node is told once there is capacity.
    mutating func noteRefused(_ number: UInt64, of shard: ShardID, for name: NodeName) {
        subscribers[name]?.refused.append((shard, number))
    }

    /// Ends all feeds and replays of a shard.
    mutating func refuseAll(of shard: ShardID) {
        for name in names {
            let numbers = subscribers[name]?.served.values.filter { $0.shard == shard } ?? []
            for served in numbers { refuse(served.number, for: name) }
        }
    }

    /// Takes out the ended feeds and replays that a node has yet to be told of.
    mutating func takeRefused(for name: NodeName) -> [(shard: ShardID, number: UInt64)] {
        defer { subscribers[name]?.refused = [] }
        return subscribers[name]?.refused ?? []
    }

    func served(_ number: UInt64, for name: NodeName) -> Served? {
        subscribers[name]?.served[number]
    }

    mutating func updateServed(
        _ number: UInt64, for name: NodeName, _ body: (inout Served) -> Void
    ) {
        guard var served = subscribers[name]?.served[number] else { return }
        let wasScanning = served.scan != nil
        body(&served)
        subscribers[name]?.served[number] = served
        if wasScanning, served.scan == nil { stopScanning(number, for: name) }
    }

    /// The live feeds of a shard, by node.
    func live(of shard: ShardID) -> [(name: NodeName, served: Served)] {
        guard isFed(shard) else { return [] }
        return names.compactMap { name in liveFeed(of: shard, for: name).map { (name, $0) } }
    }

    func hasFeed(of shard: ShardID, for name: NodeName) -> Bool {
        subscribers[name]?.feeds[shard] != nil
    }

    /// Begins a scan, for a live feed, of all that this node has not told its receiver of.
    mutating func rescan(_ number: UInt64, for name: NodeName) {
        updateServed(number, for: name) {
            $0.known = $0.known.subtracting($0.ahead)
            $0.scan = FeedScan()
        }
        scanning[name, default: []].append(number)
    }

    /// Counts what the receiver of a feed or a replay has seen, and what `held` lacks, as told
    /// elsewhere only.
    ///
    /// - Parameter held: a part of what it has seen.
    mutating func lower(_ number: UInt64, to held: Vector, for name: NodeName) {
        updateServed(number, for: name) {
            $0.ahead.formUnion($0.skipped.subtracting(held))
            $0.known = held
            $0.progress = ReplayProgress()
        }
    }

    /// Notes changes of which the receiver of a shard's feed was told elsewhere, and that are not
    /// here.
    mutating func noteAhead(_ ahead: Vector, of shard: ShardID, for name: NodeName) {
        guard !ahead.isEmpty, let number = subscribers[name]?.feeds[shard] else { return }
        updateServed(number, for: name) {
            $0.known.formUnion(ahead)
            $0.ahead.formUnion(ahead)
        }
    }

    /// A node's feed of a shard; nil unless it is live.
    func liveFeed(of shard: ShardID, for name: NodeName) -> Served? {
        guard let subscriber = subscribers[name], let number = subscriber.feeds[shard],
            let served = subscriber.served[number], served.scan == nil
        else { return nil }
        return served
    }

    /// Returns the feed or replay of a node to read next; the scans take turns.
    mutating func nextScan(for name: NodeName) -> Served? {
        guard let number = scanning[name]?.first else { return nil }
        scanning[name]?.removeFirst()
        scanning[name]?.append(number)
        return subscribers[name]?.served[number]
    }
}
