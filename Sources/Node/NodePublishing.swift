import CRDT
import Chat
import Membership
import Replication
import Wire

/// Tells those who watch what is held here.
extension Node {
    /// The most that is read in one turn for those who were away, so that they do not hold up
    /// clients: so many looks into the index.
    private static let feedReadsPerTurn = 64
    /// How many of those a batch of changes counts for.
    private static let changesReads = 16

    /// Tells a node about those who watch, in order.
    ///
    /// - Returns: false where too much waits for it already.
    @discardableResult
    func tell(_ frame: WatchFrame, to name: NodeName) -> Bool {
        guard name == me.name else { return links[name]?.send(.watch(frame)) ?? false }
        ownFrames.append(frame)
        guard ownFrames.count == 1 else { return true }
        // What one of them leads to comes behind it.
        var next = 0
        while next < ownFrames.count {
            let frame = ownFrames[next]
            next += 1
            onWatchFrame(frame, from: name)
        }
        ownFrames = []
        return true
    }

    func onWatchFrame(_ frame: WatchFrame, from name: NodeName) {
        debug(frame, from: name)
        switch frame {
        case .users(let users):
            _ = publisher.add(users, for: name)
        case .watch(let number, let user):
            if publisher.add([user], for: name) { answerWatch(number, of: user, to: name) }
        case .unwatch(let user):
            publisher.remove(user, for: name)
        case .open(let id, let number, let since):
            openFeed(of: id, number, since: since?.vector, for: name)
        case .close(_, let number):
            publisher.remove(number, for: name)
        case .replay(let id, let number, let user, let since):
            openReplay(of: id, number, for: user, since: since.vector, to: name)
        case .watched, .told, .replayed, .refused:
            onFed(frame, by: name)
        }
    }

    // MARK: Opening

    private func answerWatch(_ number: UInt64, of user: UserID, to name: NodeName) {
        let fed = shards.filter { publisher.isFed($0.id) }
        let concerns = fed.map(\.id).filter(concerned(by: user, among: fed).contains)
        var positions: [WatchFrame.Position] = []
        for shard in fed {
            let position = shard.assumeIsolated { $0.feedPosition }
            guard let served = publisher.liveFeed(of: shard.id, for: name), served.known != position
            else { continue }
            publisher.note(served.number, for: name) { $0.known.formUnion(position) }
            positions.append(
                WatchFrame.Position(shard: shard.id, number: served.number, vector: position))
        }
        tell(.watched(number, concerns: concerns, positions: positions), to: name)
    }

    /// Where something is or was a user's: of many shards at once.
    func concerned(by user: UserID, among shards: [Shard]) -> Set<ShardID> {
        guard let last = shards.map(\.id).max() else { return [] }
        do throws(StoreFailure) {
            let stored = try ports.store.shards(concerning: user, upTo: last)
            let pending = shards.filter { shard in
                shard.assumeIsolated { $0.isPending(concerning: user) }
            }
            return stored.union(pending.map(\.id))
        } catch {
            // Perhaps all of them.
            return Set(shards.map(\.id))
        }
    }

    /// A shard that may be told of.
    private func tellable(_ id: ShardID) -> Shard? {
        shard(id).flatMap { shard in
            shard.assumeIsolated { $0.mayAnswer && !$0.isDropping } ? shard : nil
        }
    }

    private func openFeed(
        of id: ShardID, _ number: UInt64, since: Vector?, for name: NodeName
    ) {
        guard let shard = tellable(id) else {
            return refuse(number, of: id, to: name)
        }
        let position = shard.assumeIsolated { $0.feedPosition }
        let served = EventPublisher.Served(
            shard: id, number: number, user: nil, since: ports.clock.milliseconds,
            known: since ?? position, scan: since == nil ? nil : FeedScan())
        guard publisher.add(served, for: name) else {
            return refuse(number, of: id, to: name)
        }
        if since == nil { send([], on: served, position: position, to: name) }
        ports.host.turnAgain()
    }

    private func openReplay(
        of id: ShardID, _ number: UInt64, for user: UserID, since: Vector, to name: NodeName
    ) {
        let served = EventPublisher.Served(
            shard: id, number: number, user: user, since: ports.clock.milliseconds, known: since,
            scan: FeedScan())
        guard tellable(id) != nil, publisher.add(served, for: name) else {
            return refuse(number, of: id, to: name)
        }
        ports.host.turnAgain()
    }

    /// Tells a node that a feed or a replay is not served: at once, or when there is capacity.
    private func refuse(_ number: UInt64, of id: ShardID, to name: NodeName) {
        if !tell(.refused(id, number: number), to: name) {
            publisher.noteRefused(number, of: id, for: name)
        }
    }

    // MARK: Live

    /// Tells what the last commit changed.
    func announce(_ shard: Shard) {
        guard publisher.isFed(shard.id) else {
            shard.assumeIsolated { $0.dropAddressedEvents() }
            return
        }
        let publisher = publisher
        guard let news = shard.assumeIsolated({ $0.takeNews(for: publisher.isWatched) }) else {
            self.publisher.refuseAll(of: shard.id)
            return
        }
        let live = publisher.live(of: shard.id)
        guard case .told(let told) = news else {
            for (name, served) in live { readAnew(served, for: name) }
            return
        }
        let position = shard.assumeIsolated { $0.feedPosition }
        for (name, served) in live {
            guard !served.needsReading(at: position) else {
                readAnew(served, for: name)
                continue
            }
            guard !told.isEmpty, let users = publisher.subscribers[name]?.users else { continue }
            let theirs = told.compactMap { $0.narrowed(to: users.contains) }
            guard !theirs.isEmpty else { continue }
            send(theirs, on: served, position: position, to: name)
        }
    }

    /// Has a feed read what its receiver was not told of from here.
    ///
    /// It stands nowhere until that is told: who begins to watch meanwhile is told of all of it.
    private func readAnew(_ served: EventPublisher.Served, for name: NodeName) {
        let isSaid = tell(
            .told(served.shard, number: served.number, [], position: nil), to: name)
        guard isSaid else { return publisher.refuse(served.number, for: name) }
        publisher.rescan(served.number, for: name)
        ports.host.turnAgain()
    }

    private func send(
        _ told: [AddressedEvent], on served: EventPublisher.Served, position: Vector?,
        to name: NodeName
    ) {
        let parts = told.runs(of: Node.toldBytesMax, sizedBy: \.roughBytes)
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            let frame = WatchFrame.told(
                served.shard, number: served.number, part,
                position: isLast ? position.map(SaidVector.init) : nil)
            guard tell(frame, to: name) else {
                // It goes on from where it was, once there is room.
                publisher.refuse(served.number, for: name)
                return
            }
        }
        if let position {
            publisher.note(served.number, for: name) { $0.known.formUnion(position) }
        }
    }

    /// About the most bytes of the events of one frame; one event at least is in it.
    private static let toldBytesMax = 256 << 10

    // MARK: Reading

    /// Reads what those who were away do not know, and says what it could not say before.
    func serveFeeds() {
        guard !publisher.subscribers.isEmpty else { return }
        tellRefused()
        var left = Node.feedReadsPerTurn
        for name in publisher.names {
            let count = publisher.scanning[name]?.count ?? 0
            for _ in 0..<count where left > 0 && isShort(name) {
                guard let served = publisher.nextScan(for: name) else { break }
                left -= read(served, for: name)
            }
        }
        if publisher.isScanning, left < Node.feedReadsPerTurn { ports.host.turnAgain() }
    }

    /// What keeps those who watch here, or are told from here, from knowing what there is; nil
    /// where nothing does.
    package var untold: String? {
        if let session = subscriptions.lagging.min() {
            return "session \(session) waits for a replay"
        }
        if let name = publisher.scanning.keys.min() { return "it reads for \(name)" }
        return profiles.isIdle ? nil : "profiles are asked for"
    }

    private func isShort(_ name: NodeName) -> Bool {
        name == me.name || links[name]?.isShort ?? false
    }

    private func tellRefused() {
        for name in publisher.names where isShort(name) {
            for (shard, number) in publisher.takeRefused(for: name) {
                refuse(number, of: shard, to: name)
            }
        }
    }

    /// - Returns: how much it read.
    private func read(_ served: EventPublisher.Served, for name: NodeName) -> Int {
        guard let shard = tellable(served.shard), var scan = served.scan,
            served.isFeed || publisher.hasFeed(of: served.shard, for: name)
        else {
            publisher.refuse(served.number, for: name)
            return 0
        }
        // Who comes back goes on where the feed is: what its node has been told of elsewhere, and
        // is not here yet, would be told to nobody any more.
        guard served.isFeed || publisher.liveFeed(of: served.shard, for: name) != nil else {
            return 0
        }
        let position = shard.assumeIsolated { $0.feedPosition }
        let isLate =
            ports.clock.milliseconds >= served.since + FeedScan.patienceMilliseconds
        // What the receiver has seen elsewhere is to be here first: it must not see less.
        guard isLate || scan.target != nil || position.covers(served.known) else { return 0 }
        let target = scan.target ?? position
        if scan.target == nil, !mayConcern(served, shard) {
            scan.target = target
            end(scan, of: served, position: position, for: name)
            return 1
        }
        scan.target = target
        let publisher = publisher
        let batch = shard.assumeIsolated {
            $0.addressedEvents(
                beyond: served.known, upTo: target, at: scan.place, for: served.user,
                to: publisher.isWatched)
        }
        guard let (told, next) = batch else {
            self.publisher.refuse(served.number, for: name)
            return Node.changesReads
        }
        let users = publisher.subscribers[name]?.users ?? []
        let theirs =
            served.isFeed ? told.compactMap { $0.narrowed(to: users.contains) } : told
        if !theirs.isEmpty { send(theirs, on: served, position: nil, to: name) }
        if let next { scan.place = next }
        self.publisher.note(served.number, for: name) { $0.scan = scan }
        if next == nil { end(scan, of: served, position: position, for: name) }
        return Node.changesReads
    }

    /// Whether a shard has something to tell: who knows nothing of it and has nothing in it is told
    /// nothing, and it is not read.
    private func mayConcern(_ served: EventPublisher.Served, _ shard: Shard) -> Bool {
        guard let user = served.user, served.known.isEmpty else { return true }
        return shard.assumeIsolated { $0.concerns(user) }
    }

    /// All up to the target is told: what has come since then is read, or it is level.
    private func end(
        _ scan: FeedScan, of served: EventPublisher.Served, position: Vector, for name: NodeName
    ) {
        guard publisher.served(served.number, for: name) != nil else { return }
        let known = served.known.union(scan.target ?? position)
        guard known.covers(position) else {
            publisher.note(served.number, for: name) {
                $0.known = known
                $0.scan = FeedScan()
            }
            return
        }
        let ahead = known.union(served.ahead).subtracting(position)
        guard served.isFeed else {
            let isSaid = tell(
                .replayed(served.shard, number: served.number, position: SaidVector(known)),
                to: name)
            guard isSaid else { return publisher.refuse(served.number, for: name) }
            publisher.remove(served.number, for: name)
            publisher.noteAhead(ahead, of: served.shard, for: name)
            return
        }
        publisher.note(served.number, for: name) {
            $0.known = known.union(ahead)
            $0.ahead = ahead
            $0.scan = nil
        }
        // What the receiver has seen elsewhere may not be here.
        send([], on: served, position: position, to: name)
    }

    // MARK: Time

    /// How often a feed on which nothing is told says where it stands, in milliseconds: what is
    /// read again when it moves is what came since then.
    private static let positionMilliseconds: UInt64 = 1_000

    func tickFeeding(now: UInt64) {
        for id in publisher.fedShards {
            guard let shard = tellable(id) else {
                publisher.refuseAll(of: id)
                continue
            }
            // Its causes may not come.
            if shard.assumeIsolated({ $0.isHoldingBack }) { announce(shard) }
        }
        guard now >= publisher.positionsToldAt + Node.positionMilliseconds else { return }
        publisher.positionsToldAt = now
        for shard in shards {
            let position = shard.assumeIsolated { $0.feedPosition }
            for (name, served) in publisher.live(of: shard.id) where !served.known.covers(position)
            {
                send([], on: served, position: position, to: name)
            }
        }
    }
}

extension AddressedEvent {
    /// About what it takes in a frame.
    var roughBytes: Int {
        let names = 256 + audience.reduce(0) { $0 + $1.text.utf8.count + 2 }
        switch event.kind {
        case .message(let view), .edit(let view), .restore(let view):
            let sets = view.deletedBy.count + view.deliveredTo.count + view.readBy.count
            return names + view.text.utf8.count + sets * nameBytesMax
        default: return names
        }
    }
}
