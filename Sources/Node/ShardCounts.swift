import CRDT
import Chat
import Wire

/// The place of a counted run: one row of the index.
package struct CountedRunKey: Hashable, Comparable, Sendable {
    package let conversation: ConversationID
    package let level: UInt8
    package let start: HybridTimestamp

    package init(_ conversation: ConversationID, level: UInt8, start: HybridTimestamp) {
        self.conversation = conversation
        self.level = level
        self.start = start
    }

    package static func < (left: CountedRunKey, right: CountedRunKey) -> Bool {
        (left.conversation, left.level, left.start)
            < (right.conversation, right.level, right.start)
    }
}

/// A counted run on its way to disk.
package struct CountedRunWrite: Hashable, Sendable {
    package let key: CountedRunKey
    package let run: CountedRun
}

/// The counted runs of a shard that are in memory: those on their way to disk, and what the newest
/// messages of conversations that are written to come to.
struct ShardCounts: Sendable {
    private struct Pending {
        var run: CountedRun
        /// The last commit it was handed to; 0 before the first.
        var ticket: UInt64
    }

    /// Where the runs of a conversation end, and what follows.
    struct Tail: Sendable {
        /// The end of the last run of each level, the first level first.
        var ends: [HybridTimestamp]
        /// Of the messages behind the last run; nil where they were not counted.
        var counts: MessageCounts?
    }

    let fanOutBits: Int
    private var pending: [CountedRunKey: Pending] = [:]
    /// Changed since the last commit was handed out, in order.
    private var changed: [CountedRunKey] = []
    private var tails: [ConversationID: Tail] = [:]

    /// How many conversations' tails are kept: when there are as many, all of them go.
    private static let tailsMax = 256

    init(fanOutBits: Int = CountedRun.fanOutBits) { self.fanOutBits = fanOutBits }

    subscript(tail conversation: ConversationID) -> Tail? {
        get { tails[conversation] }
        set {
            if newValue != nil, tails.count >= ShardCounts.tailsMax { tails = [:] }
            tails[conversation] = newValue
        }
    }

    /// Counts a message that is behind all others.
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

    /// The runs of a level on their way to disk, in no order: each is as it is whatever the disk
    /// says of the same start, also where it holds nothing any more of what is looked for.
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

    /// Back to what is on disk.
    mutating func removeAll() { self = ShardCounts(fanOutBits: fanOutBits) }
}
