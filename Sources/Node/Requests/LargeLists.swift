import Chat
import Replication
import Wire

/// The lists of users that wait for memory, as wholes or with parts that other members have.
///
/// A member whose part has more than `PeerLimits.listBytesMax` says so, and keeps nothing of it; it
/// is called again once there is memory for the list. A list that is as large and takes several
/// turns here is dropped where there is no memory for it, and read anew. So the memory of lists
/// that are being made is bounded, however many clients ask for lists and read none.
///
/// A list that has memory gets more of it for each further part, whatever others hold: if lists
/// waited for each other's memory, none of them would end. So what may be held beyond the limit of
/// the sessions is what `ListTurns.openMax` lists have here, and `bytesMax` of parts of others.
struct LargeLists: Sendable {
    enum Waiting: Sendable {
        case part(ShardCall)
        /// - bytes: the approximate size of what this node has of the list.
        /// - since: when it was dropped, in milliseconds.
        case whole(ReplySlot, bytes: Int, since: UInt64)

        var slot: ReplySlot {
            switch self {
            case .part(let call): call.slot
            case .whole(let slot, _, _): slot
            }
        }
    }

    private var waiting = FairQueue<UserID, Waiting>()
    /// How many of them are parts.
    private(set) var partCount = 0
    /// The sizes of the parts that are on their way, by the numbers of their calls.
    private var running: [UInt64: Int] = [:]

    /// The most bytes that are on their way at a time, unless one part alone has more (8 MiB).
    static let bytesMax = 8 << 20
    /// The most lists that wait as wholes; a client that asks for another one is told to ask again.
    static let wholesMax = 1_024
    /// How many of those that wait are looked at in a turn.
    static let looksMax = 16
    /// How long a list waits as a whole until its client is told to ask again, in milliseconds.
    static let patienceMilliseconds: UInt64 = 10_000

    var count: Int { waiting.count }

    /// Whether another list may wait as a whole.
    var hasPlace: Bool { waiting.count - partCount < LargeLists.wholesMax }

    /// Whether a part may be called for beside those that are on their way.
    func hasCapacity(for bytes: Int) -> Bool {
        running.isEmpty || running.values.reduce(bytes, +) <= LargeLists.bytesMax
    }

    mutating func append(_ one: Waiting, of user: UserID) {
        waiting.append(one, of: user)
        if case .part = one { partCount += 1 }
    }

    /// Takes the next that waits, of each user in turn.
    mutating func takeFirst() -> Waiting? {
        let first = waiting.takeFirst()
        if case .part? = first { partCount -= 1 }
        return first
    }

    mutating func begin(_ number: UInt64, of bytes: Int) { running[number] = bytes }

    /// Forgets the calls that have ended.
    mutating func keepRunning(_ isOutstanding: (UInt64) -> Bool) {
        if !running.isEmpty { running = running.filter { isOutstanding($0.key) } }
    }
}

// MARK: Waiting

extension Node {
    /// Puts off a call whose answer is too large to come unasked.
    func delay(_ call: ShardCall, of bytes: Int) {
        guard let user = scatterGathers[call.slot]?.user else { return }
        dropEstimate(of: call.slot)
        var delayed = call
        delayed.largeBytes = min(bytes, LargeLists.bytesMax)
        largeLists.append(.part(delayed), of: user)
        ports.host.turnAgain()
    }

    /// Has a client's list that takes several turns wait for memory, if there is none for it.
    ///
    /// - Returns: whether it may go on now.
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

    /// Has the client's session forget what it reserved for a list of unknown size.
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

    /// Drops what a list has of its parts; it is read anew once there is memory for it.
    private func putOff(_ slot: ReplySlot, of bytes: Int) {
        guard let dropped = scatterGathers[slot] else { return }
        endGather(slot)
        guard largeLists.hasPlace else { return finish(slot, .failed(.overloaded), nil) }
        var putOff = ScatterGather(dropped.query, of: dropped.user, now: ports.clock.milliseconds)
        putOff.attempt = dropped.attempt + 1
        // The shards still tell of what they have stored.
        putOff.unsettled = dropped.unsettled
        putOff.isEstimateDropped = true
        putOff.bytesReserved = bytes
        putOff.isPutOff = true
        scatterGathers[slot] = putOff
        largeLists.append(
            .whole(slot, bytes: bytes, since: ports.clock.milliseconds), of: dropped.user)
        ports.host.turnAgain()
    }

    /// Whether a list still waits for the answer to a call: it may have been dropped since.
    func isAwaited(_ call: ShardCall) -> Bool {
        #if PlantedBugs
            if PlantedBug.droppedListAwaitsParts.isOn { return true }
        #endif
        return scatterGathers[call.slot]?.attempt == call.attempt
    }
}

// MARK: Going on

extension Node {
    /// Goes on with the lists for which there is memory, those of each user in turn.
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

    /// - Returns: false where it still has to wait.
    private func start(_ waiting: LargeLists.Waiting) -> Bool {
        let slot = waiting.slot
        guard sinks[slot.session] != nil else {
            // Who asked has gone.
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
            // Its patience with shards that cannot be asked begins anew.
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
