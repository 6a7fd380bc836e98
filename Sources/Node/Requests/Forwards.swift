import Chat
import Replication
import Wire

/// A client's request that another member answers.
struct Forward: Sendable {
    let shard: ShardID
    /// The request; a write may be given a greater time while no member can have executed the
    /// write.
    var request: PeerRequest.Request
    let slot: ReplySlot
    /// The size that the forward adds to the total that `Forwards.bytesMax` limits, in bytes.
    let size: Int
    /// When the forward was queued, in milliseconds.
    let since: UInt64
    /// The member to which the request was sent; nil while the forward waits for a member.
    var target: NodeName?
    /// The round of the shard's queue in which the request was sent to the target.
    var round: UInt64 = 0
    /// When the request was sent to the target, or was last responded to, in milliseconds.
    var heardAt: UInt64 = 0
    /// When the forward began to wait for a member, in milliseconds: when it was queued, or when
    /// its target was lost or did not answer.
    ///
    /// A refusal by the target does not change this time.
    var idleSince: UInt64
    /// Whether the request was ever sent to a member.
    var wasSent = false
    /// Whether the target has reported that it has executed the request and waits for disks.
    var isTaken = false
    /// Whether an earlier target may have executed the request without having reported it.
    var mayBeDone = false
    /// How many times the write was given a greater time.
    var raises = 0
    /// The findings that the target has sent so far.
    var found: AnyFindings?
    /// The number of parts that `found` consists of.
    var parts = 0
    /// The failure that is reported if the forward is given up; nil stands for `unreachable`.
    var failure: ShardFailure?

    init(
        _ request: PeerRequest.Request, of shard: ShardID, for slot: ReplySlot, size: Int,
        now: UInt64
    ) {
        self.shard = shard
        self.request = request
        self.slot = slot
        self.size = size
        since = now
        idleSince = now
    }

    /// The request to send to the next target; a write that was sent before is marked if an earlier
    /// target may have executed it.
    var next: PeerRequest.Request {
        guard case .write(let operation, let level, let attempt) = request, wasSent,
            attempt != .client
        else { return request }
        return .write(operation, level, mayBeDone ? .again : .first)
    }

    /// Returns the result to report for a failure: `unanswered` if an earlier target may have
    /// executed the write that the last target refused.
    ///
    /// A read is reported with the failure itself, since a read changes nothing.
    func outcome(of failure: ShardFailure) -> Completion {
        guard case .write = request, mayBeDone else { return .failed(failure) }
        return .failed(.unanswered)
    }

    func isOverdue(_ now: UInt64) -> Bool {
        target != nil && Forwards.isOverdue(since: heardAt, isTaken: isTaken, now)
    }

    func isHopeless(_ now: UInt64) -> Bool {
        let isLeftAlone = target == nil && now >= idleSince + Forwards.nobodyPatienceMilliseconds
        return isLeftAlone || now >= since + Forwards.totalPatienceMilliseconds
    }
}

/// The clients' requests that other members answer, from their arrival to their answer.
///
/// The forwards of a shard are sent to one member at a time, in order. As a result, a connection's
/// requests are executed in the order of its lines, and a client of this node sees its own writes.
struct Forwards: Sendable {
    /// The forwards of one shard.
    private struct Queue {
        /// The member to which the forwards in `underway` were sent.
        var target: NodeName?
        var underway: Set<UInt64> = []
        /// The forwards that wait for a member, in order.
        var waiting: [UInt64] = []
        /// The round in which the next forwards are sent; a new round begins when forwards are
        /// taken back.
        var round: UInt64

        var isEmpty: Bool { underway.isEmpty && waiting.isEmpty }
    }

    /// How many times a write may be given a greater time before it is given up; each time, another
    /// write of the same document was executed first.
    static let raisesMax = 8
    /// How long a member may take to answer before another member is asked, in milliseconds.
    static let patienceMilliseconds: UInt64 = 500
    /// How long a member that has executed a request may wait for disks, in milliseconds: longer
    /// than any write waits for the disks of co-owners (1,000 ms).
    static let takenPatienceMilliseconds: UInt64 = 1_500
    /// Returns whether the next response is overdue after a member's response at `heardAt`.
    static func isOverdue(since heardAt: UInt64, isTaken: Bool, _ now: UInt64) -> Bool {
        now >= heardAt + (isTaken ? takenPatienceMilliseconds : patienceMilliseconds)
    }

    /// How long a request waits for a member that can answer it, in milliseconds.
    static let nobodyPatienceMilliseconds: UInt64 = 1_000
    /// The time after which a request is given up in any case, in milliseconds.
    static let totalPatienceMilliseconds: UInt64 = 3_000
    /// The greatest number of forwards; a further request is refused as `overloaded`.
    static let countMax = 131_072
    /// The greatest total size of forwards in bytes; a further request is refused as `overloaded`.
    static let bytesMax = 64 << 20
    /// The number of forwards at which the node stops reading from clients; requests that have
    /// already arrived still fit below `countMax`.
    static let countHigh = 8_192
    /// The total size of forwards in bytes at which the node stops reading from clients.
    static let bytesHigh = 16 << 20
    /// The greatest number of parts of one response; a part has at most 256 KiB or one element.
    static let partsMax = 1_024
    /// The greatest number of parts of incomplete responses in memory, 16 MiB when encoded; a
    /// request whose response would exceed this number fails as `overloaded`.
    static let partsHeldMax = 64

    /// The forwards by call number; loops follow the order of the numbers.
    private var entries: [UInt64: Forward] = [:]
    private var queues: [ShardID: Queue] = [:]
    /// The slots of each session that have a forward, ascending.
    private var slots: [UInt64: [UInt64]] = [:]
    private(set) var bytes = 0
    /// The number of the last round that began, over all shards.
    private var round: UInt64 = 0

    var count: Int { entries.count }
    /// The number of parts of incomplete responses in memory, computed by a loop over all forwards
    /// and therefore used only when a part arrives.
    var partsCount: Int { entries.values.reduce(0) { $0 + $1.parts } }
    var isEmpty: Bool { entries.isEmpty }
    var isFull: Bool { entries.count >= Forwards.countMax || bytes >= Forwards.bytesMax }
    var isHigh: Bool { entries.count >= Forwards.countHigh || bytes >= Forwards.bytesHigh }
    var isLow: Bool { entries.count < Forwards.countHigh / 2 && bytes < Forwards.bytesHigh / 2 }

    subscript(number: UInt64) -> Forward? { entries[number] }

    /// Returns whether a shard has no forwards.
    func isIdle(_ shard: ShardID) -> Bool { queues[shard] == nil }

    /// Returns the slot number of a session's first forward.
    func firstSlot(of session: UInt64) -> UInt64? { slots[session]?.first }

    /// The shards with forwards that wait for a member, ascending.
    var waitingShards: [ShardID] { queues.filter { !$1.waiting.isEmpty }.keys.sorted() }
}

// MARK: Adding and removing

extension Forwards {
    /// Adds a request after the other requests of its shard.
    mutating func add(_ forward: Forward, as number: UInt64) {
        entries[number] = forward
        queues[forward.shard, default: Queue(round: round)].waiting.append(number)
        slots[forward.slot.session, default: []].append(forward.slot.number)
        bytes += forward.size
    }

    /// Removes and returns the waiting forwards of a shard, in order.
    ///
    /// Returns no forwards while another member has unanswered forwards of the shard, since these
    /// have to be answered first.
    ///
    /// - Parameter target: the member that will answer the forwards; nil for this node.
    mutating func takeWaiting(of shard: ShardID, for target: NodeName?) -> [UInt64] {
        guard let queue = queues[shard], queue.underway.isEmpty || queue.target == target else {
            return []
        }
        queues[shard]?.waiting = []
        return queue.waiting
    }

    /// Returns the round in which the next forwards of a shard are sent.
    func round(of shard: ShardID) -> UInt64 { queues[shard]?.round ?? round }

    mutating func noteSent(_ number: UInt64, to target: NodeName, now: UInt64) {
        guard var forward = entries[number] else { return }
        forward.target = target
        forward.round = round(of: forward.shard)
        forward.heardAt = now
        forward.wasSent = true
        forward.isTaken = false
        forward.found = nil
        forward.parts = 0
        entries[number] = forward
        queues[forward.shard]?.target = target
        queues[forward.shard]?.underway.insert(number)
    }

    /// Puts forwards that could not be sent back into the queue of their shard, in order.
    mutating func putBack(_ numbers: [UInt64], of shard: ShardID) {
        let waiting = queues[shard]?.waiting ?? []
        queues[shard, default: Queue(round: round)].waiting = (waiting + numbers).sorted()
    }

    mutating func update(_ number: UInt64, _ body: (inout Forward) -> Void) {
        guard var forward = entries[number] else { return }
        body(&forward)
        entries[number] = forward
    }

    /// Removes a forward, whether it is under way, is waiting, or was returned by `takeWaiting`.
    mutating func remove(_ number: UInt64) -> Forward? {
        guard let forward = removeEntry(number) else { return nil }
        queues[forward.shard]?.underway.remove(number)
        if forward.target == nil, let place = queues[forward.shard]?.waiting.firstIndex(of: number)
        {
            queues[forward.shard]?.waiting.remove(at: place)
        }
        if queues[forward.shard]?.isEmpty ?? false { queues[forward.shard] = nil }
        return forward
    }

    private mutating func removeEntry(_ number: UInt64) -> Forward? {
        guard let forward = entries.removeValue(forKey: number) else { return nil }
        bytes -= forward.size
        let slot = forward.slot
        if let place = slots[slot.session]?.firstIndex(of: slot.number) {
            slots[slot.session]?.remove(at: place)
        }
        if slots[slot.session]?.isEmpty ?? false { slots[slot.session] = nil }
        return forward
    }

    /// Removes the forwards of a shard and of some sessions that wait for a member, in order.
    mutating func removeWaiting(
        of shard: ShardID, where isMeant: (_ session: UInt64) -> Bool
    ) -> [Forward] {
        let waiting = queues[shard]?.waiting ?? []
        let meant = waiting.filter { entries[$0].map { isMeant($0.slot.session) } ?? false }
        return meant.compactMap { remove($0) }
    }

    /// Removes and returns, in order, the forwards whose time limit has passed.
    mutating func removeHopeless(now: UInt64) -> [Forward] {
        let lost = entries.filter { $1.isHopeless(now) }
        guard !lost.isEmpty else { return [] }
        for shard in Set(lost.values.map(\.shard)) {
            queues[shard]?.underway.subtract(lost.keys)
            queues[shard]?.waiting.removeAll { lost[$0] != nil }
            if queues[shard]?.isEmpty ?? false { queues[shard] = nil }
        }
        return lost.keys.sorted().compactMap { number in
            var forward = removeEntry(number)
            // The target may still execute the request.
            if forward?.target != nil { forward?.mayBeDone = true }
            return forward
        }
    }
}

// MARK: Taking back

extension Forwards {
    /// Takes back a forward that its target has refused, together with all forwards of the shard
    /// that the target has not reported as executed; all of them wait for another member.
    ///
    /// - Parameters:
    ///   - isUndone: whether the refused forward has certainly not been executed.
    ///   - deniesLater: whether the target also refuses the later forwards of the round, so that
    ///     these have certainly not been executed: the requests of a round arrive in the order of
    ///     their numbers, or after their deadline.
    mutating func takeBack(_ denied: UInt64, isUndone: Bool, deniesLater: Bool = false) {
        guard let forward = entries[denied], let target = forward.target else { return }
        // A target that has executed the forward but failed to store it still handles other
        // forwards.
        let numbers =
            forward.isTaken
            ? [denied]
            : (queues[forward.shard]?.underway ?? []).filter {
                $0 == denied || (entries[$0]?.target == target && entries[$0]?.isTaken == false)
            }
        let undone = numbers.filter { $0 == denied ? isUndone : deniesLater && $0 > denied }
        let before = undone.map { entries[$0]?.mayBeDone ?? false }
        takeBack(numbers, of: forward.shard, now: nil)
        for (number, mayBeDone) in zip(undone, before) { entries[number]?.mayBeDone = mayBeDone }
    }

    /// Takes back all forwards that were sent to a lost member, even if the member has executed
    /// them; the forwards then wait for another member.
    mutating func takeBack(from target: NodeName, now: UInt64) {
        for shard in queues.keys.sorted() {
            let numbers = (queues[shard]?.underway ?? []).filter { entries[$0]?.target == target }
            takeBack(Array(numbers), of: shard, now: now)
        }
    }

    /// Takes back the overdue forwards, together with all forwards of their shards that the same
    /// member has not reported as executed.
    ///
    /// - Returns: the members that did not answer, each with the shard, in order.
    mutating func takeBackOverdue(now: UInt64) -> [(name: NodeName, shard: ShardID)] {
        var silent: [(NodeName, ShardID)] = []
        for shard in queues.keys.sorted() {
            let underway = (queues[shard]?.underway ?? []).sorted()
            let overdue = underway.filter { entries[$0]?.isOverdue(now) ?? false }
            guard !overdue.isEmpty else { continue }
            let targets = Set(overdue.compactMap { entries[$0]?.target })
            silent += targets.sorted().map { ($0, shard) }
            let lost = underway.filter { number in
                guard let forward = entries[number], let target = forward.target else {
                    return false
                }
                return targets.contains(target) && (!forward.isTaken || forward.isOverdue(now))
            }
            takeBack(lost, of: shard, now: now)
        }
        return silent
    }

    /// - Parameter now: when the target was given up; nil if the target refused, so that the
    ///   forwards keep their `idleSince`.
    private mutating func takeBack(
        _ numbers: some Collection<UInt64>, of shard: ShardID, now: UInt64?
    ) {
        guard !numbers.isEmpty else { return }
        for number in numbers {
            entries[number]?.target = nil
            entries[number]?.isTaken = false
            entries[number]?.mayBeDone = true
            if let now { entries[number]?.idleSince = now }
        }
        queues[shard]?.underway.subtract(numbers)
        round += 1
        queues[shard]?.round = round
        putBack(Array(numbers), of: shard)
    }
}
