import CRDT
import Chat
import Membership
import Placement
import Replication
import Wire

/// The subscription to feeds: the node passes the events of all shards on to its watchers.
///
/// The events of each shard come from one holder, which may be this node. A watcher that lacks some
/// events gets a replay from that holder.
extension Node {
    /// Starts to send a session the events of a user, in place of the user that it watched before.
    ///
    /// - Parameter unsettled: earlier operations of the connection that may still be executed.
    package func watch(
        _ user: UserID, as options: StreamOptions = StreamOptions(), for slot: ReplySlot,
        after unsettled: Unsettled = Unsettled()
    ) -> Result<Void, OperationFailure> {
        guard let cluster else { return .failure(.stopping) }
        let since = options.since
        if let since, !since.isOf(cluster.id) { return .failure(.foreignToken) }
        unwatch(slot.session)
        guard subscriptions.watchers.count < Subscriptions.watchersMax else {
            return .failure(.tooManyWatchers)
        }
        if subscriptions.feeds.isEmpty {
            subscriptions.feeds = Array(repeating: Subscriptions.Feed(), count: Int(cluster.shards))
        }
        subscriptions.idleSince = nil
        let now = ports.clock.milliseconds
        let hasSums = since == nil && profiles.addSum(for: slot.session)
        subscriptions.add(
            Subscriptions.Watcher(
                slot: slot, user: user, hasTokens: options.hasTokens, since: since,
                deadline: now + Subscriptions.Watcher.patienceMilliseconds,
                unsettled: unsettled, sums: since.flatMap { ProfileSums($0.sums) },
                sumsDeadline: hasSums ? now + Subscriptions.Watcher.sumsMilliseconds : nil,
                concerns: [ShardID(of: user.text, count: cluster.shards)]))
        begin(options, for: slot.session)
        tendFeeds()
        askOwners(for: slot.session)
        // The reply is sent at the end of the turn, after all work that needs no answer of another
        // node.
        ports.host.turnAgain()
        subscriptions.isLost = true
        return .success(())
    }

    /// Ends a session's watch of its user.
    package func unwatch(_ session: UInt64) {
        let replays = subscriptions[session]?.behind ?? [:]
        guard let (watcher, isLast) = subscriptions.remove(session) else { return }
        profiles.removeSession(session)
        for (id, behind) in replays.sorted(by: { $0.key < $1.key }) where behind.number > 0 {
            guard let holder = subscriptions.feeds[Int(id.number)].holder else { continue }
            sendWatchFrame(.close(id, number: behind.number), to: holder)
        }
        if isLast {
            for name in subscriptions.informed.sorted() {
                sendWatchFrame(.unwatch(watcher.user), to: name)
            }
        }
        if subscriptions.isIdle { subscriptions.idleSince = ports.clock.milliseconds }
    }

    /// Requests the events of a new watcher's user from every holder that serves feeds to this
    /// node.
    private func askOwners(for session: UInt64) {
        guard let user = subscriptions[session]?.user else { return }
        for name in subscriptions.informed.sorted() {
            let number = takeCallNumber()
            subscriptions.asks[number] = (session, name)
            subscriptions.updateWatcher(session) { $0.awaited.insert(number) }
            if !sendWatchFrame(.watch(number, user), to: name) { loseFeeds(of: name) }
        }
    }

    /// Replies to the watchers that have nothing more to wait for or whose deadline has passed.
    private func answerWatchers() {
        let now = ports.clock.milliseconds
        let areOpen = subscriptions.feeds.allSatisfy(\.isOpen)
        for session in subscriptions.unanswered.sorted() {
            guard let watcher = subscriptions[session] else { continue }
            guard !watcher.waits(now: now, areFeedsOpen: areOpen),
                areBlocksKnown(of: watcher.user, for: watcher.slot) || now >= watcher.deadline
            else { continue }
            answerWatcher(session)
        }
    }

    private func answerWatcher(_ session: UInt64) {
        guard let watcher = subscriptions[session], let cluster else { return }
        let isResumed = watcher.since != nil
        var late: Set<NodeName> = []
        for number in watcher.awaited {
            if let ask = subscriptions.asks.removeValue(forKey: number) { late.insert(ask.holder) }
        }
        var behind: [ShardID: Subscriptions.Backlog] = [:]
        for number in subscriptions.feeds.indices {
            let id = ShardID(UInt16(number))
            guard let position = subscriptions.feeds[number].position else {
                // The feed's position is unknown, so the replay has to contain the whole shard.
                behind[id] = Subscriptions.Backlog(since: Vector())
                continue
            }
            // A watcher whose token is ahead of the feed gets a replay, and no older events from
            // the feed meanwhile.
            let minimum =
                watcher.since?.minimum(of: id, knowing: position, checkpoints.known) ?? position
            let progress = watcher.since?.progress(of: id, knowing: position).map {
                ReplayProgress(passed: $0.passed, target: $0.target)
            }
            let holder = subscriptions.feeds[number].holder
            // Until a holder has confirmed the watch, its events may omit this user.
            let isTold = subscriptions.feeds[number].isOpen && !(holder.map(late.contains) ?? true)
            guard minimum != position || !isTold else { continue }
            behind[id] = Subscriptions.Backlog(
                since: minimum, progress: progress ?? ReplayProgress())
        }
        subscriptions.updateWatcher(session) {
            $0.awaited = []
            $0.since = nil
            $0.sumsDeadline = nil
            $0.isAnswered = true
            $0.behind = behind
        }
        subscriptions.clock = latestTime
        let token = subscriptions.token(of: session, in: cluster.id, checkpoints.known)
        sinks[session]?.onSettled(
            watcher.slot.number, .watching(StreamStart(token: token, stream: stream(of: session))))
        for id in behind.keys.sorted() { askReplay(of: id, for: session) }
        if isResumed { survey(session) }
        tellTyping(to: session, subscriptions: watcher.user)
        tellLevel(to: session)
    }

    private func askReplay(of id: ShardID, for session: UInt64) {
        let feed = subscriptions.feeds[Int(id.number)]
        guard let holder = feed.holder, let user = subscriptions[session]?.user,
            subscriptions[session]?.behind[id] != nil
        else { return }
        let number = takeCallNumber()
        guard let behind = subscriptions.beginReplay(of: id, for: session, as: number) else {
            return
        }
        let frame = WatchFrame.replay(
            id, number: number, user, since: SaidVector(behind.since),
            progress: behind.progress)
        if !sendWatchFrame(frame, to: holder) { loseFeeds(of: holder) }
    }

    // MARK: Feeds

    /// Finds a holder for every feed that has none or could have a better one.
    private func tendFeeds() {
        guard !subscriptions.isIdle else { return }
        let now = ports.clock.milliseconds
        for number in subscriptions.feeds.indices {
            let id = ShardID(UInt16(number))
            let source = feedSource(of: id, now: now)
            guard let source, source != subscriptions.feeds[number].holder else { continue }
            openFeed(of: id, at: source)
        }
    }

    /// Chooses the member that is to serve a shard's feed: this node if its replica is ready,
    /// otherwise the present holder while it is heard from, otherwise an owner, otherwise any
    /// member that may have a replica.
    ///
    /// Members that have recently refused the feed are not considered.
    private func feedSource(of id: ShardID, now: UInt64) -> NodeName? {
        let feed = subscriptions.feeds[Int(id.number)]
        func isWilling(_ name: NodeName) -> Bool { now >= feed.refusedBy[name] ?? 0 }
        func isHeard(_ name: NodeName) -> Bool {
            links[name].map { !$0.sync.isQuiet(now: now) } ?? false
        }
        let here = shard(id)
        if here?.assumeIsolated({ $0.isReady }) ?? false, isWilling(me.name) { return me.name }
        if let holder = feed.holder, holder != me.name, isHeard(holder) { return holder }
        let owners = Int(id.number) < self.owners.count ? self.owners[Int(id.number)] : []
        let able = owners.filter { $0 != me.name && links[$0] != nil && isWilling($0) }
        if let name = routes.preferred(for: id), able.contains(name), isHeard(name) { return name }
        if let name = able.first(where: isHeard) { return name }
        if here?.assumeIsolated({ $0.mayAnswer }) ?? false, isWilling(me.name) { return me.name }
        let others = Placement.ranking(of: id, among: links.names)
        return feed.holder ?? others.first { isHeard($0) && isWilling($0) } ?? able.first
    }

    private func openFeed(of id: ShardID, at name: NodeName) {
        let old = subscriptions.feeds[Int(id.number)]
        if let holder = old.holder { sendWatchFrame(.close(id, number: old.number), to: holder) }
        subscriptions.feeds[Int(id.number)].holder = nil
        subscriptions.feeds[Int(id.number)].isOpen = false
        guard inform(name) else { return noteRefusal(of: id, by: name) }
        let number = takeCallNumber()
        subscriptions.feeds[Int(id.number)].holder = name
        subscriptions.feeds[Int(id.number)].number = number
        guard
            sendWatchFrame(
                .open(id, number: number, since: old.position.map(SaidVector.init)), to: name)
        else {
            return noteRefusal(of: id, by: name)
        }
        askReplays(of: id)
    }

    /// Requests a replay from the new holder of a shard for each watcher that lacks part of it.
    private func askReplays(of id: ShardID) {
        subscriptions.lag(behind: id)
        for session in subscriptions.lagging.sorted()
        where subscriptions[session]?.behind[id] != nil {
            askReplay(of: id, for: session)
        }
    }

    private func noteRefusal(of id: ShardID, by name: NodeName) {
        let until = ports.clock.milliseconds + Subscriptions.Feed.pauseMilliseconds
        subscriptions.feeds[Int(id.number)].holder = nil
        subscriptions.feeds[Int(id.number)].isOpen = false
        subscriptions.feeds[Int(id.number)].refusedBy[name] = until
        subscriptions.isLost = true
    }

    /// Sends a holder the users that are watched on this node, unless the holder has them already.
    ///
    /// - Returns: false if too many bytes are queued for the holder.
    private func inform(_ name: NodeName) -> Bool {
        guard !subscriptions.informed.contains(name) else { return true }
        var users = subscriptions.users[...]
        while !users.isEmpty {
            guard sendWatchFrame(.users(Array(users.prefix(WatchFrame.usersMax))), to: name) else {
                return false
            }
            users = users.dropFirst(WatchFrame.usersMax)
        }
        subscriptions.informed.insert(name)
        return true
    }

    /// Ends all feeds from a holder that is disconnected, or that may lack the users watched here.
    private func loseFeeds(of name: NodeName) {
        subscriptions.informed.remove(name)
        for (number, ask) in subscriptions.asks where ask.holder == name {
            subscriptions.asks[number] = nil
            subscriptions.updateWatcher(ask.session) { $0.awaited.remove(number) }
        }
        for number in subscriptions.feeds.indices where subscriptions.feeds[number].holder == name {
            noteRefusal(of: ShardID(UInt16(number)), by: name)
        }
        subscriptions.isLost = true
    }

    /// Ends the feeds in both directions after the connection to a member was lost.
    func onFeedsLost(with name: NodeName) {
        publisher.removeSubscriber(name)
        guard !subscriptions.feeds.isEmpty else { return }
        loseFeeds(of: name)
    }

    // MARK: Frames

    func onFed(_ frame: WatchFrame, by name: NodeName) {
        switch frame {
        case .watched(let number, let concerns, let positions):
            onWatched(number, concerns, positions, by: name)
        case .told(let id, let number, let told, let position):
            if let replay = subscriptions.replays[number], replay.shard == id {
                deliverEvents(
                    told, passing: position?.vector, replayedTo: replay.session, of: id)
            } else if isFed(id, number, by: name) {
                deliverEvents(told, of: id, by: name, position: position?.vector)
                subscriptions.feeds[Int(id.number)].isOpen = position != nil
                if !subscriptions.unanswered.isEmpty { subscriptions.isLost = true }
            } else {
                // The feed's `close` frame is on its way, or was dropped.
                sendWatchFrame(.close(id, number: number), to: name)
            }
        case .lowered(let id, let number, let position):
            if let replay = subscriptions.replays[number], replay.shard == id {
                subscriptions.lower(id, of: replay.session, to: position.vector)
            } else if isFed(id, number, by: name) {
                subscriptions.lower(id, to: position.vector)
            }
        case .scanning(let id, let number, let target):
            guard let replay = subscriptions.replays[number], replay.shard == id else { return }
            subscriptions.updateWatcher(replay.session) {
                $0.behind[id]?.progress.target = target.vector
            }
        case .replayed(let id, let number, let position):
            guard let replay = subscriptions.replays.removeValue(forKey: number), replay.shard == id
            else { return }
            let last = subscriptions.endReplay(
                of: id, to: replay.session, at: position.vector)
            if let last { deliver([last], to: replay.session) }
            if let replica = observedReplica(of: name) {
                sinks[replay.session]?.onTold(Observation(id, position.vector, by: replica))
            }
            tellLevel(to: replay.session)
        case .refused(let id, let number):
            if let replay = subscriptions.replays[number], replay.shard == id {
                subscriptions.updateWatcher(replay.session) { $0.behind[id]?.number = 0 }
                subscriptions.replays[number] = nil
                noteRefusal(of: id, by: name)
            } else if isFed(id, number, by: name) {
                noteRefusal(of: id, by: name)
            }
        case .users, .watch, .unwatch, .open, .close, .replay:
            return
        }
    }

    private func isFed(_ id: ShardID, _ number: UInt64, by name: NodeName) -> Bool {
        guard Int(id.number) < subscriptions.feeds.count else { return false }
        let feed = subscriptions.feeds[Int(id.number)]
        return feed.number == number && feed.holder == name
    }

    private func onWatched(
        _ number: UInt64, _ concerns: [ShardID], _ positions: [WatchFrame.Position],
        by name: NodeName
    ) {
        for position in positions where isFed(position.shard, position.number, by: name) {
            subscriptions.raise(position.shard, to: position.vector)
            subscriptions.noteHeld(position.vector, of: position.shard)
        }
        guard let ask = subscriptions.asks.removeValue(forKey: number), ask.holder == name else {
            return
        }
        for id in concerns where Int(id.number) < subscriptions.feeds.count {
            subscriptions.noteConcern(id, of: ask.session)
        }
        subscriptions.updateWatcher(ask.session) { $0.awaited.remove(number) }
        subscriptions.isLost = true
    }

    // MARK: Events

    /// Delivers the events of a feed to the sessions that watch their users.
    ///
    /// Only the last event has a token with the new position. A client that resumes with the token
    /// of an earlier event receives the later events again.
    private func deliverEvents(
        _ told: [AddressedEvent], of id: ShardID, by holder: NodeName, position: Vector?
    ) {
        let before = subscriptions.feeds[Int(id.number)].position
        if let position {
            subscriptions.raise(id, to: position)
            subscriptions.noteHeld(position, of: id)
        }
        guard let cluster, !told.isEmpty else { return }
        observe(told)
        var deliveries: [(session: UInt64, event: WatchedEvent)] = []
        var last: [UInt64: Int] = [:]
        for addressedEvent in told {
            if addressedEvent.change != nil { noteProfile(addressedEvent) }
            guard !noteBlocks(addressedEvent) else { continue }
            let event = WatchedEvent(addressedEvent.event, on: ports.executor)
            for session in addressedEvent.audience.flatMap(subscriptions.sessions) {
                guard let watcher = subscriptions[session], watcher.isAnswered,
                    watcher.behind[id] == nil
                else { continue }
                subscriptions.noteConcern(id, of: session)
                guard !subscriptions.hides(addressedEvent.event, from: watcher.user) else {
                    continue
                }
                last[session] = deliveries.count
                deliveries.append((session, event))
            }
        }
        var earlier: [Subscriptions.TokenKey: String] = [:]
        for (index, delivery) in deliveries.enumerated() {
            guard let watcher = subscriptions[delivery.session] else { continue }
            let isLast = last[delivery.session] == index && position != nil
            let token: String?
            if !watcher.hasTokens {
                token = nil
            } else if isLast {
                token = subscriptions.token(of: delivery.session, in: cluster.id, checkpoints.known)
            } else if let key = watcher.tokenKey, let known = earlier[key] {
                token = known
            } else {
                token = subscriptions.token(
                    of: delivery.session, at: (id, before), in: cluster.id, checkpoints.known)
                if let key = watcher.tokenKey { earlier[key] = token }
            }
            hand(delivery.event, token, to: delivery.session)
        }
        guard let position, let replica = observedReplica(of: holder) else { return }
        let observation = Observation(id, position, by: replica)
        for session in last.keys { sinks[session]?.onTold(observation) }
    }

    /// Returns the key of a member's replica in session vectors; nil if the member is disconnected.
    func observedReplica(of name: NodeName) -> SessionVector.ObservedReplica? {
        name == me.name ? .here : links[name].map { .member(channel: $0.channel.id) }
    }

    /// Advances the clock to the latest of the events, so that the next writes of their watchers
    /// get a later timestamp.
    func observe(_ told: [AddressedEvent]) {
        observe(told.reduce(.zero) { max($0, $1.event.at) })
        subscriptions.clock = latestTime
    }

    /// Delivers the events of a replay to its session, except for the last event.
    ///
    /// - Parameter passed: the changes of the documents that the replay has completed with these
    ///   events; nil if they are unknown.
    private func deliverEvents(
        _ told: [AddressedEvent], passing passed: Vector?, replayedTo session: UInt64,
        of id: ShardID
    ) {
        guard let user = subscriptions[session]?.user else { return }
        observe(told)
        if !told.isEmpty { subscriptions.noteConcern(id, of: session) }
        let events = told.filter {
            !noteBlocks($0) && !subscriptions.hides($0.event, from: user)
        }.map { WatchedEvent($0.event, on: ports.executor) }
        deliver(
            subscriptions.hold(events, passing: passed, of: id, for: session), to: session)
    }

    /// Delivers events to one session, each with the session's current token.
    private func deliver(_ events: [WatchedEvent], to session: UInt64) {
        guard let cluster, !events.isEmpty else { return }
        let token = subscriptions.eventToken(of: session, in: cluster.id, checkpoints.known)
        for event in events { hand(event, token, to: session) }
    }

    /// Delivers one event; each tick checks again a session whose client reads too slowly.
    func hand(_ event: WatchedEvent, _ token: String?, to session: UInt64) {
        guard let isFull = sinks[session]?.onEvent(event, token: token) else { return }
        if isFull { subscriptions.full.insert(session) }
    }

    /// Records that a session ended while events wait for its client, so that each tick calls
    /// `isStillFull`.
    package func onEventsLeft(for session: UInt64) { subscriptions.full.insert(session) }

    // MARK: Time

    /// Finds holders for feeds at the end of a turn, starts profile queries, and replies to
    /// watchers that have to wait for nothing more.
    func settleSubscriptions() {
        guard subscriptions.isLost else { return }
        subscriptions.isLost = false
        tendFeeds()
        runProfiles()
        answerWatchers()
    }

    func tickSubscriptions(now: UInt64) {
        tickFeeding(now: now)
        tickProfiles(now: now)
        tellLevel()
        tellHeartbeats(now: now)
        for session in subscriptions.full.sorted() where !(sinks[session]?.isStillFull() ?? false) {
            subscriptions.full.remove(session)
        }
        guard !subscriptions.feeds.isEmpty else { return }
        if let since = subscriptions.idleSince, now >= since + Subscriptions.idleMilliseconds {
            return closeFeeds()
        }
        for user in subscriptions.usersOfUnknownBlocks.sorted() {
            guard let session = subscriptions.sessions(of: user).first,
                let slot = subscriptions[session]?.slot
            else { continue }
            _ = areBlocksKnown(of: user, for: slot)
        }
        subscriptions.isLost = true
    }

    private func closeFeeds() {
        for number in subscriptions.feeds.indices {
            guard let holder = subscriptions.feeds[number].holder else { continue }
            let id = ShardID(UInt16(number))
            sendWatchFrame(.close(id, number: subscriptions.feeds[number].number), to: holder)
        }
        subscriptions.feeds = []
        subscriptions.idleSince = nil
    }
}
