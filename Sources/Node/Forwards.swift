import Chat
import Replication
import Wire

/// A request that others answer.
struct Forward: Sendable {
    let shard: ShardID
    /// A write may get a greater time, as long as nobody can have executed it.
    var request: PeerRequest.Request
    let slot: ReplySlot
    /// What it counts for, in bytes.
    let size: Int
    let since: UInt64
    /// With whom it is; nil while it waits for somebody.
    var target: NodeName?
    /// The round in which it was sent there.
    var round: UInt64 = 0
    /// When it was, or when something of the answer last came.
    var heardAt: UInt64 = 0
    /// Since when it is with nobody who might answer.
    var idleSince: UInt64
    var wasSent = false
    /// The target has carried it out, and waits for disks.
    var isTaken = false
    /// Somebody who was asked did not answer, and may have carried it out.
    var mayBeDone = false
    /// How many times it got a greater time.
    var raises = 0
    /// What the target has found so far, and in how many parts.
    var found: Findings?
    var parts = 0
    /// Why the last who was asked could not do it.
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

    /// What is asked of the next: the one before may have carried it out.
    var next: PeerRequest.Request {
        guard case .write(let operation, let level, _) = request, wasSent else { return request }
        return .write(operation, level, mayBeDone ? .again : .first)
    }

    /// What its user is told when nothing else is to be had: the first who was asked may have done
    /// what the last refuses.
    func outcome(of failure: ShardFailure) -> Completion {
        .failed(mayBeDone ? .unanswered : failure)
    }

    func isOverdue(_ now: UInt64) -> Bool {
        target != nil && Forwards.isOverdue(since: heardAt, isTaken: isTaken, now)
    }

    func isHopeless(_ now: UInt64) -> Bool {
        let isLeftAlone = target == nil && now >= idleSince + Forwards.nobodyPatienceMilliseconds
        return isLeftAlone || now >= since + Forwards.totalPatienceMilliseconds
    }
}

/// Requests for shards that others answer, from when they came to when they are answered.
///
/// Those of a shard are with one member at a time and go there in order. So a connection's requests
/// are carried out in the order of its lines, and a client that stays with this node sees its own
/// writes.
struct Forwards: Sendable {
    /// The forwards of one shard.
    private struct Queue {
        /// With whom those are that are underway.
        var target: NodeName?
        var underway: Set<UInt64> = []
        /// Those that are with nobody, in order.
        var waiting: [UInt64] = []
        var round: UInt64

        var isEmpty: Bool { underway.isEmpty && waiting.isEmpty }
    }

    /// How many times a write gets a greater time before it is given up: each time, somebody else
    /// wrote the same in between.
    static let raisesMax = 8
    /// How long a member may take to answer before the next is asked, in milliseconds.
    static let patienceMilliseconds: UInt64 = 500
    /// The same for one who said that it waits for disks: longer than any reply waits for copies.
    static let takenPatienceMilliseconds: UInt64 = 1_500
    /// Whether a member, last heard of a request at this time, has left it unanswered for too long.
    static func isOverdue(since heardAt: UInt64, isTaken: Bool, _ now: UInt64) -> Bool {
        now >= heardAt + (isTaken ? takenPatienceMilliseconds : patienceMilliseconds)
    }

    /// How long a request waits for somebody who could answer it, in milliseconds.
    static let nobodyPatienceMilliseconds: UInt64 = 1_000
    /// After how long a request is given up in any case, in milliseconds.
    static let totalPatienceMilliseconds: UInt64 = 3_000
    /// The most requests that wait for others, and the most bytes of them.
    static let countMax = 131_072
    static let bytesMax = 64 << 20
    /// From here on clients have to wait: what they had sent already still finds room.
    static let countHigh = 8_192
    static let bytesHigh = 16 << 20
    /// The most parts of one answer, each of at most 256 KiB and one thing more.
    static let partsMax = 1_024
    /// The most parts of all answers that wait for their rest, 16 MiB as they travel: whoever asked
    /// for one more is refused.
    static let partsHeldMax = 64

    /// By number; whoever goes through them does so in order of numbers.
    private var entries: [UInt64: Forward] = [:]
    private var queues: [ShardID: Queue] = [:]
    /// The slots of each session that wait here, ascending.
    private var slots: [UInt64: [UInt64]] = [:]
    private(set) var bytes = 0
    /// The last round that began.
    private var round: UInt64 = 0

    var count: Int { entries.count }
    /// How many parts wait for the rest of their answers; asked only when one more comes.
    var partsCount: Int { entries.values.reduce(0) { $0 + $1.parts } }
    var isEmpty: Bool { entries.isEmpty }
    var isFull: Bool { entries.count >= Forwards.countMax || bytes >= Forwards.bytesMax }
    var isHigh: Bool { entries.count >= Forwards.countHigh || bytes >= Forwards.bytesHigh }
    var isLow: Bool { entries.count < Forwards.countHigh / 2 && bytes < Forwards.bytesHigh / 2 }

    subscript(number: UInt64) -> Forward? { entries[number] }

    /// Whether no request of a shard is with others.
    func isIdle(_ shard: ShardID) -> Bool { queues[shard] == nil }

    /// The first reply of a session that waits for others.
    func firstSlot(of session: UInt64) -> UInt64? { slots[session]?.first }

    /// The shards of which something waits for somebody, ascending.
    var waitingShards: [ShardID] { queues.filter { !$1.waiting.isEmpty }.keys.sorted() }
}

// MARK: In and out

extension Forwards {
    /// Takes a request in, behind those of its shard.
    mutating func add(_ forward: Forward, as number: UInt64) {
        entries[number] = forward
        queues[forward.shard, default: Queue(round: round)].waiting.append(number)
        slots[forward.slot.session, default: []].append(forward.slot.number)
        bytes += forward.size
    }

    /// Takes out those of a shard that wait, in order, where nothing stands in their way: what is
    /// with another member is answered first.
    ///
    /// - Parameter target: who is asked; nil for this node.
    mutating func takeWaiting(of shard: ShardID, for target: NodeName?) -> [UInt64] {
        guard let queue = queues[shard], queue.underway.isEmpty || queue.target == target else {
            return []
        }
        queues[shard]?.waiting = []
        return queue.waiting
    }

    /// The round in which the next of a shard are sent.
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

    /// What could not be sent waits again, in its order.
    mutating func putBack(_ numbers: [UInt64], of shard: ShardID) {
        let waiting = queues[shard]?.waiting ?? []
        queues[shard, default: Queue(round: round)].waiting = (waiting + numbers).sorted()
    }

    mutating func note(_ number: UInt64, _ body: (inout Forward) -> Void) {
        guard var forward = entries[number] else { return }
        body(&forward)
        entries[number] = forward
    }

    /// Ends one that is underway, or that `takeWaiting` gave out.
    mutating func remove(_ number: UInt64) -> Forward? {
        guard let forward = forget(number) else { return nil }
        queues[forward.shard]?.underway.remove(number)
        if forward.target == nil, let place = queues[forward.shard]?.waiting.firstIndex(of: number)
        {
            queues[forward.shard]?.waiting.remove(at: place)
        }
        if queues[forward.shard]?.isEmpty ?? false { queues[forward.shard] = nil }
        return forward
    }

    private mutating func forget(_ number: UInt64) -> Forward? {
        guard let forward = entries.removeValue(forKey: number) else { return nil }
        bytes -= forward.size
        let slot = forward.slot
        if let place = slots[slot.session]?.firstIndex(of: slot.number) {
            slots[slot.session]?.remove(at: place)
        }
        if slots[slot.session]?.isEmpty ?? false { slots[slot.session] = nil }
        return forward
    }

    /// Ends those of a session and a shard that wait for somebody, in order.
    mutating func removeWaiting(of shard: ShardID, for session: UInt64) -> [Forward] {
        let waiting = queues[shard]?.waiting ?? []
        return waiting.filter { entries[$0]?.slot.session == session }.compactMap { remove($0) }
    }

    /// Ends those that waited for too long, in order.
    mutating func removeHopeless(now: UInt64) -> [Forward] {
        let lost = entries.filter { $1.isHopeless(now) }
        guard !lost.isEmpty else { return [] }
        for shard in Set(lost.values.map(\.shard)) {
            queues[shard]?.underway.subtract(lost.keys)
            queues[shard]?.waiting.removeAll { lost[$0] != nil }
            if queues[shard]?.isEmpty ?? false { queues[shard] = nil }
        }
        return lost.keys.sorted().compactMap { number in
            var forward = forget(number)
            // Who has it may still execute it.
            if forward?.target != nil { forward?.mayBeDone = true }
            return forward
        }
    }
}

// MARK: Taking back

extension Forwards {
    /// A member cannot do one, and does none of the same round that it has not done: they wait for
    /// another.
    ///
    /// - Parameters:
    ///   - isUndone: whether it is certain that it was not carried out.
    ///   - deniesLater: whether the member denies all of the round that comes after it, too: what
    ///     is sent within a round arrives in the order of its numbers, or too late.
    mutating func takeBack(_ denied: UInt64, isUndone: Bool, deniesLater: Bool = false) {
        guard let forward = entries[denied], let target = forward.target else { return }
        // Who had carried it out, and lost it again, may keep what follows.
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

    /// A member is gone: what was with it waits for another, also what it had carried out.
    mutating func takeBack(from target: NodeName, now: UInt64) {
        for shard in queues.keys.sorted() {
            let numbers = (queues[shard]?.underway ?? []).filter { entries[$0]?.target == target }
            takeBack(Array(numbers), of: shard, now: now)
        }
    }

    /// Takes back what has waited too long for an answer, and what is with the same member for the
    /// same shard.
    ///
    /// - Returns: who did not answer for which shard, in order.
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

    /// - Parameter now: nil where they were with nobody who might have answered.
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
