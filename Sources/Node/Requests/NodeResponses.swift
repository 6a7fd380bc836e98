import CRDT
import Chat
import Replication
import StorePort
import Wire

/// The outcome of a request whose reply waits until the changes that it depends on are stored.
struct PendingResponse: Sendable {
    let outcome: Completion
    /// The round of the member's request; 0 for a client.
    let round: UInt64
    let since: UInt64
    /// The state of the replica whose content the reply shows; set for members only.
    var seen: [ObservedShard] = []
    /// Whether `taken` was sent to the member.
    var isTaken = false

    /// The greatest number of pending responses; a further request of a member is refused, so that
    /// the member asks another owner.
    static let countMax = 131_072
    /// The time after which `taken` is sent to a member whose request waits for disks, in
    /// milliseconds; the member asks another owner only later.
    static let takenMilliseconds: UInt64 = 200
}

/// The refusal of all requests of one member for a shard up to a round.
struct Redirect: Sendable {
    let round: UInt64
    let until: UInt64

    /// How long a refusal stays in force, in milliseconds.
    ///
    /// Requests that the member sent before it received the refusal reach their deadlines earlier.
    static let milliseconds: UInt64 = 1_000
}

/// The key of a redirect: the session number of a member, and a shard.
struct RequestedShard: Hashable, Sendable {
    let session: UInt64
    let shard: ShardID
}

/// Requests of other members, and replies to members and clients.
extension Node {
    func onRequest(_ request: PeerRequest, from connection: PeerConnection) {
        let slot = ReplySlot(session: connection.session, number: request.number)
        let now = ports.clock.milliseconds
        let isLate = now > request.deadline
        if isLate { connection.tellClock(now: now, isMistaken: true) }
        let isWelcome =
            !isLate && pendingResponses.count + scatterGathers.count < PendingResponse.countMax
        switch request.request {
        case .write(let operation, _, _):
            answer(request, in: operation.mutation.partition, for: slot, isWelcome)
        case .read(let query, _):
            if let partition = query.partition {
                answer(request, in: partition, for: slot, isWelcome)
            } else {
                sendResponse(.notOwner, to: slot, request.round)
            }
        case .list(let query, let user, let shards, let bytesMax):
            if isWelcome, query.partition == nil {
                list(query, of: user, in: shards, upTo: bytesMax, for: slot)
            } else {
                sendResponse(.notOwner, to: slot)
            }
        case .copies(let id, let vector, let forToken):
            guard let shard = shard(id), shard.assumeIsolated({ $0.isReady }) else {
                sendResponse(.notOwner, to: slot)
                return
            }
            if forToken, isWelcome { return count(vector, of: shard, forTokenAt: slot) }
            sendResponse(.copies(shard.assumeIsolated { $0.copies(of: vector) }), to: slot)
        case .unknown: sendResponse(.failed(.unsupported), to: slot, request.round)
        case .level(let id, let constraint):
            if isWelcome, shard(id)?.assumeIsolated({ $0.mayAnswer }) ?? false {
                level(id, constraint, for: .member(slot))
            } else {
                sendResponse(.notOwner, to: slot)
            }
        }
    }

    private func answer(
        _ request: PeerRequest, in partition: String, for slot: ReplySlot, _ isWelcome: Bool
    ) {
        guard let id = shardID(of: partition) else { return }
        let place = RequestedShard(session: slot.session, shard: id)
        let isDenied = redirects[place].map { request.round <= $0.round } ?? false
        guard isWelcome, !isDenied, mayCarryOut(request.request), let shard = shard(id),
            shard.assumeIsolated({ $0.mayAnswer })
        else {
            deny(request, at: place)
            sendResponse(.notOwner, to: slot, request.round)
            return
        }
        let (outcome, isSettled) = execute(request.request, in: shard, for: slot)
        // The member repeats the request with a greater time, before the requests that followed it.
        if case .failed(.stale) = outcome { deny(request, at: place) }
        var seen: [ObservedShard] = []
        if outcome.showsCopy {
            seen = [ObservedShard(shard: id, vector: shard.assumeIsolated { $0.vector })]
        }
        keep(outcome, isSettled, for: slot, request.round, seen: seen)
    }

    /// Returns whether this node's clock is right or the request is not a write.
    private func mayCarryOut(_ request: PeerRequest.Request) -> Bool {
        if case .write = request { clusterTime.refusedOffset == nil } else { true }
    }

    private func deny(_ request: PeerRequest, at place: RequestedShard) {
        redirects[place] = Redirect(
            round: request.round, until: ports.clock.milliseconds + Redirect.milliseconds)
    }

    // MARK: Replies

    /// Replies to a request, at once or when the changes that the reply depends on are stored.
    func keep(
        _ outcome: Completion, _ isSettled: Bool, for slot: ReplySlot, _ round: UInt64 = 0,
        seen: [ObservedShard] = []
    ) {
        if seedings[slot] != nil {
            recordCompletion(outcome, isSettled, ofSeeding: slot)
        } else if isSettled {
            finish(slot, outcome, nil, round, seen: seen)
        } else {
            pendingResponses[slot] = PendingResponse(
                outcome: outcome, round: round, since: ports.clock.milliseconds, seen: seen)
        }
    }

    /// Sends an outcome to the session or the member that sent the request.
    func finish(
        _ slot: ReplySlot, _ outcome: Completion, _ stored: Stored?, _ round: UInt64 = 0,
        seen: [ObservedShard] = []
    ) {
        guard seedings[slot] == nil else { return recordCompletion(outcome, true, ofSeeding: slot) }
        guard slot.isOfMember else {
            onTypingAllowed(slot, by: outcome)
            sinks[slot.session]?.onSettled(slot.number, .answered(outcome, stored))
            return
        }
        switch outcome {
        case .written(let receipt, _):
            guard let stored else { preconditionFailure("a write is told once it is stored") }
            sendResponse(.written(receipt, stored), to: slot, round)
        case .found(let findings, _):
            sendFindings(findings, to: slot, round, seen: seen) {
                .found($0, part: $1, isLast: true)
            }
        case .failed(let failure):
            sendResponse(.failed(failure), to: slot, round, seen: seen)
        case .done: preconditionFailure("members are asked for one write at a time")
        }
    }

    /// Sends findings to a member in parts.
    ///
    /// - Parameter last: creates the last part from its findings and its index.
    func sendFindings(
        _ findings: AnyFindings, to slot: ReplySlot, _ round: UInt64, seen: [ObservedShard],
        last: (AnyFindings, Int) -> PeerResponse.Completion
    ) {
        let parts = findings.split()
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            let outcome =
                isLast ? last(part, index) : .found(part, part: index, isLast: false)
            guard sendResponse(outcome, to: slot, round, seen: isLast ? seen : []) else { return }
        }
    }

    /// - Returns: false if too much data waits for the member already, so that a refusal was sent
    ///   instead of the response.
    @discardableResult
    func sendResponse(
        _ outcome: PeerResponse.Completion, to slot: ReplySlot, _ round: UInt64 = 0,
        seen: [ObservedShard] = []
    ) -> Bool {
        guard let connection = links[channel: slot.session & ~SessionBit.peer] else {
            return false
        }
        var seen = seen
        for index in seen.indices {
            let vector = seen[index].vector
            seen[index].awaitsMajority =
                shard(seen[index].shard)?.assumeIsolated { $0.awaitsMajority(vector) } ?? false
        }
        let response = PeerResponse(
            number: slot.number, round: round, outcome: outcome, seen: seen,
            time: latestTime)
        if connection.sendResponse(response) { return true }
        let refusal = PeerResponse(number: slot.number, round: round, outcome: .failed(.overloaded))
        if !connection.refuse(refusal), !connection.isGivenUp {
            connection.isGivenUp = true
            ports.host.log(
                .warn,
                "connection closed: the member does not read its responses peer=\(connection.name)")
            connection.channel.close()
        }
        return false
    }

    /// Sends the replies whose changes have been stored.
    func settle(_ settled: [(ReplySlot, Stored)]) {
        guard !settled.isEmpty else { return }
        var replies: [(slot: ReplySlot, stored: Stored)] = []
        replies.reserveCapacity(settled.count)
        for (slot, stored) in settled {
            if !operations.ofClients.isEmpty { operations.ofClients[slot] = nil }
            if seedings[slot] != nil {
                onSettled(seeding: slot, nil)
            } else if scatterGathers[slot] != nil {
                onShardSettled(slot)
            } else if !pendingResponses.isEmpty,
                let pendingResponse = pendingResponses.removeValue(forKey: slot)
            {
                finish(
                    slot, pendingResponse.outcome, stored, pendingResponse.round,
                    seen: pendingResponse.seen)
            } else {
                onTypingAllowed(slot)
                replies.append((slot, stored))
            }
        }
        sendReplies(replies)
    }

    /// Passes to each session all of its replies with stored changes in one call.
    private func sendReplies(_ replies: [(slot: ReplySlot, stored: Stored)]) {
        let replies = replies.sorted { precedes($0.slot, $1.slot) }
        var start = 0
        while start < replies.count {
            let session = replies[start].slot.session
            let end =
                replies[start...].firstIndex { $0.slot.session != session } ?? replies.endIndex
            sinks[session]?.onStored(replies[start..<end])
            start = end
        }
    }

    /// Fails the replies of a shard after a failed commit; a co-owner may have stored the changes.
    func fail(_ slots: [ReplySlot], of shard: ShardID, because failure: StoreFailure) {
        for slot in slots {
            let ofClient = operations.ofClients.removeValue(forKey: slot)
            if !slot.isOfMember, let last = ofClient ?? operations.source.last {
                noteUnsettled(last, on: shard, for: slot)
            }
            guard seedings[slot] == nil else {
                onSettled(seeding: slot, .store(failure))
                continue
            }
            endGather(slot)
            let round = pendingResponses.removeValue(forKey: slot)?.round ?? 0
            if slot.isOfMember {
                sendResponse(.failed(.store(failure)), to: slot, round)
            } else {
                typing.asked[slot] = nil
                sinks[slot.session]?.onSettled(slot.number, .failed(failure))
            }
        }
    }

    /// Records that the reply to a client will report that its operation may have been executed.
    ///
    /// - Parameter last: the client's operation, or a later operation of this process.
    func noteUnsettled(_ last: Stamp, on shard: ShardID, for slot: ReplySlot) {
        operations.noteUnsettled(last.time, on: shard)
        sinks[slot.session]?.onUnsettled(last)
        subscriptions.updateWatcher(slot.session) { $0.unsettled.insertOperation(last) }
    }

    func tickAnswers(now: UInt64) {
        if !redirects.isEmpty { redirects = redirects.filter { now < $1.until } }
        func isSlow(_ since: UInt64) -> Bool { now >= since + PendingResponse.takenMilliseconds }
        let latePendingResponses = pendingResponses.filter {
            $0.isOfMember && !$1.isTaken && isSlow($1.since)
        }
        for slot in latePendingResponses.keys.sorted(by: precedes) {
            pendingResponses[slot]?.isTaken = true
            sendResponse(.taken, to: slot, pendingResponses[slot]?.round ?? 0)
        }
        let lateLists = scatterGathers.filter { $0.isOfMember && !$1.isTaken && isSlow($1.since) }
        for slot in lateLists.keys.sorted(by: precedes) {
            scatterGathers[slot]?.isTaken = true
            sendResponse(.taken, to: slot)
        }
    }

    func precedes(_ left: ReplySlot, _ right: ReplySlot) -> Bool {
        (left.session, left.number) < (right.session, right.number)
    }
}

extension Completion {
    /// Whether the outcome shows the content of a replica.
    package var showsCopy: Bool {
        switch self {
        case .written(let receipt, _): receipt.unread != nil
        case .found, .failed(.refused): true
        case .failed, .done: false
        }
    }
}

extension ReplySlot {
    /// Whether the reply belongs to another member and not to a client of this node.
    var isOfMember: Bool { session & SessionBit.peer != 0 }
}
