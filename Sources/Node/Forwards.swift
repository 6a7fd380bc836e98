import Chat
import Replication
import Wire

/// Requests for shards that others answer, from when they came to when they are answered.
///
/// Those of a shard are with one member at a time and go there in order. So a connection's requests
/// are carried out in the order of its lines, and a client that stays with this node sees its own
/// writes.
struct Forwards: Sendable {
    struct Forward: Sendable {
        let shard: ShardID
        let request: Ask.Request
        let slot: ReplySlot
        /// What it counts for, in bytes.
        let size: Int
        let since: UInt64
        /// With whom it is; nil while it waits for somebody.
        var target: NodeName?
        var sentAt: UInt64 = 0
        /// Since when it is with nobody who might answer.
        var idleSince: UInt64
        /// The target has carried it out, and waits for disks.
        var isTaken = false
        /// Somebody who was asked did not answer, and may have carried it out.
        var mayBeDone = false
        /// What the target has found so far.
        var found: Findings?
        var parts = 0
        /// Why the last who was asked could not do it.
        var failure: ShardFailure?

        init(
            _ request: Ask.Request, of shard: ShardID, for slot: ReplySlot, size: Int, now: UInt64
        ) {
            self.shard = shard
            self.request = request
            self.slot = slot
            self.size = size
            since = now
            idleSince = now
        }

        /// What is asked of the next: the one before may have carried it out.
        var next: Ask.Request {
            guard case .write(let mutation, let level, _) = request, mayBeDone else {
                return request
            }
            return .write(mutation, level, .again)
        }

        func isOverdue(_ now: UInt64) -> Bool {
            let patience =
                isTaken ? Forwards.takenPatienceMilliseconds : Forwards.patienceMilliseconds
            return target != nil && now >= sentAt + patience
        }

        func isHopeless(_ now: UInt64) -> Bool {
            let isLeftAlone =
                target == nil && now >= idleSince + Forwards.nobodyPatienceMilliseconds
            return isLeftAlone || now >= since + Forwards.totalPatienceMilliseconds
        }
    }

    /// The forwards of one shard.
    private struct Queue {
        /// With whom those are that are underway.
        var target: NodeName?
        var underway = 0
        /// Those that are with nobody, in order.
        var waiting: [UInt64] = []
    }

    /// How long a member may take to answer before the next is asked, in milliseconds.
    static let patienceMilliseconds: UInt64 = 500
    /// The same for one who said that it waits for disks: longer than any reply waits for copies.
    static let takenPatienceMilliseconds: UInt64 = 1_500
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

    /// By number; whoever goes through them does so in order of numbers.
    private var entries: [UInt64: Forward] = [:]
    private var queues: [ShardID: Queue] = [:]
    private var bytes = 0

    var isEmpty: Bool { entries.isEmpty }
    var isFull: Bool { entries.count >= Forwards.countMax || bytes >= Forwards.bytesMax }
    var isHigh: Bool { entries.count >= Forwards.countHigh || bytes >= Forwards.bytesHigh }
    var isLow: Bool { entries.count < Forwards.countHigh / 2 && bytes < Forwards.bytesHigh / 2 }

    subscript(number: UInt64) -> Forward? { entries[number] }

    /// Whether no request of a shard is with others.
    func isIdle(_ shard: ShardID) -> Bool { queues[shard] == nil }

    /// Takes a request in, behind those of its shard.
    mutating func add(_ forward: Forward, as number: UInt64) {
        entries[number] = forward
        queues[forward.shard, default: Queue()].waiting.append(number)
        bytes += forward.size
    }

    /// Takes out those of a shard that wait, in order, where nothing stands in their way: what is
    /// with another member is answered first.
    ///
    /// - Parameter target: who is asked; nil for this node.
    mutating func takeWaiting(of shard: ShardID, for target: NodeName?) -> [UInt64] {
        guard let queue = queues[shard], queue.underway == 0 || queue.target == target else {
            return []
        }
        queues[shard]?.waiting = []
        return queue.waiting
    }

    mutating func noteSent(_ number: UInt64, to target: NodeName, now: UInt64) {
        guard let shard = entries[number]?.shard else { return }
        entries[number]?.target = target
        entries[number]?.sentAt = now
        entries[number]?.isTaken = false
        entries[number]?.found = nil
        queues[shard]?.target = target
        queues[shard]?.underway += 1
    }

    /// What could not be sent waits again, in its order.
    mutating func putBack(_ numbers: [UInt64], of shard: ShardID) {
        let waiting = queues[shard]?.waiting ?? []
        queues[shard, default: Queue()].waiting = (waiting + numbers).sorted()
    }

    mutating func note(_ number: UInt64, _ body: (inout Forward) -> Void) {
        guard var forward = entries[number] else { return }
        body(&forward)
        entries[number] = forward
    }

    /// Ends one, also one that `takeWaiting` gave out.
    mutating func remove(_ number: UInt64) -> Forward? {
        guard let forward = entries.removeValue(forKey: number) else { return nil }
        bytes -= forward.size
        guard var queue = queues[forward.shard] else { return forward }
        if forward.target == nil {
            if let place = queue.waiting.firstIndex(of: number) { queue.waiting.remove(at: place) }
        } else {
            queue.underway -= 1
        }
        queues[forward.shard] = queue.underway == 0 && queue.waiting.isEmpty ? nil : queue
        return forward
    }

    /// Takes those of a shard back from a member who cannot do them, but for those that it has
    /// carried out.
    ///
    /// - Parameter denied: the one that it said so of.
    mutating func takeBack(of shard: ShardID, from target: NodeName, denied: UInt64) {
        let mayBeDone = entries[denied]?.mayBeDone ?? false
        entries[denied]?.isTaken = false
        takeBack { $0.shard == shard && $0.target == target && !$0.isTaken }
        entries[denied]?.mayBeDone = mayBeDone
    }

    /// A member is gone: what was with it waits for another, also what it had carried out.
    mutating func takeBack(from target: NodeName, now: UInt64) {
        takeBack(now) { $0.target == target }
    }

    /// Takes back what has waited too long for an answer, and what is with the same member for the
    /// same shard.
    ///
    /// - Returns: who did not answer, ascending.
    mutating func takeBackOverdue(now: UInt64) -> [NodeName] {
        var silent: [ShardID: Set<NodeName>] = [:]
        for (number, forward) in entries where forward.isOverdue(now) {
            guard let target = forward.target else { continue }
            silent[forward.shard, default: []].insert(target)
            entries[number]?.isTaken = false
        }
        guard !silent.isEmpty else { return [] }
        takeBack(now) { forward in
            forward.target.map { silent[forward.shard]?.contains($0) ?? false } ?? false
                && !forward.isTaken
        }
        return Set(silent.values.joined()).sorted()
    }

    /// - Parameter now: nil where they were with nobody who might have answered.
    private mutating func takeBack(_ now: UInt64? = nil, where isTakenBack: (Forward) -> Bool) {
        var lost: [ShardID: [UInt64]] = [:]
        for (number, forward) in entries where isTakenBack(forward) {
            lost[forward.shard, default: []].append(number)
        }
        for (shard, numbers) in lost {
            for number in numbers {
                entries[number]?.target = nil
                entries[number]?.isTaken = false
                entries[number]?.mayBeDone = true
                if let now { entries[number]?.idleSince = now }
            }
            queues[shard]?.underway -= numbers.count
            putBack(numbers, of: shard)
        }
    }

    /// Those that are given up, in order.
    func hopeless(_ now: UInt64) -> [UInt64] {
        entries.filter { $1.isHopeless(now) }.keys.sorted()
    }

    /// The shards of which something waits for somebody, ascending.
    var waitingShards: [ShardID] { queues.filter { !$1.waiting.isEmpty }.keys.sorted() }
}
