import Chat
import Replication
import Wire

/// The lists that this node reads from its shards in slices.
///
/// The users share the reading time in round-robin order, however many lists a user requests on
/// however many connections. Each list first gets one slice, which is enough for nearly all lists.
/// Of the larger lists, only `openMax` are read at a time, which limits their memory.
struct ListTurns: Sendable {
    /// The lists without a slice so far, and the lists that have had one slice and wait for more.
    private var fresh = FairQueue<UserID, ReplySlot>()
    private var begun = FairQueue<UserID, ReplySlot>()
    /// The lists that are being read further, in the order of their next slices.
    private var open: [ReplySlot] = []
    private var isFreshNext = true
    /// The microseconds of the node's current turn that are left for lists when they are requested.
    private(set) var left = TurnTime.ofLists

    /// The greatest number of lists that are read further at a time.
    static let openMax = 4

    var isIdle: Bool { fresh.isEmpty && begun.isEmpty && open.isEmpty }

    mutating func append(_ slot: ReplySlot, of user: UserID, at stage: Stage) {
        switch stage {
        case .fresh: fresh.append(slot, of: user)
        case .begun: begun.append(slot, of: user)
        case .open: open.append(slot)
        }
    }

    /// Removes and returns the next list; every second time, a list without a slice comes first.
    mutating func takeNext() -> (slot: ReplySlot, stage: Stage)? {
        isFreshNext.toggle()
        if isFreshNext, let slot = fresh.takeFirst() { return (slot, .fresh) }
        while open.count < ListTurns.openMax, let slot = begun.takeFirst() { open.append(slot) }
        if !open.isEmpty { return (open.removeFirst(), .open) }
        return fresh.takeFirst().map { ($0, .fresh) }
    }

    mutating func spend(to left: UInt64) { self.left = left }

    /// Resets the time for lists at the start of the node's next turn.
    mutating func renew() { left = TurnTime.ofLists }

    enum Stage: Sendable {
        case fresh
        case begun
        case open
    }
}

extension Node {
    /// Stores a list that is not complete, and queues its reading.
    ///
    /// - Parameter stage: how far the reading of the list on this node has progressed.
    func keep(
        _ scatterGather: ScatterGather, for slot: ReplySlot, at stage: ListTurns.Stage = .fresh
    ) {
        let isQueued = scatterGather.isQueued
        scatterGathers[slot] = scatterGather
        guard !scatterGather.unread.isEmpty, !isQueued else { return }
        scatterGathers[slot]?.isQueued = true
        // A list for a block check counts as a list of the user whose request is checked.
        let user = blockChecks.running[slot.session]?.user ?? scatterGather.user
        listTurns.append(slot, of: user, at: stage)
        ports.host.turnAgain()
    }

    /// Reads a list from this node's shards as far as the turn's time for lists allows.
    ///
    /// - Returns: the failure of the whole list, if any.
    func read(_ scatterGather: inout ScatterGather, for slot: ReplySlot) -> ShardFailure? {
        guard !scatterGather.unread.isEmpty, listTurns.left > 0 else { return nil }
        let most = min(listTurns.left, TurnTime.ofListSlice)
        let time = TurnTime(most, on: ports.clock)
        defer { listTurns.spend(to: listTurns.left - (most - time.left)) }
        // The callers include only shards that may answer the connection.
        return read(&scatterGather, for: slot, until: time) { _ in true }
    }

    /// Continues reading the unfinished lists, at the end of a turn of the node.
    func continueLists() {
        listTurns.renew()
        guard !listTurns.isIdle else { return }
        let time = TurnTime(TurnTime.ofLists, on: ports.clock)
        repeat {
            guard let (slot, stage) = listTurns.takeNext() else { break }
            continueList(slot, at: stage)
        } while !time.isOver
        if !listTurns.isIdle { ports.host.turnAgain() }
    }

    private func continueList(_ slot: ReplySlot, at stage: ListTurns.Stage) {
        guard slot.isOfMember || sinks[slot.session] != nil else { return endGather(slot) }
        guard reserveMemory(for: slot), var scatterGather = scatterGathers[slot] else { return }
        scatterGather.isQueued = false
        let time = TurnTime(TurnTime.ofListSlice, on: ports.clock)
        let failure = read(&scatterGather, for: slot, until: time) {
            slot.isOfMember || isCaughtUp(slot.session, $0, with: .here)
        }
        if let failure {
            scatterGathers[slot] = nil
            guard slot.isOfMember else { return finish(slot, .failed(failure), nil) }
            sendResponse(.failed(failure), to: slot)
            return
        }
        keep(scatterGather, for: slot, at: stage == .open ? .open : .begun)
        endIfGathered(slot)
    }

    private func read(
        _ scatterGather: inout ScatterGather, for slot: ReplySlot, until time: TurnTime,
        where isCaughtUp: (ShardID) -> Bool
    ) -> ShardFailure? {
        repeat {
            guard let id = scatterGather.unread.first else { break }
            guard let shard = shard(id), shard.assumeIsolated({ $0.mayAnswer }), isCaughtUp(id)
            else {
                endReading(&scatterGather, for: slot)
                if slot.isOfMember {
                    scatterGather.missing.append(id)
                } else {
                    scatterGather.later.append(id)
                }
                continue
            }
            switch slice(of: scatterGather, in: shard, for: slot, until: time) {
            case .success(.unfinished(let reading)):
                scatterGather.reading = reading
                return nil
            case .success(.finished(let part, let isSettled)):
                if !isSettled { scatterGather.unsettled += 1 }
                scatterGather.bytesRead += part.roughBytes
                scatterGather.seen.append(observation(of: shard))
                precondition(scatterGather.appendPart(part), "shards answer one query alike")
            case .failure(let failure):
                guard failure.isPassing else { return failure }
                scatterGather.missing.append(id)
            }
            scatterGather.reading = nil
            scatterGather.unread.removeFirst()
            scatterGather.shardsRead += 1
        } while !time.isOver
        return nil
    }

    private func slice(
        of scatterGather: ScatterGather, in shard: Shard, for slot: ReplySlot, until time: TurnTime
    ) -> Result<ListSlice, ShardFailure> {
        let (query, user) = (scatterGather.query, scatterGather.user)
        var reading = scatterGather.reading
        if reading == nil {
            switch within(shard, { $0.beginReading(query, of: user) }) {
            case .success(let begun): reading = begun
            case .failure(let failure): return .failure(failure)
            }
        }
        guard let reading else {
            return within(shard) { $0.answer(query, for: user, slot: slot) }
                .map { .finished($0.findings, isSettled: $0.isSettled) }
        }
        return within(shard) { $0.read(reading, until: time, for: slot) }
    }

    private func endReading(_ scatterGather: inout ScatterGather, for slot: ReplySlot) {
        guard let id = scatterGather.unread.popFirst() else { return }
        scatterGather.reading = nil
        shard(id)?.assumeIsolated { $0.endReading(for: slot) }
    }

    /// Drops a list for which no session or member waits any more.
    func endGather(_ slot: ReplySlot) {
        guard var scatterGather = scatterGathers.removeValue(forKey: slot) else { return }
        endReading(&scatterGather, for: slot)
    }
}
