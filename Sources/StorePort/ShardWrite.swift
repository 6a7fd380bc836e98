import CRDT
import Chat
import Replication
import Wire

/// The write of one shard in a commit: what has changed, and the header that counts it.
package struct ShardWrite: Sendable {
    package let shard: ShardID
    package let header: ReplicaHeader
    /// The row that the header builds on, if that has changed.
    package let base: [UInt8]?
    package let records: [Record]
    /// Documents that are set aside because their bytes are bad.
    ///
    /// The counted runs of their conversations are removed with them.
    package let removed: [DocumentKey]
    /// The counted runs that have changed.
    package let runs: [CountedRunWrite]
    /// Whether the indexes of the shard are made anew from its documents.
    package let isReindexed: Bool

    package init(
        shard: ShardID, header: ReplicaHeader, base: [UInt8]? = nil, records: [Record],
        removed: [DocumentKey] = [], runs: [CountedRunWrite] = [], isReindexed: Bool = false
    ) {
        self.shard = shard
        self.header = header
        self.base = base
        self.records = records
        self.removed = removed
        self.runs = runs
        // Index rows that lead to removed documents have to be removed, too.
        self.isReindexed = isReindexed || !removed.isEmpty
    }
}

/// The key of a counted run: a row of the index.
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

    package init(key: CountedRunKey, run: CountedRun) {
        self.key = key
        self.run = run
    }
}
