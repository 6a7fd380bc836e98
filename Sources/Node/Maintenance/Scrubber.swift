import CRDT
import Replication
import StorePort
import Wire

/// The result of a scrub.
package struct ScrubReport: Hashable, Sendable {
    /// Documents that were read.
    package internal(set) var checked: UInt64 = 0
    /// Documents that were set aside, to be fetched from other nodes.
    package internal(set) var bad: UInt64 = 0
    /// Documents that an index did not lead to; they were written again.
    package internal(set) var unindexed: UInt64 = 0
    /// Shards whose documents did not match their header, and that were counted anew.
    package internal(set) var miscounted: UInt64 = 0
    /// Shards that changed too often to be counted: their documents are good.
    package internal(set) var busy: UInt64 = 0
    package internal(set) var milliseconds: UInt64 = 0
}

/// The progress of a scrub through the documents on disk, and the comparison with the headers.
///
/// A value type: the node reads what the scrubber asks for, and carries out what it decides.
struct Scrubber: Sendable {
    /// The documents read in a turn while an operator waits: that takes a millisecond or two.
    static let rowsPerTurn = 64
    /// The documents read each tick otherwise: some 300 a second, 25 million a day.
    static let rowsPerTick = 32
    /// How often a shard is read that changes meanwhile.
    static let attemptsMax = 3
    /// For how many turns a scrub waits for a shard with uncommitted changes.
    static let patienceTurns = 32
    /// The time from the start to the first background scrub, and from one to the next, in
    /// milliseconds.
    static let firstMilliseconds: UInt64 = 60_000
    static let restMilliseconds: UInt64 = 12 * 3_600_000

    /// A walk through a shard.
    private struct Walk: Sendable {
        let shard: ShardID
        var mark: (any CheckMark)?
        var sum = DocumentSum()
        /// The header when the walk began; nil if changes were uncommitted.
        var stated: ReplicaHeader?
        var attempt: Int
        var turnsWaited = 0
        var hasBegun = false
        var isKnown = true
    }

    enum Verdict: Hashable, Sendable {
        /// More of the shard is to be read, or the next shard.
        case goOn
        /// The documents of the shard do not match its header.
        case miscounted(ShardID)
        /// The shard was read to its end, and its documents match its header.
        case whole(ShardID, ReplicaHeader)
    }

    private var left: [ShardID] = []
    private var walk: Walk?
    private var beganAt: UInt64 = 0
    private(set) var report = ScrubReport()

    /// The shard to be read next.
    var shard: ShardID? { walk?.shard }

    var isWalking: Bool { walk != nil }

    mutating func begin(_ shards: [ShardID], now: UInt64) {
        report = ScrubReport()
        beganAt = now
        left = shards.reversed()
        nextShard()
    }

    /// Whether documents of the present shard are to be read in this turn.
    ///
    /// - Parameter isSettled: whether all of the shard is on disk.
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

    /// Takes the result of reading some documents.
    ///
    /// - Parameters:
    ///   - isSettled: whether all of the shard is on disk.
    ///   - stored: the header of the shard on disk.
    mutating func onRead(_ part: CheckedPart, isSettled: Bool, stored: ReplicaHeader) -> Verdict {
        guard var walk else { return .goOn }
        if walk.attempt == 1 { report.checked += UInt64(part.rows) }
        guard part.bad.isEmpty else {
            // The repair counts the shard anew without them, for which it reads all of the shard.
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

    /// Goes on with the next shard: this one was dropped, cannot be read, or is being repaired
    /// already.
    mutating func skip() { nextShard() }

    /// The result of the scrub, once all of it is done.
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
    /// Whether the header matches documents that add up to this.
    ///
    /// The header may contain more seqs than the documents name, since no document names a
    /// superseded one, and may have seen a greater stamp. `greatest` may leave out a time years
    /// ahead, which the clock does not follow; `latest` never does.
    func isSum(_ sum: DocumentSum) -> Bool {
        digest == sum.digest && documents == sum.counts.reduce(0, +)
            && sum.counts.enumerated().allSatisfy { count(ofKind: UInt8(clamping: $0)) == $1 }
            && vector.covers(sum.vector) && latest >= sum.greatest
    }
}
