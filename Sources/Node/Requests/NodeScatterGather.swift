import Chat
import Replication
import StorePort
import Wire

/// A user's list that is being assembled from this node's shards and from members' answers.
struct ScatterGather: Sendable {
    let query: AnyQuery
    let user: UserID
    /// When the list was begun, in milliseconds.
    var since: UInt64
    /// Whether `taken` was sent to the member that requested the list.
    var isTaken = false
    /// The greatest size in bytes at which the list is sent to a member at once; nil for any size.
    var bytesMax: Int?
    private(set) var findings: AnyFindings?
    /// The number of parts from answers with several parts; single-part answers do not count.
    private(set) var parts = 0
    /// The states of the replicas that the list was read from.
    var seen: [Observation] = []
    /// The number of this node's shards whose part shows changes that are not on disk yet.
    var unsettled = 0
    /// The number of calls to members that have not been answered.
    var asks = 0
    /// Whether memory is reserved by the sizes of the parts, not by an estimate for any list.
    var isEstimateDropped = false
    /// Whether memory has been reserved for a part of known size or for the whole list.
    var hasMemory = false
    /// Whether the whole list waits for memory and has no parts.
    var isPutOff = false
    /// How often all parts of the list were dropped.
    var attempt = 0
    /// The shards of this node that are still to be read, and the reading of the first of them.
    var unread: ArraySlice<ShardID> = []
    var reading: ListReading?
    /// The number of this node's shards that were read, and the size of their parts in bytes.
    var shardsRead = 0
    var bytesRead = 0
    /// The memory that is reserved for this node's part of the list, in bytes.
    var bytesReserved = 0
    /// Whether the list is queued in `ListTurns`.
    var isQueued = false
    /// The shards that are requested again at the next tick, because their owner is busy or its
    /// replica lacks changes that the connection has seen.
    var later: [ShardID] = []
    /// The shards for which no member could be asked.
    var missing: [ShardID] = []

    /// How long missing shards are requested again, in milliseconds.
    static let patienceMilliseconds: UInt64 = 1_000

    init(_ query: AnyQuery, of user: UserID, now: UInt64) {
        self.query = query
        self.user = user
        since = now
    }

    var isOver: Bool { unsettled == 0 && !isGathering }

    /// Whether parts are still to be read, by this node or by members.
    var isGathering: Bool { asks > 0 || !later.isEmpty || !unread.isEmpty || isPutOff }

    /// The size of this node's part of the list in bytes, estimated from the documents that were
    /// read; nil if no document was read.
    var bytesEstimated: Int? {
        let thousandths = 1_000 * shardsRead + (reading?.thousandths ?? 0)
        guard thousandths > 0 else { return nil }
        let bytes = bytesRead + (reading?.bytes ?? 0)
        return bytes * 1_000 * (shardsRead + unread.count) / thousandths
    }

    /// Schedules a new request for shards at the next tick, unless it is too late.
    mutating func postpone(_ shards: [ShardID], now: UInt64) {
        if isLate(now) { missing += shards } else { later += shards }
    }

    /// Returns whether it is too late to ask other members for missing shards.
    func isLate(_ now: UInt64) -> Bool { now >= since + ScatterGather.patienceMilliseconds }

    /// - Returns: false if the findings do not answer the query.
    mutating func appendPart(_ part: AnyFindings, isOfMany: Bool = false) -> Bool {
        guard query.isAnswered(by: part) else { return false }
        if isOfMany { parts += 1 }
        if findings?.append(part) == nil { findings = part }
        return true
    }

    /// Records that a shard contains nothing that the query finds.
    mutating func appendNothing() {
        if findings == nil { findings = query.nothing }
    }

    /// The completed list, without the parts of the missing shards.
    var outcome: Completion {
        guard let findings else { return .failed(.unreachable) }
        return .found(findings.gathered, isPartial: !missing.isEmpty)
    }
}

extension Node {
    /// Executes a list once all earlier requests of its connection are done, since the list has to
    /// show their effects.
    ///
    /// - Parameter place: the client's request to which the list belongs; if this is another slot,
    ///   the session vectors are checked when the list is begun.
    func list(
        _ query: AnyQuery, of user: UserID, for slot: ReplySlot, behind place: ReplySlot,
        having sessionVectors: SessionVectors?
    ) -> Reply {
        let isHeld =
            place != slot || forwards.firstSlot(of: place.session) != nil
            || deferredQueries[place.session] != nil
            || sessionVectors.map(areCaughtUp) == false
        guard isHeld else { return gather(query, for: user, slot: slot, isCaughtUp: true) }
        let list = DeferredQuery(query: query, user: user, slot: slot, place: place.number)
        deferredQueries[place.session, default: []].append(list)
        return .awaited
    }

    /// Returns whether later requests of the connection have to wait, because a list is still being
    /// read or a check of blocks has not ended.
    ///
    /// The list would show the effects of later writes.
    package func isGathering(_ slot: ReplySlot) -> Bool {
        if let scatterGather = scatterGathers[slot] {
            return scatterGather.isGathering
        }
        return blockChecks.isRunning(slot)
            || deferredQueries[slot.session]?.contains { $0.slot == slot } ?? false
    }

    private func areCaughtUp(_ sessionVectors: SessionVectors) -> Bool {
        sessionVectors.shards.allSatisfy { mayAnswer($0, having: sessionVectors) }
    }

    /// Returns whether the answering replica of a shard contains what the connection has seen.
    private func mayAnswer(_ id: ShardID, having sessionVectors: SessionVectors) -> Bool {
        switch route(of: id) {
        case .here: sessionVectors.isCaughtUp(id, with: .here)
        case .member(let name):
            links[name].map { sessionVectors.isCaughtUp(id, with: .member(channel: $0.channel.id)) }
                ?? true
        case .nobody: true
        }
    }

    /// The number of calls that are outstanding, or wait for memory.
    private var callsOpen: Int { shardCalls.count + largeLists.partCount }

    /// Whether so many requests wait for other members that this node stops reading from clients.
    var isMuchAsked: Bool { forwards.isHigh || callsOpen >= ShardCall.countHigh }

    /// Whether so few requests wait for other members that reading from clients resumes.
    var isLittleAsked: Bool { forwards.isLow && callsOpen < ShardCall.countHigh / 2 }

    /// Continues lists, and begins the deferred lists that wait for no earlier request.
    func startLists() {
        continueLists()
        guard !deferredQueries.isEmpty else { return }
        var ready: [(session: UInt64, list: DeferredQuery)] = []
        for session in deferredQueries.keys.sorted() {
            let first = forwards.firstSlot(of: session) ?? .max
            let begun = (deferredQueries[session] ?? []).prefix { $0.place < first }
            ready += begun.map { (session, $0) }
        }
        let time = TurnTime(TurnTime.ofLists, on: ports.clock)
        var isFirst = true
        for (session, list) in ready.sorted(by: { $0.list.place < $1.list.place }) {
            guard isFirst || !time.isOver else { return ports.host.turnAgain() }
            isFirst = false
            deferredQueries[session]?.removeFirst()
            if deferredQueries[session]?.isEmpty ?? false { deferredQueries[session] = nil }
            switch gather(list.query, for: list.user, slot: list.slot, isCaughtUp: false) {
            case .awaited: break
            case .here(let outcome, let isSettled):
                if outcome.showsCopy {
                    sinks[list.slot.session]?.onSeen(observations(of: nil))
                }
                keep(outcome, isSettled, for: list.slot)
            }
        }
    }

    /// Collects a user's list from the nodes that answer for the shards.
    ///
    /// A shard for which no node can answer is left out. If no node can answer for any shard, or if
    /// the disk fails, the list fails.
    ///
    /// - Parameter isCaughtUp: whether the answering nodes contain what the connection has seen.
    private func gather(
        _ query: AnyQuery, for user: UserID, slot: ReplySlot, isCaughtUp: Bool
    ) -> Reply {
        guard let cluster else { return .here(.failed(.notReady), isSettled: true) }
        var scatterGather = ScatterGather(query, of: user, now: ports.clock.milliseconds)
        let shards = query.shards(of: cluster.shards)
        if let failure = collect(shards, into: &scatterGather, for: slot, isCaughtUp: isCaughtUp) {
            return .here(.failed(failure), isSettled: true)
        }
        guard !scatterGather.isOver else { return .here(scatterGather.outcome, isSettled: true) }
        keep(scatterGather, for: slot)
        return .awaited
    }

    /// Reads the parts of this node's shards, and calls members for the other parts.
    ///
    /// - Returns: the failure of the whole list, if any.
    private func collect(
        _ shards: [ShardID], into scatterGather: inout ScatterGather, for slot: ReplySlot,
        isCaughtUp: Bool = false
    ) -> ShardFailure? {
        guard shards.isEmpty || callsOpen < ShardCall.countMax else { return .overloaded }
        var shares: [NodeName: [ShardID]] = [:]
        let concerned = shardsToRead(for: scatterGather, among: shards)
        for id in shards {
            let route = route(of: id)
            guard isCaughtUp || slot.isOfMember || self.isCaughtUp(slot.session, id, on: route)
            else {
                scatterGather.postpone([id], now: ports.clock.milliseconds)
                continue
            }
            switch route {
            case .here(let shard): add(shard, among: concerned, to: &scatterGather)
            case .member(let name): shares[name, default: []].append(id)
            case .nobody:
                if isOwnerConnected(id) {
                    scatterGather.postpone([id], now: ports.clock.milliseconds)
                } else {
                    scatterGather.missing.append(id)
                }
            }
        }
        for name in shares.keys.sorted() {
            let call = ShardCall(
                slot: slot, target: name, shards: shares[name] ?? [],
                attempt: scatterGather.attempt, heardAt: ports.clock.milliseconds)
            if send(call, of: scatterGather) != nil {
                scatterGather.asks += 1
            } else if isFullMemberAsked {
                scatterGather.missing += call.shards
            } else {
                // Another owner is asked at the next tick.
                scatterGather.postpone(call.shards, now: ports.clock.milliseconds)
            }
        }
        return read(&scatterGather, for: slot)
    }

    private func isCaughtUp(_ session: UInt64, _ id: ShardID, on route: Route) -> Bool {
        switch route {
        case .here: isCaughtUp(session, id, with: .here)
        case .member(let name):
            links[name].map { isCaughtUp(session, id, with: .member(channel: $0.channel.id)) }
                ?? true
        case .nobody: true
        }
    }

    /// - Returns: the number of the call; nil if the member cannot be called.
    func send(_ call: ShardCall, of scatterGather: ScatterGather) -> UInt64? {
        let number = takeCallNumber()
        let request = PeerRequest.Request.list(
            scatterGather.query, scatterGather.user, call.shards,
            bytesMax: call.largeBytes == nil ? options.peerLimits.listBytesMax : nil)
        let isSent = self.ask(
            call.target, request, as: number, within: Forwards.patienceMilliseconds)
        guard isSent else { return nil }
        shardCalls[number] = call
        ports.host.turnAgain()
        return number
    }

    /// Returns the shards that contain or contained data of the user, with one read of the index
    /// instead of one for each shard; nil if all shards have to be read.
    private func shardsToRead(
        for scatterGather: ScatterGather, among shards: [ShardID]
    ) -> Set<ShardID>? {
        guard scatterGather.query.nothing != nil else { return nil }
        let here = shards.compactMap(shard)
        guard here.count > Node.shardsReadUnasked else { return nil }
        return concerned(by: scatterGather.user, among: here)
    }

    /// The number of shards up to which all are read without a read of the index.
    private static let shardsReadUnasked = 2

    /// Queues a shard of this node for reading, unless it contains nothing that the query finds.
    ///
    /// - Parameter concerned: the shards that may contain findings; nil if they are unknown.
    private func add(
        _ shard: Shard, among concerned: Set<ShardID>?, to scatterGather: inout ScatterGather
    ) {
        if let concerned, !concerned.contains(shard.id), shard.assumeIsolated({ $0.mayAnswer }) {
            scatterGather.seen.append(observation(of: shard))
            return scatterGather.appendNothing()
        }
        scatterGather.unread.append(shard.id)
    }

    /// Records that a shard has stored the changes that its part of a list shows.
    func onShardSettled(_ slot: ReplySlot) {
        scatterGathers[slot]?.unsettled -= 1
        endIfGathered(slot)
    }

    func endIfGathered(_ slot: ReplySlot) {
        guard let scatterGather = scatterGathers[slot], scatterGather.isOver else { return }
        scatterGathers[slot] = nil
        guard slot.isOfMember else {
            sinks[slot.session]?.onSeen(scatterGather.seen)
            return finish(slot, scatterGather.outcome, nil)
        }
        sendList(scatterGather, to: slot)
    }

    // MARK: For other members

    /// Answers a member's call for a part of a list from this node's shards.
    ///
    /// - Parameter bytesMax: the greatest size in bytes of a part sent at once; nil for any size.
    func list(
        _ query: AnyQuery, of user: UserID, in shards: [ShardID], upTo bytesMax: Int?,
        for slot: ReplySlot
    ) {
        var scatterGather = ScatterGather(query, of: user, now: ports.clock.milliseconds)
        scatterGather.bytesMax = bytesMax
        let concerned = shardsToRead(for: scatterGather, among: shards)
        for id in shards {
            guard let shard = shard(id), shard.assumeIsolated({ $0.mayAnswer }) else {
                scatterGather.missing.append(id)
                continue
            }
            add(shard, among: concerned, to: &scatterGather)
        }
        if let failure = read(&scatterGather, for: slot) {
            sendResponse(.failed(failure), to: slot)
            return
        }
        keep(scatterGather, for: slot)
        endIfGathered(slot)
    }

    private func sendList(_ scatterGather: ScatterGather, to slot: ReplySlot) {
        guard let findings = scatterGather.findings else {
            sendResponse(.notOwner, to: slot)
            return
        }
        // The parts of several shards are merged first, since the receiver decodes only lists that
        // are in order and have no repeats.
        let gathered = findings.gathered
        if let bytesMax = scatterGather.bytesMax {
            let parts = gathered.split(bytesMax: bytesMax).count
            guard parts == 1 else {
                sendResponse(.large(bytes: parts * bytesMax), to: slot)
                return
            }
        }
        let seen = scatterGather.seen.compactMap { observation in
            observation.vector.map { ObservedShard(shard: observation.shard, vector: $0) }
        }
        let parts = seen.runs(of: options.peerLimits.vectorBytesMax, sizedBy: \.roughBytes)
        for part in parts.dropLast() {
            guard sendResponse(.taken, to: slot, seen: part) else { return }
        }
        sendFindings(gathered, to: slot, 0, seen: parts.last ?? []) {
            .listed($0, part: $1, missing: scatterGather.missing)
        }
    }

    // MARK: Of other members

    func onShardResponse(_ response: PeerResponse, _ call: ShardCall, from name: NodeName) {
        guard call.target == name else { return }
        guard isAwaited(call) else {
            shardCalls[response.number] = nil
            return
        }
        shardCalls[response.number]?.heardAt = ports.clock.milliseconds
        switch response.outcome {
        case .taken:
            shardCalls[response.number]?.isTaken = true
            shardCalls[response.number]?.appendSeen(response.seen)
        case .large(let bytes) where call.largeBytes == nil:
            shardCalls[response.number] = nil
            delay(call, of: bytes)
        case .found(let findings, let part, isLast: false)
        where part == call.found.count && part < Forwards.partsMax
            && hasCapacity(forPartBehind: part + (scatterGathers[call.slot]?.parts ?? 0)):
            shardCalls[response.number]?.found.append(findings)
        case .listed(let findings, let part, let missing) where part == call.found.count:
            shardCalls[response.number] = nil
            if let channel = links[name]?.channel.id {
                var ask = call
                ask.appendSeen(response.seen)
                scatterGathers[ask.slot]?.seen += ask.seen.map {
                    Observation($0, byMemberAt: channel)
                }
            }
            mergeParts(call.found + [findings], missing: missing, of: call)
        case .failed(.unsupported):
            // The member is not marked as refusing, since it supports other queries.
            shardCalls[response.number] = nil
            scatterGathers[call.slot]?.missing += call.shards
            mergeParts([], missing: [], of: call)
        default:
            shardCalls[response.number] = nil
            mergeParts([], missing: call.shards, of: call)
        }
    }

    /// Merges a member's answer into its list; the answer has no parts if the member is given up.
    func mergeParts(_ parts: [AnyFindings], missing: [ShardID], of call: ShardCall) {
        guard isAwaited(call), var scatterGather = scatterGathers[call.slot] else { return }
        scatterGather.asks -= 1
        var missing = missing.filter(call.shards.contains)
        for part in parts where !scatterGather.appendPart(part, isOfMany: parts.count > 1) {
            missing = call.shards
        }
        let now = ports.clock.milliseconds
        if scatterGather.isLate(now) {
            scatterGather.missing += missing
            missing = []
        }
        for id in missing { routes.noteRefused(call.target, id, now: now) }
        goOn(scatterGather, asking: missing, for: call.slot)
    }

    /// Requests some shards of a list again, and ends the list if nothing is outstanding.
    func goOn(_ scatterGather: ScatterGather, asking shards: [ShardID], for slot: ReplySlot) {
        var scatterGather = scatterGather
        if let failure = collect(shards, into: &scatterGather, for: slot) {
            scatterGathers[slot] = nil
            return finish(slot, .failed(failure), nil)
        }
        keep(scatterGather, for: slot)
        endIfGathered(slot)
    }

    /// Sends the unanswered calls of a lost member to other members.
    func onListsLost(with name: NodeName) {
        giveUp(shardCalls.filter { $1.target == name })
    }

    func tickLists(now: UInt64) {
        let late = shardCalls.filter { $1.isOverdue(now) }
        for ask in late.values {
            for shard in ask.shards { noteUnanswered(by: ask.target, for: shard, now: now) }
        }
        giveUp(late)
        let waiting = scatterGathers.filter { !$1.later.isEmpty }
        for slot in waiting.keys.sorted(by: precedes) { askLater(slot) }
    }

    private func askLater(_ slot: ReplySlot) {
        guard var scatterGather = scatterGathers[slot] else { return }
        let shards = scatterGather.later
        scatterGather.later = []
        goOn(scatterGather, asking: shards, for: slot)
    }

    private func giveUp(_ asks: [UInt64: ShardCall]) {
        for number in asks.keys { shardCalls[number] = nil }
        for (_, ask) in asks.sorted(by: { $0.key < $1.key }) {
            mergeParts([], missing: ask.shards, of: ask)
        }
    }
}

extension ShardFailure {
    /// Whether the failure is probably temporary, so that the list is answered without the shard.
    var isPassing: Bool {
        switch self {
        case .notReady, .unreachable, .unanswered, .behind, .overloaded, .clock, .store(.badRecord),
            .store(.badIndex), .store(.locked):
            true
        case .unsupported: true
        case .refused, .badFrame, .stale, .untimely, .store(.full), .store(.failed): false
        }
    }
}
