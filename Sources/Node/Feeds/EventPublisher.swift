import CRDT
import Chat
import Wire

/// The feeds and replays that this node serves, as a holder of shards, to nodes with watchers; this
/// node itself may be such a node.
struct EventPublisher: Sendable {
    /// A feed or a replay: the events of one shard that one node receives.
    struct Served: Sendable {
        let shard: ShardID
        /// The number that the receiver has given to this feed or replay.
        let number: UInt64
        /// The user whom a replay is for; nil for a feed.
        let user: UserID?
        /// When the receiver requested the feed or replay, in milliseconds.
        let since: UInt64
        /// The changes of which the receiver has received the events, or which it had seen before.
        var known: Vector
        /// The progress of an earlier replay since `known`.
        ///
        /// A scan leaves out documents whose changes the earlier replay has passed, and compares
        /// the other documents with `known` alone.
        var progress = ReplayProgress()
        /// The part of `known` that this replica lacks; the receiver got it from another holder.
        var ahead = Vector()
        /// The progress of the scan; nil for a live feed, whose receiver has been sent everything
        /// stored on this node.
        var scan: FeedScan?
        /// The number of replica ids and ranges in the vectors of the request.
        var weight = 0

        var isFeed: Bool { user == nil }

        /// The changes that a scan leaves out, because the receiver or an earlier replay has passed
        /// them.
        var skipped: Vector { progress.isEmpty ? known : known.union(progress.passed) }

        /// The vector that a replica has to contain before its scan begins.
        var needed: Vector { progress.isEmpty ? known : skipped.union(progress.target) }

        /// Whether the feed needs a scan, because some new changes are by processes of which the
        /// receiver has received later changes from another holder.
        ///
        /// A live feed sends each change as a step from the state before it. Such a receiver may be
        /// past that state: a message that was deleted and restored at the other holder arrives
        /// here unchanged.
        func needsReading(at position: Vector) -> Bool {
            guard !ahead.isEmpty else { return false }
            let new = position.subtracting(known.subtracting(ahead))
            return new.entries.contains { !ahead.seqs(of: $0.replica).isEmpty }
        }
    }

    /// A node with watchers.
    struct Subscriber: Sendable {
        /// The users that the node's watchers watch.
        var users: Set<UserID> = []
        /// The feeds and replays that this node serves to the subscriber, by number.
        var served: [UInt64: Served] = [:]
        /// The number that identifies the feed of each shard.
        var feeds: [ShardID: UInt64] = [:]
        /// The sum of the weights of `served`.
        var weight = 0
        /// The feeds and replays that ended here and whose refusal has not been sent yet.
        var refused: [(shard: ShardID, number: UInt64)] = []

        /// The maximum number of feeds and replays: one feed for each shard, and replays for
        /// watchers that resume.
        static let servedMax = 1 << 18
        /// The maximum number of replica ids and ranges in the vectors of all feeds and replays
        /// together: about 100 MB.
        static let weightMax = 1 << 21
        /// The maximum number of users that one node watches, enough for one user per client.
        static let usersMax = 1 << 17
    }

    private(set) var subscribers: [NodeName: Subscriber] = [:]
    /// The number of nodes that watch each user.
    private var watched: [UserID: Int] = [:]
    /// The number of feeds that this node serves of each shard.
    private var feeds: [ShardID: Int] = [:]
    /// The numbers of the feeds and replays with a scan, by node; the next to read comes first.
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
    /// - Returns: false if the node would watch more than `Subscriber.usersMax` users.
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

    /// Removes a node whose connection is lost, with all its feeds and replays.
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

    /// Adds a feed or a replay; a feed replaces the node's earlier feed of the same shard.
    ///
    /// - Returns: false if the node has too many or too large feeds and replays, or has used the
    ///   number.
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

    /// Ends a feed or a replay, and queues the refusal for the node.
    mutating func refuse(_ number: UInt64, for name: NodeName) {
        guard let served = subscribers[name]?.served[number] else { return }
        remove(number, for: name)
        noteRefused(number, of: served.shard, for: name)
    }

    /// Queues the refusal of a feed or a replay until the connection to the node has capacity.
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

    /// Removes and returns the feeds and replays whose refusal has not been sent to a node yet.
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

    /// Returns the live feeds of a shard, by node.
    func live(of shard: ShardID) -> [(name: NodeName, served: Served)] {
        guard isFed(shard) else { return [] }
        return names.compactMap { name in liveFeed(of: shard, for: name).map { (name, $0) } }
    }

    func hasFeed(of shard: ShardID, for name: NodeName) -> Bool {
        subscribers[name]?.feeds[shard] != nil
    }

    /// Starts a scan for a live feed, over all changes that this node has not sent to the receiver.
    mutating func rescan(_ number: UInt64, for name: NodeName) {
        updateServed(number, for: name) {
            $0.known = $0.known.subtracting($0.ahead)
            $0.scan = FeedScan()
        }
        scanning[name, default: []].append(number)
    }

    /// Lowers the vector that counts as seen by the receiver of a feed or a replay to `held`; the
    /// rest is counted as received from other holders only.
    ///
    /// - Parameter held: a part of the vector that the receiver has seen.
    mutating func lower(_ number: UInt64, to held: Vector, for name: NodeName) {
        updateServed(number, for: name) {
            $0.ahead.formUnion($0.skipped.subtracting(held))
            $0.known = held
            $0.progress = ReplayProgress()
        }
    }

    /// Records changes that a feed's receiver got from another holder and that this replica lacks.
    mutating func noteAhead(_ ahead: Vector, of shard: ShardID, for name: NodeName) {
        guard !ahead.isEmpty, let number = subscribers[name]?.feeds[shard] else { return }
        updateServed(number, for: name) {
            $0.known.formUnion(ahead)
            $0.ahead.formUnion(ahead)
        }
    }

    /// Returns a node's feed of a shard; nil unless the feed is live.
    func liveFeed(of shard: ShardID, for name: NodeName) -> Served? {
        guard let subscriber = subscribers[name], let number = subscriber.feeds[shard],
            let served = subscriber.served[number], served.scan == nil
        else { return nil }
        return served
    }

    /// Returns the node's feed or replay to read next; the scans are read in rotation.
    mutating func nextScan(for name: NodeName) -> Served? {
        guard let number = scanning[name]?.first else { return nil }
        scanning[name]?.removeFirst()
        scanning[name]?.append(number)
        return subscribers[name]?.served[number]
    }
}
