import CRDT
import Chat
import Membership
import Replication
import StorePort
import Wire

/// The serving of feeds: this node sends the events of its shards to the nodes that have watchers.
///
/// A feed is live when its receiver has been sent everything on this node's disk; the receiver then
/// gets the events of each commit. For a feed that is not live, a scan reads the missing changes
/// from the disk.
extension Node {
    /// The maximum number of index lookups of scans in one turn, so that scans do not delay
    /// clients.
    private static let feedReadsPerTurn = 64
    /// The cost of reading one batch of changes, in index lookups.
    private static let changesReads = 16

    /// Sends a node a frame about watchers and feeds; a frame to this node itself is handled here.
    ///
    /// Frames arrive in the order in which they were sent.
    ///
    /// - Returns: false if the node is not connected, or too many bytes are queued for it.
    @discardableResult
    func sendWatchFrame(_ frame: WatchFrame, to name: NodeName) -> Bool {
        guard name == me.name else { return links[name]?.send(.watch(frame)) ?? false }
        ownFrames.append(frame)
        guard ownFrames.count == 1 else { return true }
        // The handling of a frame may append further frames to this node's queue.
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
        case .replay(let id, let number, let user, let since, let progress):
            openReplay(
                of: id, number, for: user, since: since.vector, progress: progress, to: name)
        case .watched, .lowered, .told, .scanning, .replayed, .refused:
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
            positions.append(
                WatchFrame.Position(shard: shard.id, number: served.number, vector: position))
        }
        // A dropped frame reports no position. If a dropped position counted as known, a watcher
        // that resumes would miss changes of users that nobody watched on that node.
        guard sendWatchFrame(.watched(number, concerns: concerns, positions: positions), to: name)
        else {
            return
        }
        for position in positions {
            publisher.updateServed(position.number, for: name) {
                $0.known.formUnion(position.vector)
            }
        }
    }

    /// Returns the shards that contain, or once contained, a conversation or an item of the user,
    /// with one read of the index for all of them.
    func concerned(by user: UserID, among shards: [Shard]) -> Set<ShardID> {
        guard let last = shards.map(\.id).max() else { return [] }
        do throws(StoreFailure) {
            let stored = try ports.store.shards(concerning: user, upTo: last)
            let pending = shards.filter { shard in
                shard.assumeIsolated { $0.isPending(concerning: user) }
            }
            return stored.union(pending.map(\.id))
        } catch {
            // If the index cannot be read, each of the shards may concern the user.
            return Set(shards.map(\.id))
        }
    }

    /// Returns the shard if this node has a replica that may answer and is not being dropped.
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
        of id: ShardID, _ number: UInt64, for user: UserID, since: Vector,
        progress: ReplayProgress, to name: NodeName
    ) {
        let served = EventPublisher.Served(
            shard: id, number: number, user: user, since: ports.clock.milliseconds, known: since,
            progress: progress, scan: FeedScan())
        guard tellable(id) != nil, publisher.add(served, for: name) else {
            return refuse(number, of: id, to: name)
        }
        ports.host.turnAgain()
    }

    /// Refuses a feed or a replay: at once, or as soon as the connection has capacity.
    func refuse(_ number: UInt64, of id: ShardID, to name: NodeName) {
        if !sendWatchFrame(.refused(id, number: number), to: name) {
            publisher.noteRefused(number, of: id, for: name)
        }
    }

    // MARK: Live

    /// Sends the events of the last commit to the nodes whose feeds of the shard are live.
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

    /// Makes a live feed read from disk the changes that this node has not sent to the receiver.
    ///
    /// The node first reports to the receiver that the feed has no position. Until the scan has
    /// ended, a watcher that begins at the receiver gets a replay of its own.
    private func readAnew(_ served: EventPublisher.Served, for name: NodeName) {
        let isSaid = sendWatchFrame(
            .told(served.shard, number: served.number, [], position: nil), to: name)
        guard isSaid else { return publisher.refuse(served.number, for: name) }
        publisher.rescan(served.number, for: name)
        ports.host.turnAgain()
    }

    /// - Returns: whether all frames were sent; otherwise the feed or the replay has ended.
    @discardableResult
    private func send(
        _ told: [AddressedEvent], on served: EventPublisher.Served, position: Vector?,
        to name: NodeName
    ) -> Bool {
        let parts = told.runs(of: Node.toldBytesMax, sizedBy: \.roughBytes)
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            let frame = WatchFrame.told(
                served.shard, number: served.number, part,
                position: isLast ? position.map(SaidVector.init) : nil)
            guard sendWatchFrame(frame, to: name) else {
                // The receiver gets the refusal once the connection has capacity, and opens a feed
                // again from its last position.
                publisher.refuse(served.number, for: name)
                return false
            }
        }
        if served.isFeed, let position {
            publisher.updateServed(served.number, for: name) { $0.known.formUnion(position) }
        }
        return true
    }

    /// Sends a batch of a replay in parts, each with the changes of the completed documents.
    ///
    /// - Parameters:
    ///   - scan: the state of the scan, whose `stride` grows with the parts.
    ///   - held: the vector of the replica when the batch was read.
    private func sendReplayed(
        _ batch: FeedBatch, on served: EventPublisher.Served, _ scan: inout FeedScan,
        held: Vector, to name: NodeName
    ) {
        let target = scan.target ?? Vector()
        if scan.held != held, !batch.steps.isEmpty {
            let frame = WatchFrame.scanning(
                served.shard, number: served.number, target: SaidVector(held))
            guard sendWatchFrame(frame, to: name) else {
                return publisher.refuse(served.number, for: name)
            }
            scan.held = held
        }
        var start = 0
        for step in batch.steps where step.end - start >= scan.stride {
            scan.stride = min(2 * scan.stride, FeedScan.strideMax)
            let position = served.progress.passed.union(target.prefix(upTo: step.change))
            let isSent = send(
                Array(batch.told[start..<step.end]), on: served, position: position, to: name)
            guard isSent else { return }
            start = step.end
        }
        if start < batch.told.count {
            send(Array(batch.told[start...]), on: served, position: nil, to: name)
        }
    }

    /// The approximate limit of the events in one frame, in bytes (256 KiB); a larger event is sent
    /// in a frame of its own.
    private static let toldBytesMax = 256 << 10

    // MARK: Reading

    /// Reads batches for feeds and replays that are not live yet, and sends delayed refusals.
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

    /// Whether all watchers of this node, and all feeds and replays that it serves, are up to date.
    package var isTellingLive: Bool {
        subscriptions.lagging.isEmpty && !publisher.isScanning && profiles.isIdle
    }

    /// The reasons why `isTellingLive` is false, as `key=value` pairs.
    package var untold: String {
        "lagging=\(subscriptions.lagging.count) scanning=\(publisher.scanning.count)"
            + " profiles=\(profiles.isIdle ? "idle" : "requested")"
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

    /// - Returns: the cost of the read, in index lookups.
    private func read(_ served: EventPublisher.Served, for name: NodeName) -> Int {
        guard let shard = tellable(served.shard), var scan = served.scan,
            served.isFeed || publisher.hasFeed(of: served.shard, for: name)
        else {
            publisher.refuse(served.number, for: name)
            return 0
        }
        // A resumed watcher continues at the position of its node's feed, so that feed has to be
        // live first. Otherwise changes that the node received from another holder, and that this
        // replica lacks, would never reach the watcher.
        guard served.isFeed || publisher.liveFeed(of: served.shard, for: name) != nil else {
            return 0
        }
        let position = shard.assumeIsolated { $0.feedPosition }
        let isLate =
            ports.clock.milliseconds >= served.since + FeedScan.patienceMilliseconds
        // This replica first has to contain everything that the receiver has seen elsewhere.
        // Otherwise the receiver would see older states again.
        guard scan.target != nil || position.covers(served.needed) else {
            if isLate { lower(served, to: position, for: name) }
            return 0
        }
        let target = scan.target ?? position
        if scan.target == nil, !mayConcern(served, shard) {
            scan.target = target
            endScan(scan, of: served, position: position, for: name)
            return 1
        }
        scan.target = target
        let publisher = publisher
        let batch = shard.assumeIsolated {
            $0.addressedEvents(
                beyond: served.known, skipping: served.skipped, upTo: target, at: scan.place,
                for: served.user, to: publisher.isWatched)
        }
        guard let batch else {
            self.publisher.refuse(served.number, for: name)
            return Node.changesReads
        }
        if served.isFeed {
            let users = publisher.subscribers[name]?.users ?? []
            let theirs = batch.told.compactMap { $0.narrowed(to: users.contains) }
            if !theirs.isEmpty { send(theirs, on: served, position: nil, to: name) }
        } else {
            var held = position
            #if PlantedBugs
                if PlantedBug.replayAheadOfTold.isOn { held = target }
            #endif
            sendReplayed(batch, on: served, &scan, held: held, to: name)
        }
        if let next = batch.next { scan.place = next }
        self.publisher.updateServed(served.number, for: name) { $0.scan = scan }
        if batch.next == nil { endScan(scan, of: served, position: position, for: name) }
        return Node.changesReads
    }

    /// Stops waiting for changes that the receiver has seen elsewhere and that this replica lacks.
    ///
    /// The receiver may now get documents in their state before these changes. Therefore the
    /// changes count as unseen, here and in the tokens of the receiver's watchers, and a node that
    /// has the changes sends their events again.
    private func lower(_ served: EventPublisher.Served, to position: Vector, for name: NodeName) {
        let held = served.known.intersection(position)
        publisher.lower(served.number, to: held, for: name)
        let frame = WatchFrame.lowered(
            served.shard, number: served.number, position: SaidVector(held))
        if !sendWatchFrame(frame, to: name) { publisher.refuse(served.number, for: name) }
    }

    /// Returns whether a shard may have events for the receiver of a feed or a replay.
    ///
    /// A replay needs no read if its user has seen nothing of the shard and has no data in it.
    private func mayConcern(_ served: EventPublisher.Served, _ shard: Shard) -> Bool {
        guard let user = served.user, served.known.isEmpty else { return true }
        return shard.assumeIsolated { $0.concerns(user) }
    }

    /// Ends a scan that has reached its target vector.
    ///
    /// If changes have been stored since the scan began, another scan follows; otherwise the feed
    /// becomes live, or the replay ends.
    private func endScan(
        _ scan: FeedScan, of served: EventPublisher.Served, position: Vector, for name: NodeName
    ) {
        guard publisher.served(served.number, for: name) != nil else { return }
        let known = served.known.union(scan.target ?? position)
        guard known.covers(position) else {
            publisher.updateServed(served.number, for: name) {
                $0.known = known
                // The receiver still counts the progress from the start of its request.
                $0.progress.passed = $0.isFeed ? Vector() : known
                $0.scan = FeedScan()
            }
            return
        }
        let ahead = known.union(served.ahead).subtracting(position)
        guard served.isFeed else {
            let isSaid = sendWatchFrame(
                .replayed(served.shard, number: served.number, position: SaidVector(known)),
                to: name)
            guard isSaid else { return publisher.refuse(served.number, for: name) }
            publisher.remove(served.number, for: name)
            publisher.noteAhead(ahead, of: served.shard, for: name)
            return
        }
        publisher.updateServed(served.number, for: name) {
            $0.known = known.union(ahead)
            $0.ahead = ahead
            $0.scan = nil
        }
        // `known` may include changes that this replica lacks, so this replica's position is
        // reported.
        send([], on: served, position: position, to: name)
    }

    // MARK: Time

    /// The interval at which a feed without events reports its position, in milliseconds.
    ///
    /// When a feed moves to another holder, the new holder reads only changes since the last
    /// reported position.
    private static let positionMilliseconds: UInt64 = 1_000

    func tickFeeding(now: UInt64) {
        for id in publisher.fedShards {
            guard let shard = tellable(id) else {
                publisher.refuseAll(of: id)
                continue
            }
            // The causes of withheld changes may never arrive. After a time limit the changes are
            // sent without their causes.
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
    /// The approximate size of the event in a frame, in bytes.
    var roughBytes: Int {
        let names = 256 + audience.reduce(0) { $0 + $1.text.utf8.count + 2 }
        switch event.kind {
        case .message(let view), .edit(let view), .restore(let view):
            let sets = view.deletedBy.count + view.deliveredTo.count + view.readBy.count
            return names + view.text.utf8.count + sets * nameBytesMax
        case .blocks(let blocks): return names + blocks.roughBytes
        default: return names
        }
    }
}
