import CRDT
import Replication
import StorePort
import Wire

/// The result of a scrub.
package struct ScrubReport: Hashable, Sendable {
    /// The number of documents that were read.
    package internal(set) var checked: UInt64 = 0
    /// The number of documents that were set aside, to be fetched from other nodes.
    package internal(set) var bad: UInt64 = 0
    /// The number of documents that an index did not lead to; these were written again.
    package internal(set) var unindexed: UInt64 = 0
    /// The number of shards whose documents did not match their header, which was recomputed.
    package internal(set) var miscounted: UInt64 = 0
    /// The number of shards that changed too often to be counted; their documents are good.
    package internal(set) var busy: UInt64 = 0
    package internal(set) var milliseconds: UInt64 = 0
}

/// The progress of a scrub through the documents on disk, and their comparison with the headers.
///
/// The scrubber is a value type: the node reads the documents that the scrubber requests, and
/// executes its verdicts.
struct Scrubber: Sendable {
    /// The number of documents read in a turn while an operator waits: one or two milliseconds.
    static let rowsPerTurn = 64
    /// The number of documents read each tick by a background scrub: about 300 a second, or 25
    /// million a day.
    static let rowsPerTick = 32
    /// The maximum number of attempts to read a shard that changes meanwhile.
    static let attemptsMax = 3
    /// The maximum number of turns that a scrub waits for a shard with uncommitted changes.
    static let patienceTurns = 32
    /// The time from the node's start to the first background scrub, in milliseconds, and the time
    /// between two background scrubs.
    static let firstMilliseconds: UInt64 = 60_000
    static let restMilliseconds: UInt64 = 12 * 3_600_000

    /// A walk through all documents of one shard.
    private struct Walk: Sendable {
        let shard: ShardID
        var mark: (any CheckMark)?
        var sum = DocumentSum()
        /// The header at the start of the walk; nil if changes were uncommitted.
        var stated: ReplicaHeader?
        var attempt: Int
        var turnsWaited = 0
        var hasBegun = false
        var isKnown = true
    }

    enum Verdict: Hashable, Sendable {
        /// Further documents of the shard are to be read, or the next shard.
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

    /// The shard whose documents are read next.
    var shard: ShardID? { walk?.shard }

    var isWalking: Bool { walk != nil }

    mutating func begin(_ shards: [ShardID], now: UInt64) {
        report = ScrubReport()
        beganAt = now
        left = shards.reversed()
        nextShard()
    }

    /// Returns whether documents of the current shard are to be read in this turn.
    ///
    /// - Parameter isSettled: whether all changes of the shard are on disk.
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

    /// Handles the result of reading some documents.
    ///
    /// - Parameters:
    ///   - isSettled: whether all changes of the shard are on disk.
    ///   - stored: the header of the shard on disk.
    mutating func onRead(_ part: CheckedPart, isSettled: Bool, stored: ReplicaHeader) -> Verdict {
        guard var walk else { return .goOn }
        if walk.attempt == 1 { report.checked += UInt64(part.rows) }
        guard part.bad.isEmpty else {
            // The repair recomputes the shard's header without the bad documents, and reads the
            // whole shard for that.
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

    /// Continues with the next shard, because the current shard was dropped, cannot be read, or is
    /// being repaired already.
    mutating func skip() { nextShard() }

    /// Returns the result of the finished scrub.
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
    /// Whether the header matches documents with the sum `sum`.
    ///
    /// The header may contain more seqs than the documents name, since no document names a
    /// superseded seq, and its greatest time may be later than those of the documents. `greatest`
    /// may leave out a time years ahead, which the clock does not follow, so the comparison uses
    /// `latest`, which includes such times.
    func isSum(_ sum: DocumentSum) -> Bool {
        digest == sum.digest && documents == sum.counts.reduce(0, +)
            && sum.counts.enumerated().allSatisfy { count(ofKind: UInt8(clamping: $0)) == $1 }
            && vector.covers(sum.vector) && latest >= sum.greatest
    }
}
