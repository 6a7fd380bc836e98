import CRDT
import Chat
import StorePort
import Wire

/// The counted runs of a shard that are in memory: those that wait for the disk, and the counts of
/// the newest messages of conversations that are written to.
struct ShardCounts: Sendable {
    private struct Pending {
        var run: CountedRun
        /// The last commit that the run was handed to; 0 before the first.
        var ticket: UInt64
    }

    /// The ends of a conversation's runs, and the counts of the messages that follow.
    struct Tail: Sendable {
        /// The end of the last run of each level, lowest level first; zero for a level without
        /// runs.
        var ends: [HybridTimestamp]
        /// The counts of the messages behind the last run; nil if they have not been counted.
        var counts: MessageCounts?
    }

    let fanOutBits: Int
    private var pending: [CountedRunKey: Pending] = [:]
    /// The keys of the runs that have changed since the last commit was handed out, in order.
    private var changed: [CountedRunKey] = []
    private var tails: [ConversationID: Tail] = [:]

    /// The most conversations whose tails are kept; when there are as many, all are dropped.
    private static let tailsMax = 256

    init(fanOutBits: Int = CountedRun.fanOutBits) { self.fanOutBits = fanOutBits }

    subscript(tail conversation: ConversationID) -> Tail? {
        get { tails[conversation] }
        set {
            if newValue != nil, tails.count >= ShardCounts.tailsMax { tails = [:] }
            tails[conversation] = newValue
        }
    }

    /// Adds a message behind all others to the counts of the tail, if they are kept.
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
    /// Each replaces the row with the same start on disk, even if it has ceased to overlap the span
    /// that is looked for.
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

    /// Returns to the state on disk.
    mutating func removeAll() { self = ShardCounts(fanOutBits: fanOutBits) }
}
