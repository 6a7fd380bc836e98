import CRDT
import Chat
import Placement
import Replication
import Wire

/// The routing of clients' requests: to a shard replica of this node, or to a member that has a
/// replica of the shard.
extension Node {
    /// The destination of requests for a shard.
    enum Route {
        case here(Shard)
        case member(NodeName)
        case nobody
    }

    /// Returns the shard of a conversation; nil before the node is in a cluster.
    package func shardID(of conversation: ConversationID) -> ShardID? {
        shardID(of: conversation.text)
    }

    /// Returns the shard of a partition key; nil before the node is in a cluster.
    func shardID(of partition: String) -> ShardID? {
        cluster.map { ShardID(of: partition, count: $0.shards) }
    }

    /// Returns this node's replica of a conversation's shard; nil if this node has none.
    package func shard(of conversation: ConversationID) -> Shard? {
        shardID(of: conversation).flatMap { shard($0) }
    }

    /// Returns this node's replica of a shard; nil if this node has none.
    package func shard(_ id: ShardID) -> Shard? {
        Int(id.number) < held.count ? held[Int(id.number)] : nil
    }

    /// Creates an id for a message or an action item whose sender has given no id.
    package nonisolated func mintID() -> String {
        MessageID.minted(
            at: HybridTimestamp(milliseconds: ports.clock.wallMilliseconds),
            entropy: ports.entropy.next()
        ).text
    }

    /// Starts the orderly shutdown of the process.
    package func shutDown() { ports.host.end(.shutdown) }

    /// Schedules another turn of the event loop, which starts without waiting for I/O.
    package func turnAgain() { ports.host.turnAgain() }

    package func attach(_ sink: any ReplySink, as session: UInt64) { sinks[session] = sink }

    package func detach(_ session: UInt64) {
        sinks[session] = nil
        waits.removeAll { $0.slot.session == session }
        operations.forgetClients(of: session)
        deferredQueries[session] = nil
        endBlockChecks(of: session)
        for slot in seedings.keys where slot.session == session { seedings[slot] = nil }
        forgetReadBarriers(of: session)
        unwatch(session)
        endTyping(of: session)
    }

    // MARK: Handling

    /// Executes a write of a client, or forwards the write to another member.
    ///
    /// - Parameters:
    ///   - isMinted: whether the mutation's id was just generated, so that no document has it.
    ///   - sessionVectors: the changes that the connection has seen.
    ///   - unsettled: earlier operations of the connection that may still be executed.
    package func handle(
        _ mutation: consuming Mutation, isMinted: Bool, level: AckLevel, for slot: ReplySlot,
        having sessionVectors: SessionVectors = SessionVectors(),
        after unsettled: Unsettled = Unsettled()
    ) -> Reply {
        if mutation.key.kind == .signing, let action = mutation.action as? Signing.Action {
            return refusalOfClock ?? change(action, for: slot)
        }
        // A node whose own clock is wrong judges no time.
        if let requested = mutation.stamp,
            let refusal = refusalOfClock ?? refusal(of: requested)
        {
            return refusal
        }
        var senders = BlockedSenders.none
        if mutation.dependsOnOthers,
            let reply = checkBlocks(
                of: mutation, isMinted: isMinted, level: level, for: slot, having: sessionVectors,
                after: unsettled, senders: &senders)
        {
            return reply
        }
        return execute(
            mutation, without: senders, isMinted: isMinted, level: level, for: slot,
            having: sessionVectors, after: unsettled)
    }

    /// The reply to each write while the node's clock is wrong; nil while the clock is right.
    private var refusalOfClock: Reply? {
        guard cluster != nil, let offset = clusterTime.refusedOffset else { return nil }
        return .here(.failed(.clock(offset)), isSettled: true)
    }

    /// Executes or forwards a write without a check of blocked users.
    ///
    /// - Parameters:
    ///   - senders: the users whom the user has blocked, if the reply counts unread messages.
    ///   - refusal: the refusal with which a client's operation is answered unless it is recorded.
    ///   - sessionVectors: the changes that the connection has seen; nil if its sink provides them.
    func execute(
        _ mutation: consuming Mutation, without senders: BlockedSenders = .none,
        refusing refusal: Refusal? = nil, isMinted: Bool,
        level: AckLevel, for slot: ReplySlot, having sessionVectors: SessionVectors?,
        after unsettled: Unsettled
    ) -> Reply {
        if let refusal = refusalOfClock { return refusal }
        let (partition, requested) = (mutation.partition, requestedStamp(of: mutation))
        let typist = typing.isIdle ? nil : copy mutation
        let operation = Operation(
            mutation, requested ?? nextOperation(), after: unsettled, without: senders,
            refusing: refusal)
        let attempt: PeerRequest.Attempt =
            requested != nil ? .client : isMinted ? .minted : .first
        let handling = handle(
            .write(operation, level, attempt), in: partition, for: slot, having: sessionVectors)
        if let requested, case .here(.written, _) = handling {
            operations.ofClients[slot] = requested
        }
        if let typist { endTyping(by: typist, handling, for: slot) }
        return handling
    }

    /// Returns the stamp that the client has given to a mutation; nil if this node gives it.
    private func requestedStamp(of mutation: borrowing Mutation) -> Stamp? {
        #if PlantedBugs
            if PlantedBug.clientStampIgnored.isOn { return nil }
        #endif
        return mutation.stamp
    }

    /// The reply to a write whose client has given it a time that is too early or too late; nil if
    /// the write may be executed.
    private func refusal(of requested: Stamp) -> Reply? {
        let wall = wallTime
        let timeliness = wall.timeliness(of: requested.time)
        guard timeliness != .inTime else { return nil }
        return .here(
            .failed(.untimely(timeliness, now: wall.milliseconds)), isSettled: true)
    }

    package func handle(
        _ query: some Query, of user: UserID, for slot: ReplySlot,
        having sessionVectors: SessionVectors = SessionVectors()
    ) -> Reply {
        handle(AnyQuery(query), of: user, for: slot, having: sessionVectors)
    }

    package func handle(
        _ query: AnyQuery, of user: UserID, for slot: ReplySlot,
        having sessionVectors: SessionVectors = SessionVectors()
    ) -> Reply {
        if query.base is SigningQuery { return .here(signingFound, isSettled: true) }
        guard !query.showsMessages else {
            return handleUnblocked(query, of: user, for: slot, having: sessionVectors)
        }
        return handle(filtered: query, of: user, for: slot, sessionVectors)
    }

    /// Answers a query whose filter for blocked users is already set.
    ///
    /// - Parameters:
    ///   - place: the client's request to which the query belongs; a list shows the effects of
    ///     earlier requests.
    ///   - sessionVectors: the changes that the connection has seen; nil if its sink provides them.
    func handle(
        filtered query: AnyQuery, of user: UserID, for slot: ReplySlot,
        behind place: ReplySlot? = nil,
        _ sessionVectors: SessionVectors?
    ) -> Reply {
        guard let partition = query.partition else {
            return list(
                query, of: user, for: slot, behind: place ?? slot, having: sessionVectors)
        }
        return handle(.read(query, user), in: partition, for: slot, having: sessionVectors)
    }

    private func handle(
        _ request: PeerRequest.Request, in partition: String, for slot: ReplySlot,
        having sessionVectors: SessionVectors?
    ) -> Reply {
        guard let id = shardID(of: partition) else {
            return .here(.failed(.notReady), isSettled: true)
        }
        guard forwards.isIdle(id),
            sessionVectors?.isCaughtUp(id, with: .here) ?? isCaughtUp(slot.session, id, with: .here)
        else { return forward(request, of: id, for: slot) }
        if let (outcome, isSettled) = carryOutIfReady(request, in: id, for: slot) {
            return .here(outcome, isSettled: isSettled)
        }
        guard case .here(let shard) = route(of: id) else {
            return forward(request, of: id, for: slot)
        }
        let (outcome, isSettled) = carryOut(request, in: shard, for: slot)
        return .here(outcome, isSettled: isSettled)
    }

    /// Executes a client's request if this node owns the shard and is ready, which is nearly always
    /// the case.
    ///
    /// - Returns: nil, without any effect, if the route has to be determined first.
    private func carryOutIfReady(
        _ request: PeerRequest.Request, in id: ShardID, for slot: ReplySlot
    ) -> (Completion, isSettled: Bool)? {
        guard !isRefusing, let shard = shard(id) else { return nil }
        // The request is copied only if needed: a copy costs as much as the lookup of its
        // documents.
        guard operations.hasUnsettled(on: id) else {
            return carryOutIfReady(named: request, in: shard, for: slot)
        }
        return carryOutIfReady(named: operations.naming(request, on: id), in: shard, for: slot)
    }

    private func carryOutIfReady(
        named request: PeerRequest.Request, in shard: Shard, for slot: ReplySlot
    ) -> (Completion, isSettled: Bool)? {
        let carriedOut = within(shard, with: (request, slot)) { shard, asked in
            shard.isReady ? shard.carryOut(asked.0, for: asked.1) : nil
        }
        guard let carriedOut else { return nil }
        guard case .failed(.stale(let time)) = carriedOut.outcome else {
            return recordResult(carriedOut)
        }
        return execute(raised(request, above: time), in: shard, for: slot)
    }

    /// Executes a client's request on this node, and repeats it with a greater time if necessary.
    ///
    /// - Returns: the outcome, and whether it may be sent at once.
    func carryOut(
        _ request: PeerRequest.Request, in shard: Shard, for slot: ReplySlot
    ) -> (Completion, isSettled: Bool) {
        let request = operations.naming(request, on: shard.id)
        let (outcome, isSettled) = execute(request, in: shard, for: slot)
        guard case .failed(.stale(let time)) = outcome else { return (outcome, isSettled) }
        guard request.mayBeRaised else { return (.failed(.unanswered), isSettled: true) }
        // No other request is executed between the two attempts, so the second time is great
        // enough.
        return execute(raised(request, above: time), in: shard, for: slot)
    }

    /// Executes a request on this node.
    ///
    /// - Returns: the outcome, and whether it may be sent at once.
    func execute(
        _ request: PeerRequest.Request, in shard: Shard, for slot: ReplySlot
    ) -> (Completion, isSettled: Bool) {
        if isRefusing, let failure = refusal(of: request) {
            return (.failed(.store(failure)), isSettled: true)
        }
        if request.asks(SigningQuery.self) { return (signingFound, isSettled: true) }
        return recordResult(within(shard) { $0.carryOut(request, for: slot) })
    }

    private func recordResult(_ carriedOut: consuming ExecutionResult) -> (
        Completion, isSettled: Bool
    ) {
        observe(carriedOut.greatestTime)
        return (carriedOut.outcome, carriedOut.isSettled)
    }

    /// Returns a write request with a time greater than `time`; other requests remain unchanged.
    ///
    /// The caller ensures that no node has executed the request with its first time.
    func raised(_ request: PeerRequest.Request, above time: HybridTimestamp) -> PeerRequest.Request
    {
        guard case .write(var operation, let level, let attempt) = request else { return request }
        operation.stamp = operations.source.raised(operation.stamp, above: time, at: wallTime)
        return .write(operation, level, attempt)
    }

    // MARK: Routes

    /// Returns the first available of these: this node if it owns the shard and is ready, the owner
    /// that was chosen last, the first owner that may be asked, this node if its replica can serve,
    /// or any member that may have a replica.
    func route(of id: ShardID) -> Route {
        let here = shard(id)
        if let here, here.assumeIsolated({ $0.isReady }) { return .here(here) }
        let now = ports.clock.milliseconds
        let owners = Int(id.number) < owners.count ? owners[Int(id.number)] : []
        if let name = routes.preferred(for: id), owners.contains(name),
            mayAsk(name, for: id, now: now)
        {
            return .member(name)
        }
        if let name = owners.first(where: { mayAsk($0, for: id, now: now) }) {
            routes.prefer(name, for: id)
            return .member(name)
        }
        if let here, here.assumeIsolated({ $0.isServable }) { return .here(here) }
        let others = Placement.ranking(of: id, among: links.names)
        return others.first { mayAsk($0, for: id, now: now) }.map(Route.member) ?? .nobody
    }

    /// Returns whether an owner is connected; an owner that is busy or silent now may answer later.
    func isOwnerConnected(_ id: ShardID) -> Bool {
        owners[Int(id.number)].contains { links[$0] != nil }
    }

    private func mayAsk(_ name: NodeName, for id: ShardID, now: UInt64) -> Bool {
        guard let connection = links[name], connection.deadline(after: 0, now: now) != nil else {
            return false
        }
        return routes.mayAsk(name, for: id, heardAt: connection.sync.heardAt, now: now)
    }

    func tickRequests(now: UInt64) {
        routes.onTick(now: now)
        tickForwards(now: now)
        tickAnswers(now: now)
        tickLists(now: now)
        tickReadBarriers(now: now)
        tickWaits(now: now)
        tickMajorityWaits()
        tickSubscriptions(now: now)
        tickTyping()
    }

    /// Ends all requests, responses and feeds on a lost connection to a member.
    func onLinkLost(_ channel: UInt64, to name: NodeName) {
        let session = SessionBit.peer | channel
        for slot in pendingResponses.keys where slot.session == session {
            pendingResponses[slot] = nil
        }
        for slot in scatterGathers.keys where slot.session == session { endGather(slot) }
        for place in redirects.keys where place.session == session { redirects[place] = nil }
        forwards.takeBack(from: name, now: ports.clock.milliseconds)
        onListsLost(with: name)
        forgetCatchUps(of: session)
        tickReadBarriers(now: ports.clock.milliseconds)
        onFeedsLost(with: name)
        onTypingLost(from: name)
        ports.host.turnAgain()
    }
}
