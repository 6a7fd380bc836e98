import CRDT
import Chat
import Placement
import Replication
import Wire

/// What clients ask of the node, and where it goes: one of the shards held here, or a member that
/// holds what is not.
extension Node {
    /// Who answers for a shard.
    enum Route {
        case here(Shard)
        case member(NodeName)
        case nobody
    }

    /// The shard that a conversation is in; nil before the node is in a cluster.
    package func shardID(of conversation: ConversationID) -> ShardID? {
        shardID(of: conversation.text)
    }

    /// The shard of a partition key; nil before the node is in a cluster.
    func shardID(of partition: String) -> ShardID? {
        cluster.map { ShardID(of: partition, count: $0.shards) }
    }

    /// The shard of a conversation, where it is held here.
    package func shard(of conversation: ConversationID) -> Shard? {
        shardID(of: conversation).flatMap { shard($0) }
    }

    /// A shard, where it is held here.
    package func shard(_ id: ShardID) -> Shard? {
        Int(id.number) < held.count ? held[Int(id.number)] : nil
    }

    /// An id for a message whose sender named none.
    package func mintMessageID() -> MessageID {
        MessageID.minted(
            at: HybridTimestamp(milliseconds: ports.clock.wallMilliseconds),
            entropy: ports.entropy.next())
    }

    /// An id for an action item whose owner named none.
    package func mintItemID() -> ItemID { ItemID(checked: mintMessageID().text) }

    /// Ends the process in good order.
    package func shutDown() { ports.host.end(.shutdown) }

    /// Has what was asked outside of a read of the network go on without waiting for one.
    package func turnAgain() { ports.host.turnAgain() }

    package func attach(_ sink: any ReplySink, as session: UInt64) { sinks[session] = sink }

    package func detach(_ session: UInt64) {
        sinks[session] = nil
        waits.removeAll { $0.slot.session == session }
        deferredQueries[session] = nil
        for slot in seedings.keys where slot.session == session { seedings[slot] = nil }
        forgetReadBarriers(of: session)
        unwatch(session)
        endTyping(of: session)
    }

    // MARK: Handling

    /// - Parameters:
    ///   - isMinted: its id was just made: nothing has it.
    ///   - sessionVectors: what the connection has seen.
    ///   - unsettled: what the connection asked for before, and may yet be executed.
    package func handle(
        _ mutation: consuming Mutation, isMinted: Bool, level: AckLevel, for slot: ReplySlot,
        having sessionVectors: SessionVectors = SessionVectors(),
        after unsettled: Unsettled = Unsettled()
    ) -> Reply {
        if let offset = clusterTime.refusedOffset, cluster != nil {
            return .here(.failed(.clock(offset)), isSettled: true)
        }
        let partition = mutation.partition
        let typist = typing.isIdle ? nil : copy mutation
        let operation = Operation(mutation, nextOperation(), after: unsettled)
        let handling = handle(
            .write(operation, level, isMinted ? .minted : .first), in: partition, for: slot,
            having: sessionVectors)
        if let typist { endTyping(by: typist, handling, for: slot) }
        return handling
    }

    package func handle(
        _ query: Query, of user: UserID, for slot: ReplySlot,
        having sessionVectors: SessionVectors = SessionVectors()
    ) -> Reply {
        guard let partition = query.partition else {
            return list(query, of: user, for: slot, having: sessionVectors)
        }
        return handle(.read(query, user), in: partition, for: slot, having: sessionVectors)
    }

    private func handle(
        _ request: PeerRequest.Request, in partition: String, for slot: ReplySlot,
        having sessionVectors: SessionVectors
    ) -> Reply {
        guard let id = shardID(of: partition) else {
            return .here(.failed(.notReady), isSettled: true)
        }
        guard forwards.isIdle(id), sessionVectors.isLevel(id, with: .here) else {
            return forward(request, of: id, for: slot)
        }
        if let (outcome, isSettled) = carryOutIfReady(request, in: id, for: slot) {
            return .here(outcome, isSettled: isSettled)
        }
        guard case .here(let shard) = route(of: id) else {
            return forward(request, of: id, for: slot)
        }
        let (outcome, isSettled) = carryOut(request, in: shard, for: slot)
        return .here(outcome, isSettled: isSettled)
    }

    /// Carries a request of a client out where this node owns the shard and is ready: nearly
    /// always.
    ///
    /// - Returns: nil where it has to be seen first who answers; nothing is done then.
    private func carryOutIfReady(
        _ request: PeerRequest.Request, in id: ShardID, for slot: ReplySlot
    ) -> (Completion, isSettled: Bool)? {
        guard !isRefusing, let shard = shard(id) else { return nil }
        // A copy of a request costs as much as looking its documents up, and is rarely needed.
        guard operations.hasUnsettled(on: id) else {
            return carryOutIfReady(named: request, in: shard, for: slot)
        }
        return carryOutIfReady(named: operations.naming(request, on: id), in: shard, for: slot)
    }

    private func carryOutIfReady(
        named request: PeerRequest.Request, in shard: Shard, for slot: ReplySlot
    ) -> (Completion, isSettled: Bool)? {
        let carriedOut = within(shard) {
            $0.isReady ? $0.carryOut(request, for: slot) : nil
        }
        guard let carriedOut else { return nil }
        guard case .failed(.stale(let time)) = carriedOut.outcome else { return note(carriedOut) }
        return execute(raised(request, above: time), in: shard, for: slot)
    }

    /// Carries a request of a client out here; with a greater time, where it needs one.
    ///
    /// - Returns: what came of it, and whether that may be said at once.
    func carryOut(
        _ request: PeerRequest.Request, in shard: Shard, for slot: ReplySlot
    ) -> (Completion, isSettled: Bool) {
        let request = operations.naming(request, on: shard.id)
        let (outcome, isSettled) = execute(request, in: shard, for: slot)
        guard case .failed(.stale(let time)) = outcome else { return (outcome, isSettled) }
        guard request.mayBeRaised else { return (.failed(.unanswered), isSettled: true) }
        // Nobody else is heard meanwhile: the second time is late enough.
        return execute(raised(request, above: time), in: shard, for: slot)
    }

    /// Carries a request out here.
    ///
    /// - Returns: what came of it, and whether that may be said at once.
    func execute(
        _ request: PeerRequest.Request, in shard: Shard, for slot: ReplySlot
    ) -> (Completion, isSettled: Bool) {
        if isRefusing, let failure = refusal(of: request) {
            return (.failed(.store(failure)), isSettled: true)
        }
        return note(within(shard) { $0.carryOut(request, for: slot) })
    }

    private func note(_ carriedOut: consuming ExecutionResult) -> (Completion, isSettled: Bool) {
        observe(carriedOut.greatestTime)
        return (carriedOut.outcome, carriedOut.isSettled)
    }

    /// The request with a greater time: no node has executed it.
    func raised(_ request: PeerRequest.Request, above time: HybridTimestamp) -> PeerRequest.Request
    {
        guard case .write(var operation, let level, let attempt) = request else { return request }
        operation.stamp = operations.source.raised(operation.stamp, above: time, at: wallTime)
        return .write(operation, level, attempt)
    }

    // MARK: Routes

    /// This node where it owns the shard and is ready; else who answered last, else the first of
    /// the owners who can be asked, else anybody who may hold a copy.
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

    /// Whether an owner that said that it could not answer is to be asked again shortly.
    func isOwnerBusy(_ id: ShardID) -> Bool {
        let now = ports.clock.milliseconds
        return owners[Int(id.number)].contains { name in
            links[name].map { !routes.isMute(name, heardAt: $0.link.heardAt, now: now) } ?? false
        }
    }

    private func mayAsk(_ name: NodeName, for id: ShardID, now: UInt64) -> Bool {
        guard let link = links[name], link.deadline(after: 0, now: now) != nil else { return false }
        return routes.mayAsk(name, for: id, heardAt: link.link.heardAt, now: now)
    }

    func tickRequests(now: UInt64) {
        routes.onTick(now: now)
        tickForwards(now: now)
        tickAnswers(now: now)
        tickLists(now: now)
        tickReadBarriers(now: now)
        tickWaits(now: now)
        tickSubscriptions(now: now)
        tickTyping()
    }

    /// Nothing comes on a connection any more.
    func onLinkLost(_ channel: UInt64, to name: NodeName) {
        let session = PeerConnection.sessionBit | channel
        for slot in pendingResponses.keys where slot.session == session {
            pendingResponses[slot] = nil
        }
        for slot in scatterGathers.keys where slot.session == session { scatterGathers[slot] = nil }
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
