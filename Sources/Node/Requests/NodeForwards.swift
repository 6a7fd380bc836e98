import CRDT
import Chat
import Replication
import Wire

/// The forwarding of clients' requests to members, and the handling of the members' responses.
extension Node {
    /// The size in bytes that is counted for a forward in addition to its texts.
    private static let forwardBytes = 256
    /// Queues a request for another member; the request is sent at the end of the node's turn.
    ///
    /// - Returns: `awaited`, or the failure `overloaded` if too many forwards are queued.
    func forward(_ request: PeerRequest.Request, of shard: ShardID, for slot: ReplySlot) -> Reply {
        guard !forwards.isFull else { return .here(.failed(.overloaded), isSettled: true) }
        forwards.add(
            Forward(
                request, of: shard, for: slot, size: Node.forwardBytes + request.textBytes,
                now: ports.clock.milliseconds),
            as: takeCallNumber())
        return .awaited
    }

    func takeCallNumber() -> UInt64 {
        defer { nextCall += 1 }
        return nextCall
    }

    /// Sends the waiting forwards to the members that can answer them, and executes the forwards
    /// that this node can answer by now.
    func sendForwards() {
        guard !forwards.isEmpty else { return }
        for shard in forwards.waitingShards { sendForwards(of: shard) }
    }

    private func sendForwards(of id: ShardID) {
        switch route(of: id) {
        case .nobody:
            return
        case .here(let shard):
            resume(takeCaughtUp(of: id, for: nil, .here), in: shard)
        case .member(let name):
            guard let channel = links[name]?.channel.id else { return }
            let numbers = takeCaughtUp(of: id, for: name, .member(channel: channel))
            let sent = numbers.prefix { send($0, to: name) }
            guard sent.count < numbers.count else { return }
            forwards.putBack(Array(numbers[sent.count...]), of: id)
            routes.noteMute(name, now: ports.clock.milliseconds)
        }
    }

    /// Gives up the waiting forwards of sessions that have ended.
    ///
    /// The session vector of an ended session is lost, so no replica can be compared with it: a
    /// replica could execute a write without having the message that the write answers.
    private func dropAbandoned(of id: ShardID) {
        for forward in forwards.removeWaiting(of: id, where: { sinks[$0] == nil }) {
            finish(forward, forward.outcome(of: .unreachable), nil)
        }
    }

    /// Removes and returns the waiting forwards of a shard whose sessions this replica may answer
    /// without a read barrier.
    ///
    /// The other forwards wait until a read barrier finds that the replica has caught up with their
    /// sessions.
    ///
    /// - Parameter name: the member with the replica; nil for this node.
    private func takeCaughtUp(
        of id: ShardID, for name: NodeName?, _ replica: SessionVector.ObservedReplica
    ) -> [UInt64] {
        dropAbandoned(of: id)
        let numbers = forwards.takeWaiting(of: id, for: name)
        var levels: [UInt64: Bool] = [:]
        let level = numbers.filter { number in
            guard let session = forwards[number]?.slot.session else { return true }
            let isCaughtUp = levels[session] ?? isCaughtUp(session, id, with: replica)
            levels[session] = isCaughtUp
            return isCaughtUp
        }
        guard level.count < numbers.count else { return level }
        let taken = Set(level)
        let held = numbers.filter { !taken.contains($0) }
        for number in held { forwards.update(number) { $0.failure = $0.failure ?? .behind } }
        forwards.putBack(held, of: id)
        return level
    }

    private func send(_ number: UInt64, to name: NodeName) -> Bool {
        guard let forward = forwards[number] else { return true }
        let round = forwards.round(of: forward.shard)
        let isSent = ask(
            name, operations.naming(forward.next, on: forward.shard), as: number, round,
            within: Forwards.patienceMilliseconds)
        guard isSent else { return false }
        debug("asked peer=\(name) ask=\(number) shard=\(forward.shard)")
        forwards.noteSent(number, to: name, now: ports.clock.milliseconds)
        return true
    }

    /// Sends a request to a member.
    ///
    /// If too much data waits for a member, no request is sent to it before a frame of the member
    /// arrives, since the member may be dead and another owner may answer.
    ///
    /// - Parameter milliseconds: how long the member may take until it has to refuse the request.
    /// - Returns: false if there is no connection, the member's clock is unknown, or too much data
    ///   waits for the member already.
    func ask(
        _ name: NodeName, _ request: PeerRequest.Request, as number: UInt64, _ round: UInt64 = 0,
        within milliseconds: UInt64
    ) -> Bool {
        let now = ports.clock.milliseconds
        guard let deadline = links[name]?.deadline(after: milliseconds, now: now) else {
            return false
        }
        let request = PeerRequest(
            number: number, round: round, deadline: deadline, request: request)
        if links[name]?.send(.request(request)) ?? false { return true }
        if !isFullMemberAsked { routes.noteMute(name, now: now) }
        return false
    }

    /// Whether requests are still sent to a member for which too much data waits.
    ///
    /// The seed that finds the planted bug `replayAheadOfTold` was found with this behaviour.
    var isFullMemberAsked: Bool {
        #if PlantedBugs
            return PlantedBug.replayAheadOfTold.isOn
        #else
            return false
        #endif
    }

    /// Executes forwards that have waited for a member, in a shard of this node.
    private func resume(_ numbers: [UInt64], in shard: Shard) {
        let resumed = numbers.compactMap { number -> (ReplySlot, Completion, isSettled: Bool)? in
            guard let forward = forwards.remove(number) else { return nil }
            tally.forwardsResumed += 1
            var (outcome, isSettled) = carryOut(forward.next, in: shard, for: forward.slot)
            sinks[forward.slot.session]?.onSeen([seen(of: shard, in: outcome)])
            if case .failed(let failure) = outcome { outcome = forward.outcome(of: failure) }
            noteUnsettled(forward, outcome)
            return (forward.slot, outcome, isSettled)
        }
        // A session may send its next request as soon as it has a reply, so all forwards are
        // executed before the first reply.
        for (slot, outcome, isSettled) in resumed { keep(outcome, isSettled, for: slot) }
    }

    /// Returns what a result from this node's shard shows to a session: for a write, only the
    /// replica that executed it; for other requests, also the replica's vector.
    private func seen(of shard: Shard, in outcome: Completion) -> Observation {
        if case .written = outcome { return Observation(shard.id, nil, by: .here) }
        return observation(of: shard)
    }

    // MARK: Answers

    func onResponse(_ response: PeerResponse, from name: NodeName) {
        observe(response.time)
        if let place = barrierCalls[response.number] {
            return onCaughtUp(response, at: place, from: name)
        }
        if let list = shardCalls[response.number] {
            return onShardResponse(response, list, from: name)
        }
        if let asked = copyCalls[response.number] { return onCounted(response, asked) }
        guard let forward = forwards[response.number] else { return }
        switch response.outcome {
        case .written(let receipt, let stored):
            // The result counts even from a member that was given up, since the write is done.
            guard case .write = forward.request else { return }
            if let replica = observedReplica(of: name) {
                sinks[forward.slot.session]?.onSeen([Observation(forward.shard, nil, by: replica)])
            }
            finishForward(response.number, with: .written(receipt, in: forward.shard), stored)
        case _ where forward.target != name || forward.round != response.round:
            return
        case .taken:
            forwards.update(response.number) {
                $0.isTaken = true
                $0.heardAt = ports.clock.milliseconds
            }
        case .found(let findings, let part, let isLast):
            guard part == forward.parts else { return }
            reportSeen(response, from: name, for: forward)
            appendPart(findings, isLast: isLast, for: response.number)
        case .failed(.stale(let time)):
            raise(response.number, on: forward, above: time)
        // A node of an earlier version does not support blocks; asking another member would not
        // help.
        case .failed(.unsupported) where forward.request.asks(BlocksQuery.self):
            finishForward(response.number, with: .failed(.unsupported), nil)
        case .failed(let failure) where failure.isOfItsMember:
            pass(response.number, on: forward, because: failure)
        case .failed(let failure):
            reportSeen(response, from: name, for: forward)
            finishForward(response.number, with: forward.outcome(of: failure), nil)
        case .notOwner:
            pass(response.number, on: forward, because: nil)
        case .listed, .copies, .level, .large:
            return
        }
    }

    private func reportSeen(_ response: PeerResponse, from name: NodeName, for forward: Forward) {
        guard let seen = response.seen.first, seen.shard == forward.shard,
            let channel = links[name]?.channel.id
        else { return }
        sinks[forward.slot.session]?.onSeen([Observation(seen, byMemberAt: channel)])
    }

    /// Returns whether one more part of an incomplete response may be kept in memory; always true
    /// if no other response has parts in memory.
    ///
    /// - Parameter own: how many parts of the same response are in memory already.
    func hasCapacity(forPartBehind own: Int) -> Bool {
        let held =
            forwards.partsCount + shardCalls.values.reduce(0) { $0 + $1.found.count }
            + scatterGathers.values.reduce(0) { $0 + $1.parts }
        return held < Forwards.partsHeldMax || held == own
    }

    private func appendPart(_ part: AnyFindings, isLast: Bool, for number: UInt64) {
        guard let forward = forwards[number], forward.parts < Forwards.partsMax,
            case .read(let query, _) = forward.request, query.isAnswered(by: part)
        else { return }
        guard isLast || hasCapacity(forPartBehind: forward.parts) else {
            return finishForward(number, with: .failed(.overloaded), nil)
        }
        var found = forward.found ?? part
        if forward.found != nil { _ = found.append(part) }
        guard !isLast else {
            return finishForward(number, with: .found(found, isPartial: false), nil)
        }
        forwards.update(number) {
            $0.found = found
            $0.parts += 1
            $0.heardAt = ports.clock.milliseconds
        }
    }

    /// Takes back a forward that its target cannot answer, together with the forwards of the shard
    /// that the target has not reported as executed; all of them wait for another member.
    private func pass(
        _ number: UInt64, on forward: Forward, because failure: ShardFailure?
    ) {
        guard let target = forward.target else { return }
        tally.forwardsPassedOn += 1
        routes.noteRefused(target, forward.shard, now: ports.clock.milliseconds)
        forwards.update(number) { $0.failure = failure }
        forwards.takeBack(
            number, isUndone: failure?.isUndone ?? true, deniesLater: failure == nil)
    }

    /// Gives a write that its target refused as stale a greater time, and queues the write again.
    ///
    /// The target has executed neither the write nor the later forwards of the shard.
    private func raise(_ number: UInt64, on forward: Forward, above time: HybridTimestamp) {
        guard !forward.mayBeDone, forward.request.mayBeRaised,
            forward.raises < Forwards.raisesMax
        else {
            forwards.update(number) { $0.mayBeDone = true }
            return finishForward(number, with: .failed(.unanswered), nil)
        }
        let request = raised(forward.request, above: time)
        forwards.update(number) {
            $0.request = request
            $0.raises += 1
        }
        forwards.takeBack(number, isUndone: true, deniesLater: true)
    }

    private func finishForward(_ number: UInt64, with outcome: Completion, _ stored: Stored?) {
        guard let forward = forwards.remove(number) else { return }
        finish(forward, outcome, stored)
    }

    /// Sends the result of a forward to its session.
    ///
    /// A failed write that may nevertheless have been executed is recorded as unsettled, so that
    /// the session's later writes name that write.
    func finish(_ forward: Forward, _ outcome: Completion, _ stored: Stored?) {
        tally.recordCompletion(outcome)
        noteUnsettled(forward, outcome)
        finish(forward.slot, outcome, stored)
    }

    private func noteUnsettled(_ forward: Forward, _ outcome: Completion) {
        guard forward.mayBeDone, case .failed = outcome,
            case .write(let operation, _, _) = forward.request
        else { return }
        noteUnsettled(operation.stamp, on: forward.shard, for: forward.slot)
    }

    func tickForwards(now: UInt64) {
        guard !forwards.isEmpty else { return }
        for (name, shard) in forwards.takeBackOverdue(now: now) {
            noteUnanswered(by: name, for: shard, now: now)
        }
        for forward in forwards.removeHopeless(now: now) {
            finish(forward, forward.outcome(of: forward.failure ?? .unreachable), nil)
        }
    }

    /// Records that a member left a request unanswered.
    ///
    /// A member from which no frame has arrived within `patienceMilliseconds` is asked for no shard
    /// any more; a member that is only slow is not asked for this shard for a while.
    func noteUnanswered(by name: NodeName, for shard: ShardID, now: UInt64) {
        let heardAt = links[name]?.sync.heardAt ?? 0
        if now >= heardAt + Forwards.patienceMilliseconds {
            routes.noteMute(name, now: now)
        } else {
            routes.noteRefused(name, shard, now: now)
        }
    }
}

extension ShardFailure {
    /// Whether the failure is due to the member that was asked, so that another member may succeed.
    var isOfItsMember: Bool {
        switch self {
        case .refused, .stale, .untimely: false
        case .notReady, .unreachable, .unanswered, .behind, .overloaded, .clock, .store, .badFrame:
            true
        case .unsupported: true
        }
    }

    /// Whether the request has certainly not been executed: a change whose commit failed may have
    /// reached another owner before the failure.
    var isUndone: Bool {
        switch self {
        case .refused, .notReady, .behind, .overloaded, .clock, .unsupported, .stale, .untimely:
            true
        case .unreachable, .unanswered, .store, .badFrame: false
        }
    }
}

extension PeerRequest.Request {
    /// Returns whether the request is a query of this type about one partition.
    func asks<Asked: Query>(_: Asked.Type) -> Bool {
        guard case .read(let query, _) = self else { return false }
        return query.base is Asked
    }

    /// The approximate size of the texts and names of a write, in bytes; 0 for other requests.
    var textBytes: Int {
        guard case .write(let operation, _, _) = self else { return 0 }
        return operation.mutation.action.roughBytes
    }
}
