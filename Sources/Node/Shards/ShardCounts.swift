import CRDT
import Chat
import StorePort
import Wire

/// The counted runs of a shard that are in memory: the runs that wait for the disk, and the counts
/// of the newest messages of conversations that are written to.
struct ShardCounts: Sendable {
    private struct Pending {
        var run: CountedRun
        /// The number of the last commit that includes the run; 0 before the first commit.
        var ticket: UInt64
    }

    /// The ends of a conversation's runs, and the counts of the messages after the last run.
    struct Tail: Sendable {
        /// The end of the last run of each level, lowest level first; zero for a level without
        /// runs.
        var ends: [HybridTimestamp]
        /// The counts of the messages after the last run; nil if they have not been counted.
        var counts: MessageCounts?
    }

    let fanOutBits: Int
    private var pending: [CountedRunKey: Pending] = [:]
    /// The keys of the runs that have changed since the last commit began, in order.
    private var changed: [CountedRunKey] = []
    private var tails: [ConversationID: Tail] = [:]

    /// The greatest number of tails in memory; when it is reached, all tails are dropped.
    private static let tailsMax = 256

    init(fanOutBits: Int = CountedRun.fanOutBits) { self.fanOutBits = fanOutBits }

    subscript(tail conversation: ConversationID) -> Tail? {
        get { tails[conversation] }
        set {
            if newValue != nil, tails.count >= ShardCounts.tailsMax { tails = [:] }
            tails[conversation] = newValue
        }
    }

    /// Adds a conversation's newest message to the counts of its tail, if the tail is in memory.
    mutating func append(_ document: Document, to conversation: ConversationID) {
        guard let index = tails.index(forKey: conversation) else { return }
        tails.values[index].counts?.add(document)
    }

    mutating func put(_ run: CountedRun, at key: CountedRunKey) {
        if let index = pending.index(forKey: key) {
            if pending.values[index].ticket > 0 { changed.append(key) }
            pending.values[index] = Pending(run: run, ticket: 0)
        } else {
            changed.append(key)
            pending[key] = Pending(run: run, ticket: 0)
        }
    }

    /// Returns the runs of a level that wait for the disk, unordered.
    ///
    /// Each run replaces the row with the same start on disk, even if the run does not overlap the
    /// requested span any more.
    func runs(of conversation: ConversationID, level: UInt8) -> [CountedRun] {
        guard !pending.isEmpty else { return [] }
        return pending.filter {
            $0.key.level == level && $0.key.conversation == conversation
        }.map(\.value.run)
    }

    mutating func takeWrites(for ticket: UInt64) -> [CountedRunWrite] {
        guard !changed.isEmpty else { return [] }
        defer { changed = [] }
        return changed.compactMap { key in
            guard let index = pending.index(forKey: key) else { return nil }
            pending.values[index].ticket = ticket
            return CountedRunWrite(key: key, run: pending.values[index].run)
        }
    }

    mutating func onCommitted(_ ticket: UInt64) {
        guard !pending.isEmpty else { return }
        pending = pending.filter { $0.value.ticket == 0 || $0.value.ticket > ticket }
    }

    /// Drops all runs and tails in memory, which returns to the state on disk.
    mutating func removeAll() { self = ShardCounts(fanOutBits: fanOutBits) }
}
