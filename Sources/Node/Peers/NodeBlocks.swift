import CRDT
import Chat
import Replication
import Wire

/// The requests that depend on blocks between users: a reply that shows messages leaves out those
/// of blocked senders, and no user is added to a conversation by a user whom they have blocked.
///
/// A user's blocks are stored in the user's shard, and each read decides anew which messages they
/// hide. Therefore the order in which a block and a message arrive makes no difference.
extension Node {
    /// Returns the users whom a user has blocked; nil if other nodes have to be queried.
    private func blocksHere(of user: UserID, having sessionVectors: SessionVectors) -> Blocks? {
        guard let id = shardID(of: user.text), let shard = shard(id), forwards.isIdle(id),
            sessionVectors.isCaughtUp(id, with: .here)
        else { return nil }
        let found = shard.assumeIsolated(with: user) { shard, user in
            shard.isReady ? shard.blocks(of: user) : nil
        }
        guard case .success(let blocks)? = found else { return nil }
        return blocks
    }

    // MARK: Reads

    /// Executes a query that shows messages, without messages of senders whom the user has blocked.
    func handleUnblocked(
        _ query: AnyQuery, of user: UserID, for slot: ReplySlot,
        having sessionVectors: SessionVectors
    ) -> Reply {
        guard let blocks = blocksHere(of: user, having: sessionVectors) else {
            return begin(
                BlockCheck(
                    slot: slot, user: user, request: .read(query), sessionVectors: sessionVectors))
        }
        return handle(
            filtered: query.filtered(by: BlockedSenders(of: blocks)), of: user, for: slot,
            sessionVectors)
    }

    // MARK: Writes

    /// Checks a mutation that adds users to a conversation, starts an upload, or reports the number
    /// of unread messages.
    ///
    /// - Returns: the reply to the mutation; nil if the mutation may be executed at once.
    func checkBlocks(
        of mutation: Mutation, isMinted: Bool, level: AckLevel, for slot: ReplySlot,
        having sessionVectors: SessionVectors, after unsettled: Unsettled,
        senders: inout BlockedSenders
    ) -> Reply? {
        var check = BlockCheck(
            slot: slot, user: mutation.user,
            request: .write(mutation, isMinted: isMinted, level, after: unsettled),
            sessionVectors: sessionVectors)
        let client = sinks[slot.session]?.clientKind ?? .operator
        if !mutation.guests.isEmpty, client == .accountUser {
            check.step = .accounts
            return begin(check)
        }
        if mutation.action.beginsUpload, client != .operator {
            check.step = .unsentBytes
            return begin(check)
        }
        guard mutation.action.marking == nil else {
            guard let blocks = blocksHere(of: mutation.user, having: sessionVectors) else {
                return begin(check)
            }
            senders = BlockedSenders(of: blocks)
            return nil
        }
        for guest in mutation.guests {
            guard let blocks = blocksHere(of: guest, having: sessionVectors) else {
                return begin(check)
            }
            guard blocks.contains(mutation.user) else { continue }
            guard mutation.stamp != nil else {
                return .here(.failed(.refused(.blockedByUser)), isSettled: true)
            }
            return execute(
                mutation, refusing: .blockedByUser, isMinted: isMinted, level: level, for: slot,
                having: sessionVectors, after: unsettled)
        }
        return nil
    }

    // MARK: Watchers

    /// Returns whether a watched user's blocks are known; otherwise starts a query for the blocks.
    ///
    /// This method is called after the holders of the feeds have received the watched user, so that
    /// they send the events of all later blocks.
    func areBlocksKnown(of user: UserID, for slot: ReplySlot) -> Bool {
        guard subscriptions.areBlocksUnknown(of: user) else { return true }
        guard !blockChecks.isAsked(of: user) else { return false }
        if let blocks = blocksHere(of: user, having: SessionVectors()) {
            subscriptions.note(blocks, of: user, isWhole: true)
            return true
        }
        _ = begin(
            BlockCheck(
                slot: slot, user: user, request: .watch, sessionVectors: SessionVectors()))
        return false
    }

    /// Handles an event that contains blocks of a user.
    ///
    /// - Returns: whether the event contains blocks; such an event is shown to nobody.
    func noteBlocks(_ told: AddressedEvent) -> Bool {
        guard let blocks = told.event.kind.blocks else { return false }
        for user in told.audience { subscriptions.note(blocks, of: user, isWhole: false) }
        return true
    }

    // MARK: Steps

    private func begin(_ check: BlockCheck) -> Reply {
        guard blockChecks.running.count < BlockCheck.countMax else {
            return .here(.failed(.overloaded), isSettled: true)
        }
        let id = SessionBit.blocks | takeCallNumber()
        blockChecks.add(check, as: id)
        if case .accounts = check.step, !blockChecks.addAddition(id, by: check.user) {
            return .awaited
        }
        begin(check.step, of: id, having: check.sessionVectors)
        return .awaited
    }

    /// - Parameter sessionVectors: the connection's session vectors; nil to use those of its sink.
    private func begin(
        _ step: BlockCheck.Step, of id: UInt64, having sessionVectors: SessionVectors? = nil
    ) {
        let slot = advance(id, to: step)
        guard let check = blockChecks.running[id], let (query, user) = check.question else {
            return
        }
        take(
            handle(filtered: query, of: user, for: slot, behind: check.slot, sessionVectors),
            of: id)
    }

    /// - Returns: the slot to which the step's reply is sent.
    private func advance(_ id: UInt64, to step: BlockCheck.Step) -> ReplySlot {
        guard var check = blockChecks.running[id] else { return ReplySlot(session: id, number: 0) }
        check.step = step
        check.kept = nil
        check.number += 1
        blockChecks.running[id] = check
        listen(to: check, as: id)
        return ReplySlot(session: id, number: check.number)
    }

    /// Attaches the sink of a step; only the last step's observations count as seen by the client.
    private func listen(to check: BlockCheck, as id: UInt64) {
        let sink = StepSink(
            self, for: sinks[check.slot.session], at: check.slot.number,
            isShown: check.isExecuting
        ) { $0.onBlockStep(of: id, $1, $2) }
        attach(sink, as: id)
    }

    /// Handles the reply to a step.
    private func take(_ reply: Reply, of id: UInt64) {
        guard case .here(let outcome, let isSettled) = reply else { return }
        blockChecks.running[id]?.kept = outcome
        // The client's session first receives the reply that its request is waiting.
        if isSettled { blockChecks.settled.append(id) }
        turnAgain()
    }

    /// Handles the reply to the request itself, and records what a replica of this node showed.
    ///
    /// - Parameter partition: the partition key whose shard was queried; nil for all shards.
    private func take(_ reply: Reply, in partition: String?, of id: UInt64) {
        if case .here(let outcome, _) = reply {
            if outcome.showsCopy {
                sinks[id]?.onSeen(observations(of: partition))
            } else if case .written(_, let shard) = outcome {
                sinks[id]?.onSeen([Observation(shard, nil, by: .here)])
            }
        }
        take(reply, of: id)
    }

    /// Continues, at the end of a turn, the checks whose step was answered at once.
    func settleBlockChecks() {
        while !blockChecks.settled.isEmpty || !blockChecks.ready.isEmpty {
            for id in blockChecks.takeReady() {
                if let check = blockChecks.running[id] { begin(check.step, of: id) }
            }
            let settled = blockChecks.settled
            blockChecks.settled = []
            for id in settled {
                guard let kept = blockChecks.running[id]?.kept else { continue }
                goOn(id, with: kept, nil)
            }
        }
    }

    private func onBlockStep(of id: UInt64, _ number: UInt64, _ result: ReplyResult) {
        guard let check = blockChecks.running[id], check.number == number else { return }
        switch result {
        case .answered(let outcome, let stored): goOn(id, with: outcome, stored)
        case .stored(let stored):
            if let kept = check.kept { goOn(id, with: kept, stored) }
        case .failed(let failure): goOn(id, with: .failed(.store(failure)), nil)
        default: preconditionFailure("a step is a read or a write")
        }
    }

    private func goOn(_ id: UInt64, with outcome: Completion, _ stored: Stored?) {
        guard let check = blockChecks.running[id] else { return }
        turnAgain()
        guard !check.isExecuting else { return end(id, outcome, stored) }
        guard !outcome.forbidsGuessing || check.isOfWatcher else { return end(id, outcome, nil) }
        switch check.step(after: outcome) {
        case .success(.execution): execute(check, id, knowing: outcome)
        case .success(let step): begin(step, of: id)
        case .failure(let refusal): refuse(check, id, with: refusal)
        }
    }

    /// Executes the client's request after its check.
    ///
    /// - Parameter outcome: the result of the query for the blocks.
    private func execute(_ check: BlockCheck, _ id: UInt64, knowing outcome: Completion) {
        if let blockers: [UserID] = outcome.findings(), !blockers.isEmpty {
            return refuse(check, id, with: .blockedByUser)
        }
        let slot = advance(id, to: .execution)
        switch check.request {
        case .read(let query):
            let senders = senders(blockedBy: check.user, by: outcome)
            take(
                handle(
                    filtered: query.filtered(by: senders), of: check.user, for: slot,
                    behind: check.slot, nil), in: query.partition, of: id)
        case .write(let mutation, let isMinted, let level, let unsettled):
            let senders =
                mutation.action.marking == nil ? .none : senders(blockedBy: check.user, by: outcome)
            take(
                execute(
                    mutation, without: senders, isMinted: isMinted, level: level, for: slot,
                    having: nil, after: unsettled),
                in: mutation.partition, of: id)
        case .watch:
            end(id)
            guard let blocks: Blocks = outcome.findings() else {
                let known = blockChecks.senders(blockedBy: check.user)
                return subscriptions.hideKnown(known, from: check.user)
            }
            subscriptions.note(blocks, of: check.user, isWhole: true)
            subscriptions.isLost = true
        }
    }

    /// Refuses a request, unless it is a client's operation that the shard has recorded already.
    private func refuse(_ check: BlockCheck, _ id: UInt64, with refusal: Refusal) {
        guard case .write(let mutation, let isMinted, let level, let unsettled) = check.request,
            mutation.stamp != nil
        else { return end(id, .failed(.refused(refusal)), nil) }
        let slot = advance(id, to: .execution)
        take(
            execute(
                mutation, refusing: refusal, isMinted: isMinted, level: level, for: slot,
                having: nil, after: unsettled),
            in: mutation.partition, of: id)
    }

    /// Ends a check with the reply to its request.
    private func end(_ id: UInt64, _ outcome: Completion, _ stored: Stored?) {
        guard let slot = blockChecks.running[id]?.slot else { return }
        end(id)
        finish(slot, outcome, stored)
    }

    private func end(_ id: UInt64) {
        blockChecks.remove(id)
        if !blockChecks.ready.isEmpty { turnAgain() }
        sinks[id] = nil
        forgetReadBarriers(of: id)
    }

    /// Ends the checks of a connection that was closed.
    func endBlockChecks(of session: UInt64) {
        for id in blockChecks.ids(of: session) { end(id) }
    }

    /// Returns the blocked senders of a user from the result of the query for blocks; if the query
    /// failed, the senders known last.
    private func senders(blockedBy user: UserID, by outcome: Completion) -> BlockedSenders {
        guard let blocks: Blocks = outcome.findings() else {
            return blockChecks.senders(blockedBy: user)
        }
        #if PlantedBugs
            if PlantedBug.blocksNotAsked.isOn { return .none }
        #endif
        let senders = BlockedSenders(of: blocks)
        blockChecks.note(senders, blockedBy: user)
        return senders
    }
}

extension Completion {
    /// Whether the failure of the query for blocks makes the request fail, too, because a node that
    /// has the blocks is reachable, or because the connection has seen changes that the node lacks.
    var forbidsGuessing: Bool {
        guard case .failed(let failure) = self else { return false }
        return switch failure {
        case .unreachable, .unanswered, .notReady, .unsupported: false
        default: true
        }
    }
}
