import CRDT
import Chat
import Replication
import Wire

/// Requests that others answer, on the side of who asks.
extension Node {
    /// What a forward counts for beside its texts, in bytes.
    private static let forwardBytes = 256
    /// What each of many names counts for beside its text, in bytes.
    static let nameBytes = 16
    /// What a notification that is to be noted as shown counts for, in bytes: two long names, a
    /// dot and a time.
    static let entryBytes = 192

    /// Has others answer a request; it leaves with the end of the turn.
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

    /// Sends what waits for somebody, where there is somebody.
    func sendForwards() {
        guard !forwards.isEmpty else { return }
        for shard in forwards.waitingShards { sendForwards(of: shard) }
    }

    private func sendForwards(of id: ShardID) {
        switch route(of: id) {
        case .nobody:
            return
        case .here(let shard):
            resume(takeLevel(of: id, for: nil, .here), in: shard)
        case .member(let name):
            guard let channel = links[name]?.channel.id else { return }
            let numbers = takeLevel(of: id, for: name, .member(channel: channel))
            let sent = numbers.prefix { send($0, to: name) }
            guard sent.count < numbers.count else { return }
            forwards.putBack(Array(numbers[sent.count...]), of: id)
            routes.noteMute(name, now: ports.clock.milliseconds)
        }
    }

    /// Takes out those that wait for a copy and may be answered by it as it is; the others wait
    /// until it holds what their connections have seen.
    private func takeLevel(
        of id: ShardID, for name: NodeName?, _ replica: SessionVector.ObservedReplica
    ) -> [UInt64] {
        let numbers = forwards.takeWaiting(of: id, for: name)
        var levels: [UInt64: Bool] = [:]
        let level = numbers.filter { number in
            guard let session = forwards[number]?.slot.session else { return true }
            let isLevel = levels[session] ?? isLevel(session, id, with: replica)
            levels[session] = isLevel
            return isLevel
        }
        guard level.count < numbers.count else { return level }
        let taken = Set(level)
        let held = numbers.filter { !taken.contains($0) }
        for number in held { forwards.note(number) { $0.failure = $0.failure ?? .behind } }
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

    /// - Returns: whether it is on its way.
    func ask(
        _ name: NodeName, _ request: PeerRequest.Request, as number: UInt64, _ round: UInt64 = 0,
        within milliseconds: UInt64
    ) -> Bool {
        let now = ports.clock.milliseconds
        guard let deadline = links[name]?.deadline(after: milliseconds, now: now) else {
            return false
        }
        return links[name]?.send(
            .ask(PeerRequest(number: number, round: round, deadline: deadline, request: request)))
            ?? false
    }

    /// What waited for others is answered here after all.
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
        // Whoever is told may ask again at once, so all are carried out before anybody is.
        for (slot, outcome, isSettled) in resumed { keep(outcome, isSettled, for: slot) }
    }

    /// What an answer shows of a copy here.
    private func seen(of shard: Shard, in outcome: Completion) -> Observation {
        if case .written = outcome { return Observation(shard.id, nil, by: .here) }
        return observation(of: shard)
    }

    // MARK: Answers

    func onResponse(_ told: PeerResponse, from name: NodeName) {
        observe(told.time)
        if let place = barrierCalls[told.number] { return onCaughtUp(told, at: place, from: name) }
        if let list = shardCalls[told.number] { return onShardResponse(told, list, from: name) }
        if let asked = copyCalls[told.number] { return onCounted(told, asked) }
        guard let forward = forwards[told.number] else { return }
        switch told.outcome {
        case .written(let receipt, let stored):
            // Also of who was given up: it is done there.
            guard case .write = forward.request else { return }
            note({ Observation(forward.shard, nil, by: $0) }, from: name, for: forward)
            end(told.number, with: .written(receipt, in: forward.shard), stored)
        case _ where forward.target != name || forward.round != told.round:
            return
        case .taken:
            forwards.note(told.number) {
                $0.isTaken = true
                $0.heardAt = ports.clock.milliseconds
            }
        case .found(let findings, let part, let isLast):
            guard part == forward.parts else { return }
            note(told, from: name, for: forward)
            take(findings, isLast: isLast, for: told.number)
        case .failed(.stale(let time)):
            raise(told.number, on: forward, above: time)
        case .failed(let failure) where failure.isOfItsMember:
            pass(told.number, on: forward, because: failure)
        case .failed(let failure):
            note(told, from: name, for: forward)
            end(told.number, with: forward.outcome(of: failure), nil)
        case .notOwner:
            pass(told.number, on: forward, because: nil)
        case .listed, .copies, .level:
            return
        }
    }

    private func note(_ told: PeerResponse, from name: NodeName, for forward: Forward) {
        guard let seen = told.seen.first, seen.shard == forward.shard else { return }
        note({ Observation(seen.shard, seen.vector, by: $0) }, from: name, for: forward)
    }

    private func note(
        _ observation: (SessionVector.ObservedReplica) -> Observation, from name: NodeName,
        for forward: Forward
    ) {
        guard let channel = links[name]?.channel.id else { return }
        sinks[forward.slot.session]?.onSeen([observation(.member(channel: channel))])
    }

    /// Whether one more part may wait for the rest of its answer: a long answer alone always may.
    ///
    /// - Parameter own: how many parts of the same answer wait.
    func hasRoom(forPartBehind own: Int) -> Bool {
        let held =
            forwards.partsCount + shardCalls.values.reduce(0) { $0 + $1.found.count }
            + scatterGathers.values.reduce(0) { $0 + $1.parts }
        return held < Forwards.partsHeldMax || held == own
    }

    private func take(_ part: Findings, isLast: Bool, for number: UInt64) {
        guard let forward = forwards[number], forward.parts < Forwards.partsMax,
            case .read(let query, _) = forward.request, part.answers(query)
        else { return }
        guard isLast || hasRoom(forPartBehind: forward.parts) else {
            return end(number, with: .failed(.overloaded), nil)
        }
        var found = forward.found ?? part
        if forward.found != nil { _ = found.append(part) }
        guard !isLast else { return end(number, with: .found(found, isPartial: false), nil) }
        forwards.note(number) {
            $0.found = found
            $0.parts += 1
            $0.heardAt = ports.clock.milliseconds
        }
    }

    /// Who was asked cannot do it: somebody else is asked, and for what follows of that shard.
    private func pass(
        _ number: UInt64, on forward: Forward, because failure: ShardFailure?
    ) {
        guard let target = forward.target else { return }
        tally.forwardsPassedOn += 1
        routes.noteRefused(target, forward.shard, now: ports.clock.milliseconds)
        forwards.note(number) { $0.failure = failure }
        forwards.takeBack(
            number, isUndone: failure?.isUndone ?? true, deniesLater: failure == nil)
    }

    /// What is there was written no earlier, and who was asked did nothing, nor what follows.
    private func raise(_ number: UInt64, on forward: Forward, above time: HybridTimestamp) {
        guard !forward.mayBeDone, forward.raises < Forwards.raisesMax else {
            forwards.note(number) { $0.mayBeDone = true }
            return end(number, with: .failed(.unanswered), nil)
        }
        let request = raised(forward.request, above: time)
        forwards.note(number) {
            $0.request = request
            $0.raises += 1
        }
        forwards.takeBack(number, isUndone: true, deniesLater: true)
    }

    private func end(_ number: UInt64, with outcome: Completion, _ stored: Stored?) {
        guard let forward = forwards.remove(number) else { return }
        finish(forward, outcome, stored)
    }

    /// Says what became of a forward; what may be done is named by what follows.
    func finish(_ forward: Forward, _ outcome: Completion, _ stored: Stored?) {
        tally.note(outcome)
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

    /// A member of whom nothing at all is heard is not asked for any shard; one that has much to do
    /// is spared this one.
    func noteUnanswered(by name: NodeName, for shard: ShardID, now: UInt64) {
        let heardAt = links[name]?.link.heardAt ?? 0
        if now >= heardAt + Forwards.patienceMilliseconds {
            routes.noteMute(name, now: now)
        } else {
            routes.noteRefused(name, shard, now: now)
        }
    }
}

extension ShardFailure {
    /// Whether another member may well be able to do it.
    var isOfItsMember: Bool {
        switch self {
        case .refused, .stale: false
        case .notReady, .unreachable, .unanswered, .behind, .overloaded, .clock, .store, .badFrame:
            true
        case .unsupported: true
        }
    }

    /// Whether it is certain that nothing was done: what a commit did not keep may have reached
    /// another owner.
    var isUndone: Bool {
        switch self {
        case .refused, .notReady, .behind, .overloaded, .clock, .unsupported, .stale: true
        case .unreachable, .unanswered, .store, .badFrame: false
        }
    }
}

extension PeerRequest.Request {
    /// How long its text is, in bytes.
    var textBytes: Int {
        guard case .write(let operation, _, _) = self else { return 0 }
        return switch operation.mutation.action {
        case .send(_, _, _, let text): text.utf8.count
        case .edit(_, let text): text.utf8.count
        case .create(let participants, let title):
            participants.reduce(title?.utf8.count ?? 0) { $0 + Node.nameBytes + $1.text.utf8.count }
        case .seed(_, let text): text.utf8.count
        case .setProfile, .seedProfile, .addItem, .editItem: 3 * ChatLimits.titleBytesMax
        case .device(_, .list(let entries, _)): entries.count * Node.entryBytes
        default: 0
        }
    }
}
