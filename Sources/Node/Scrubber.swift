import CRDT
import Replication
import Wire

/// What a scrub found.
package struct ScrubReport: Hashable, Sendable {
    /// Documents read.
    package internal(set) var checked: UInt64 = 0
    /// Documents set aside, to be fetched anew.
    package internal(set) var bad: UInt64 = 0
    /// Documents that an index did not lead to, written again.
    package internal(set) var unindexed: UInt64 = 0
    /// Shards counted anew, since they held something else than they said.
    package internal(set) var miscounted: UInt64 = 0
    /// Shards that never held still for long enough to be counted: their documents are good.
    package internal(set) var busy: UInt64 = 0
    package internal(set) var milliseconds: UInt64 = 0
}

/// Walks through all documents on the disk, some at a time, and judges what each shard says of
/// itself.
///
/// A value: the node reads what it asks for, and carries out what it decides.
struct Scrubber: Sendable {
    /// So many documents in a turn while somebody waits for the end: a millisecond or two, then
    /// others are served.
    static let rowsPerTurn = 64
    /// So many each tick while nobody waits: some 300 a second, 25 million a day.
    static let rowsPerTick = 32
    /// How often a shard is walked through that changes meanwhile.
    static let attemptsMax = 3
    /// For how many turns a shard is waited for that has something under way.
    static let patienceTurns = 32
    /// Between the start, and between two walks that nobody asked for, in milliseconds.
    static let firstMilliseconds: UInt64 = 60_000
    static let restMilliseconds: UInt64 = 12 * 3_600_000

    /// One walk through a shard.
    private struct Walk: Sendable {
        let shard: ShardID
        var mark: (any CheckMark)?
        var sum = DocumentSum()
        /// What the shard said of itself when the walk began; nil where something was under way.
        var stated: ReplicaHeader?
        var attempt: Int
        var turnsWaited = 0
        var hasBegun = false
        var isKnown = true
    }

    enum Verdict: Hashable, Sendable {
        /// More of the shard is to be read, or the next one.
        case goOn
        /// The shard holds something else than it says.
        case miscounted(ShardID)
        /// The shard was read to its end, and holds what it says.
        case whole(ShardID, ReplicaHeader)
    }

    private var left: [ShardID] = []
    private var walk: Walk?
    private var beganAt: UInt64 = 0
    private(set) var report = ScrubReport()

    /// The shard of which something is to be read next.
    var shard: ShardID? { walk?.shard }

    var isWalking: Bool { walk != nil }

    mutating func begin(_ shards: [ShardID], now: UInt64) {
        report = ScrubReport()
        beganAt = now
        left = shards.reversed()
        nextShard()
    }

    /// Whether this shard's next documents are read in this turn.
    ///
    /// - Parameter isSettled: all of it is on disk.
    mutating func takesTurn(isSettled: Bool, stored: ReplicaHeader) -> Bool {
        guard let walk else { return false }
        guard isSettled || walk.turnsWaited >= Scrubber.patienceTurns else {
            self.walk?.turnsWaited += 1
            return false
        }
        if !walk.hasBegun { self.walk?.stated = isSettled ? stored : nil }
        self.walk?.hasBegun = true
        return true
    }

    var mark: (any CheckMark)? { walk?.mark }

    /// Some documents were read.
    ///
    /// - Parameters:
    ///   - isSettled: all of the shard is on disk.
    ///   - stored: what the shard says of itself.
    mutating func onRead(_ part: CheckedPart, isSettled: Bool, stored: ReplicaHeader) -> Verdict {
        guard var walk else { return .goOn }
        if walk.attempt == 1 { report.checked += UInt64(part.rows) }
        guard part.bad.isEmpty else {
            // The shard is counted anew without them, and then all of it was read.
            report.bad += UInt64(part.bad.count)
            nextShard()
            return .goOn
        }
        walk.sum.add(part.sum)
        walk.mark = part.next
        walk.isKnown = walk.isKnown && part.isKnown
        self.walk = walk
        guard part.next == nil else { return .goOn }
        guard isSettled, let stated = walk.stated, stated == stored else {
            again(walk)
            return .goOn
        }
        nextShard()
        guard walk.isKnown else { return .goOn }
        guard !stored.isSum(walk.sum) else { return .whole(walk.shard, stored) }
        report.miscounted += 1
        return .miscounted(walk.shard)
    }

    mutating func noteIndexed(_ count: Int) { report.unindexed += UInt64(count) }

    mutating func noteSetAside(_ count: Int) { report.bad += UInt64(count) }

    /// The shard is not held here any more, or is counted anew already.
    mutating func skip() { nextShard() }

    /// What was found, once all is done.
    func report(now: UInt64) -> ScrubReport {
        var report = report
        report.milliseconds = now - beganAt
        return report
    }

    private mutating func again(_ walk: Walk) {
        guard walk.attempt < Scrubber.attemptsMax else {
            report.busy += 1
            return nextShard()
        }
        self.walk = Walk(shard: walk.shard, attempt: walk.attempt + 1)
    }

    private mutating func nextShard() { walk = left.popLast().map { Walk(shard: $0, attempt: 1) } }
}

extension ReplicaHeader {
    /// Whether documents that add up to this are what it tells of.
    ///
    /// The header may claim more seqs than they name, since a superseded one is named by nobody,
    /// and have seen a greater stamp. `greatest` may leave out a time that lies years ahead, which
    /// the clock does not follow; `latest` never does.
    func isSum(_ sum: DocumentSum) -> Bool {
        digest == sum.digest && documents == sum.counts.reduce(0, +)
            && sum.counts.enumerated().allSatisfy { count(ofKind: UInt8(clamping: $0)) == $1 }
            && vector.covers(sum.vector) && latest >= sum.greatest
    }
}
