import Chat
import Replication
import Wire

/// The users' lists that wait for memory: whole lists, and lists that need a member's part.
///
/// A member whose part is larger than `PeerLimits.listBytesMax` reports only the size and discards
/// the part; this node calls it again after reserving memory. A list of such a size that this node
/// reads in several slices is dropped if no memory is available, and is read again later. Thus the
/// memory of unfinished lists is bounded, however many clients do not read their lists.
///
/// A list with reserved memory gets more memory for each further part, even beyond the limit of the
/// sessions: if lists waited for each other's memory, no list would end. The memory beyond that
/// limit is at most the size of `ListTurns.openMax` lists of this node plus `bytesMax` of other
/// members' parts.
struct LargeLists: Sendable {
    enum Waiting: Sendable {
        case part(ShardCall)
        /// - bytes: the approximate size of this node's part of the list, in bytes.
        /// - since: when the list was dropped, in milliseconds.
        case whole(ReplySlot, bytes: Int, since: UInt64)

        var slot: ReplySlot {
            switch self {
            case .part(let call): call.slot
            case .whole(let slot, _, _): slot
            }
        }
    }

    private var waiting = FairQueue<UserID, Waiting>()
    /// The number of waiting parts.
    private(set) var partCount = 0
    /// The sizes in bytes of the parts that members are sending, by call number.
    private var running: [UInt64: Int] = [:]

    /// The greatest total size of parts in transit, in bytes (8 MiB); a single part may exceed it.
    static let bytesMax = 8 << 20
    /// The greatest number of waiting whole lists; a further list fails as `overloaded`.
    static let wholesMax = 1_024
    /// The number of waiting lists and parts that are examined in one turn of the node.
    static let looksMax = 16
    /// How long a whole list waits for memory before it fails as `overloaded`, in milliseconds.
    static let patienceMilliseconds: UInt64 = 10_000

    var count: Int { waiting.count }

    /// Whether another whole list may wait for memory.
    var hasPlace: Bool { waiting.count - partCount < LargeLists.wholesMax }

    /// Returns whether a part of this size may be requested in addition to the parts in transit.
    func hasCapacity(for bytes: Int) -> Bool {
        running.isEmpty || running.values.reduce(bytes, +) <= LargeLists.bytesMax
    }

    mutating func append(_ one: Waiting, of user: UserID) {
        waiting.append(one, of: user)
        if case .part = one { partCount += 1 }
    }

    /// Removes and returns the next waiting list or part, in round-robin order of the users.
    mutating func takeFirst() -> Waiting? {
        let first = waiting.takeFirst()
        if case .part? = first { partCount -= 1 }
        return first
    }

    mutating func begin(_ number: UInt64, of bytes: Int) { running[number] = bytes }

    /// Removes the calls that have ended.
    mutating func keepRunning(_ isOutstanding: (UInt64) -> Bool) {
        if !running.isEmpty { running = running.filter { isOutstanding($0.key) } }
    }
}

// MARK: Waiting

extension Node {
    /// Queues a call whose answer is too large to be sent before memory is reserved for it.
    func delay(_ call: ShardCall, of bytes: Int) {
        guard let user = scatterGathers[call.slot]?.user else { return }
        dropEstimate(of: call.slot)
        var delayed = call
        delayed.largeBytes = min(bytes, LargeLists.bytesMax)
        largeLists.append(.part(delayed), of: user)
        ports.host.turnAgain()
    }

    /// Reserves memory for a client's list that is read in several slices; if no memory is
    /// available, the list has to wait.
    ///
    /// - Returns: whether the reading may continue now.
    func reserveMemory(for slot: ReplySlot) -> Bool {
        guard !slot.isOfMember, let scatterGather = scatterGathers[slot],
            let estimated = scatterGather.bytesEstimated,
            estimated > options.peerLimits.listBytesMax
        else { return true }
        let (bytes, reserved) = (
            min(estimated, LargeLists.bytesMax), scatterGather.bytesReserved
        )
        guard bytes > reserved else { return true }
        dropEstimate(of: slot)
        guard reserve(bytes - reserved, for: slot) else {
            putOff(slot, of: bytes)
            return false
        }
        scatterGathers[slot]?.bytesReserved = bytes
        return true
    }

    /// Makes the client's session release the memory that it reserved for a list of unknown size.
    private func dropEstimate(of slot: ReplySlot) {
        guard scatterGathers[slot]?.isEstimateDropped == false else { return }
        scatterGathers[slot]?.isEstimateDropped = true
        sinks[slot.session]?.onListDelayed(slot.number)
    }

    private func reserve(_ bytes: Int, for slot: ReplySlot) -> Bool {
        let isFurther = scatterGathers[slot]?.hasMemory ?? false
        guard sinks[slot.session]?.reserveList(slot.number, bytes, isFurther: isFurther) ?? false
        else { return false }
        scatterGathers[slot]?.hasMemory = true
        return true
    }

    /// Drops the parts of a list, which is read again once memory is available.
    private func putOff(_ slot: ReplySlot, of bytes: Int) {
        guard let dropped = scatterGathers[slot] else { return }
        endGather(slot)
        guard largeLists.hasPlace else { return finish(slot, .failed(.overloaded), nil) }
        var putOff = ScatterGather(dropped.query, of: dropped.user, now: ports.clock.milliseconds)
        putOff.attempt = dropped.attempt + 1
        // The shards still report when they have stored the changes that the dropped parts showed.
        putOff.unsettled = dropped.unsettled
        putOff.isEstimateDropped = true
        putOff.bytesReserved = bytes
        putOff.isPutOff = true
        scatterGathers[slot] = putOff
        largeLists.append(
            .whole(slot, bytes: bytes, since: ports.clock.milliseconds), of: dropped.user)
        ports.host.turnAgain()
    }

    /// Returns whether a list still waits for the answer to a call; a dropped list does not.
    func isAwaited(_ call: ShardCall) -> Bool {
        #if PlantedBugs
            if PlantedBug.droppedListAwaitsParts.isOn { return true }
        #endif
        return scatterGathers[call.slot]?.attempt == call.attempt
    }
}

// MARK: Going on

extension Node {
    /// Continues the lists for which memory is available, in round-robin order of the users.
    func startLargeLists() {
        largeLists.keepRunning { shardCalls[$0] != nil }
        for _ in 0..<min(largeLists.count, LargeLists.looksMax) {
            guard let next = largeLists.takeFirst() else { return }
            if start(next) {
                ports.host.turnAgain()
            } else if let user = scatterGathers[next.slot]?.user {
                largeLists.append(next, of: user)
            }
        }
    }

    /// - Returns: false if the list or part still has to wait.
    private func start(_ waiting: LargeLists.Waiting) -> Bool {
        let slot = waiting.slot
        guard sinks[slot.session] != nil else {
            // The session that requested the list has ended.
            endGather(slot)
            return true
        }
        switch waiting {
        case .part(let call):
            guard let bytes = call.largeBytes, isAwaited(call) else { return true }
            guard largeLists.hasCapacity(for: bytes), reserve(bytes, for: slot) else {
                return false
            }
            callAgain(call, for: bytes)
        case .whole(_, let bytes, let since):
            guard var scatterGather = scatterGathers[slot] else { return true }
            guard ports.clock.milliseconds < since + LargeLists.patienceMilliseconds else {
                scatterGathers[slot] = nil
                finish(slot, .failed(.overloaded), nil)
                return true
            }
            guard reserve(bytes, for: slot) else { return false }
            scatterGather.hasMemory = true
            scatterGather.isPutOff = false
            // The time limit for shards that cannot be asked starts again.
            scatterGather.since = ports.clock.milliseconds
            goOn(
                scatterGather, asking: scatterGather.query.shards(of: cluster?.shards ?? 0),
                for: slot)
        }
        return true
    }

    private func callAgain(_ delayed: ShardCall, for bytes: Int) {
        guard let scatterGather = scatterGathers[delayed.slot] else { return }
        var call = delayed
        call.heardAt = ports.clock.milliseconds
        guard let number = send(call, of: scatterGather) else {
            return mergeParts([], missing: call.shards, of: call)
        }
        largeLists.begin(number, of: bytes)
    }
}
