import Chat
import Replication
import Wire

/// A user's list on its way together: shards held here, and what others answer for the rest.
struct Gathering: Sendable {
    let query: Query
    let user: UserID
    private(set) var findings: Findings?
    /// How many shards here have shown what is not on disk yet.
    var unsettled = 0
    /// How many members are asked.
    var asks = 0
    /// The shards that nobody could be asked for.
    var missing: [ShardID] = []

    init(_ query: Query, of user: UserID) {
        self.query = query
        self.user = user
    }

    var isOver: Bool { unsettled == 0 && asks == 0 }

    /// - Returns: false where it is no answer to the query.
    mutating func take(_ part: Findings) -> Bool {
        guard var findings else {
            findings = part
            return true
        }
        guard findings.append(part) else { return false }
        self.findings = findings
        return true
    }

    /// The list, without those of the missing shards.
    var outcome: Outcome {
        guard let findings else { return .failed(.unreachable) }
        return .found(findings.gathered, isPartial: !missing.isEmpty)
    }
}

/// What a member was asked for of a list.
struct ListAsk: Sendable {
    /// The list.
    let slot: ReplySlot
    let target: NodeName
    let shards: [ShardID]
    let sentAt: UInt64
    /// Whether somebody else was asked for these before.
    let isSecond: Bool
    var found: [Findings] = []
}

extension Node {
    /// Asks whoever answers for each shard for its part of a user's list.
    ///
    /// A shard that nobody can answer for leaves its part out; where none can be asked, or where
    /// the disk fails, there is no list.
    func gather(_ query: Query, for user: UserID, slot: ReplySlot) -> Handling {
        guard let cluster else { return .here(.failed(.notReady), isSettled: true) }
        var gathering = Gathering(query, of: user)
        let all = (0..<cluster.shards).map { ShardID($0) }
        if let failure = collect(all, into: &gathering, for: slot, isSecond: false) {
            return .here(.failed(failure), isSettled: true)
        }
        guard !gathering.isOver else { return .here(gathering.outcome, isSettled: true) }
        gatherings[slot] = gathering
        return .awaited
    }

    /// Takes the parts of what is held here, and asks for the others.
    ///
    /// - Returns: why there is no list at all, if so.
    private func collect(
        _ shards: [ShardID], into gathering: inout Gathering, for slot: ReplySlot, isSecond: Bool
    ) -> ShardFailure? {
        var shares: [NodeName: [ShardID]] = [:]
        for id in shards {
            switch route(of: id) {
            case .here(let shard):
                if let failure = take(shard, into: &gathering, for: slot) { return failure }
            case .member(let name): shares[name, default: []].append(id)
            case .nobody: gathering.missing.append(id)
            }
        }
        for name in shares.keys.sorted() {
            let ask = ListAsk(
                slot: slot, target: name, shards: shares[name] ?? [],
                sentAt: ports.clock.milliseconds, isSecond: isSecond)
            send(ask, of: &gathering)
        }
        return nil
    }

    private func send(_ ask: ListAsk, of gathering: inout Gathering) {
        let number = takeAskNumber()
        let request = Ask.Request.list(gathering.query, gathering.user, ask.shards)
        let isSent =
            listAsks.count < Forwards.countHigh
            && self.ask(ask.target, request, as: number, within: Forwards.patienceMilliseconds)
        guard isSent else {
            gathering.missing += ask.shards
            return
        }
        gathering.asks += 1
        listAsks[number] = ask
        ports.host.turnAgain()
    }

    /// - Returns: why there is no list at all, if so.
    private func take(
        _ shard: Shard, into gathering: inout Gathering, for slot: ReplySlot
    ) -> ShardFailure? {
        let (query, user) = (gathering.query, gathering.user)
        switch shard.assumeIsolated({ $0.answer(query, for: user, slot: slot) }) {
        case .success(let answer):
            if !answer.isSettled { gathering.unsettled += 1 }
            precondition(gathering.take(answer.findings), "shards answer one query alike")
        case .failure(let failure):
            guard failure.isPassing else { return failure }
            gathering.missing.append(shard.id)
        }
        return nil
    }

    /// A shard has on disk what it showed.
    func onShardSettled(_ slot: ReplySlot) {
        gatherings[slot]?.unsettled -= 1
        endIfGathered(slot)
    }

    private func endIfGathered(_ slot: ReplySlot) {
        guard let gathering = gatherings[slot], gathering.isOver else { return }
        gatherings[slot] = nil
        guard slot.isOfMember else { return finish(slot, gathering.outcome, nil) }
        tell(gathering, to: slot)
    }

    // MARK: For other members

    /// Answers a member's question for its part of a list out of what is held here.
    func list(_ query: Query, of user: UserID, in shards: [ShardID], for slot: ReplySlot) {
        var gathering = Gathering(query, of: user)
        guard query.conversation == nil else { return tell(.elsewhere, to: slot) }
        for id in shards {
            guard let shard = shard(id), shard.assumeIsolated({ $0.isReady || $0.isServable })
            else {
                gathering.missing.append(id)
                continue
            }
            if let failure = take(shard, into: &gathering, for: slot) {
                return tell(.failed(failure), to: slot)
            }
        }
        gatherings[slot] = gathering
        endIfGathered(slot)
    }

    private func tell(_ gathering: Gathering, to slot: ReplySlot) {
        guard let findings = gathering.findings else { return tell(.elsewhere, to: slot) }
        let parts = findings.split()
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            tell(
                isLast
                    ? .listed(part, missing: gathering.missing) : .found(part, isLast: false),
                to: slot)
        }
    }

    // MARK: Of other members

    func onListed(_ told: Told, _ ask: ListAsk, from name: NodeName) {
        guard ask.target == name else { return }
        switch told.outcome {
        case .found(let part, isLast: false) where ask.found.count < Forwards.partsMax:
            listAsks[told.number]?.found.append(part)
        case .listed(let part, let missing):
            listAsks[told.number] = nil
            take(ask.found + [part], missing: missing, of: ask)
        default:
            listAsks[told.number] = nil
            take([], missing: ask.shards, of: ask)
        }
    }

    /// A member has said what it can, or is given up.
    private func take(_ parts: [Findings], missing: [ShardID], of ask: ListAsk) {
        guard var gathering = gatherings[ask.slot] else { return }
        gathering.asks -= 1
        var missing = missing.filter(ask.shards.contains)
        for part in parts where !gathering.take(part) { missing = ask.shards }
        let now = ports.clock.milliseconds
        if ask.isSecond {
            gathering.missing += missing
        } else {
            for id in missing { routes.noteRefused(ask.target, id, now: now) }
            if let failure = collect(missing, into: &gathering, for: ask.slot, isSecond: true) {
                gatherings[ask.slot] = nil
                return finish(ask.slot, .failed(failure), nil)
            }
        }
        gatherings[ask.slot] = gathering
        endIfGathered(ask.slot)
    }

    /// A member is gone: others are asked for what it was asked.
    func onListsLost(with name: NodeName) {
        giveUp(listAsks.filter { $1.target == name })
    }

    func tickLists(now: UInt64) {
        let late = listAsks.filter { now >= $1.sentAt + Forwards.patienceMilliseconds }
        for ask in late.values { routes.noteMute(ask.target, now: now) }
        giveUp(late)
    }

    private func giveUp(_ asks: [UInt64: ListAsk]) {
        for number in asks.keys { listAsks[number] = nil }
        for (_, ask) in asks.sorted(by: { $0.key < $1.key }) {
            take([], missing: ask.shards, of: ask)
        }
    }
}

extension ShardFailure {
    /// Whether it is over shortly, so that a list without that shard is better than none.
    var isPassing: Bool {
        switch self {
        case .notReady, .unreachable, .unanswered, .overloaded, .store(.badRecord): true
        case .refused, .badFrame, .store(.full), .store(.failed): false
        }
    }
}
