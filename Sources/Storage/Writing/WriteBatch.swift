import CRDT
import Chat
import StorePort
import Wire

/// A set of changes that are stored in one transaction or not at all.
package struct WriteBatch: Sendable {
    /// The shard replicas to drop, with all of their rows, before the other changes are stored.
    package var dropped: [ShardID]
    /// The changes of shards; the counted runs are among the records, since the tables store both
    /// alike.
    package let shards: [ShardWrite]
    package var settings: [Setting]
    /// The number of failures (`Writer.failures`) that were known when the batch was built.
    ///
    /// A batch that is built on a failed batch would claim seqs whose documents are on no disk.
    /// Therefore a batch fails if the writer has had more failures by the time of storing. A value
    /// of nil means that the batch depends on no other batch.
    package var failuresKnown: Int?
    /// Whether the batch may use the disk space that is reserved for a full disk.
    package var isUrgent: Bool

    package init(
        shards: [ShardWrite] = [], settings: [Setting] = [], dropped: [ShardID] = [],
        failuresKnown: Int? = nil, isUrgent: Bool = false
    ) {
        self.shards = shards.map(\.withRunsAmongRecords)
        self.settings = settings
        self.dropped = dropped
        self.failuresKnown = failuresKnown
        self.isUrgent = isUrgent
    }
}

extension WriteBatch {
    /// The bytes that a row takes in addition to its content, for its keys in three tables.
    private static let rowBytes = 256

    /// The approximate size of the batch in memory, in bytes.
    var bytesCount: Int {
        let documents = shards.reduce(0) { sum, shard in
            shard.records.reduce(sum + WriteBatch.rowBytes + (shard.base?.count ?? 0)) {
                $0 + $1.bytes.count + WriteBatch.rowBytes
            }
        }
        return settings.reduce(documents) { $0 + $1.value.count + WriteBatch.rowBytes }
    }

    var rowsCount: Int {
        shards.reduce(settings.count + dropped.count) {
            $0 + 1 + $1.records.count + $1.removed.count
        }
    }

    /// Whether the reserve for deletions may be removed for the batch.
    var mayUseReserve: Bool { isUrgent || purges }

    var purges: Bool {
        !dropped.isEmpty
            || shards.contains { !$0.removed.isEmpty || $0.records.contains(where: \.purges) }
    }

    /// A description of the first value that does not fit in the tables; nil if all values fit.
    ///
    /// Keys and seqs come from peers. A value that does not fit is refused; it is neither truncated
    /// nor causes a trap.
    var misfit: String? {
        for shard in shards {
            for record in shard.records {
                if let misfit = record.misfit { return misfit }
            }
            if let key = shard.removed.first(where: \.isTooLong) { return "the key \(key)" }
        }
        let setting = settings.first { $0.name.utf8.count > nameBytesMax }
        return setting.map { "the setting \($0.name)" }
    }
}

extension ShardWrite {
    /// The same write with its counted runs added to its records.
    var withRunsAmongRecords: ShardWrite {
        guard !runs.isEmpty else { return self }
        let rows = runs.map { Record($0.run, of: $0.key.conversation, level: $0.key.level) }
        return ShardWrite(
            shard: shard, header: header, base: base, records: records + rows, removed: removed,
            isReindexed: isReindexed)
    }
}

extension Record {
    /// The greatest number that fits in the tables, since SQLite's integers are signed.
    private static let numberMax = UInt64(Int64.max)

    var misfit: String? {
        if key.isTooLong { return "the key \(key)" }
        let (time, timeBefore) = (time.bits, previous?.time.bits ?? 0)
        // Documents other than messages and counted runs are found under time zero.
        let timeMax = key.kind == .message || key.kind.isCountedRun ? Record.numberMax : 0
        if time > timeMax || timeBefore > timeMax { return "the time of \(key)" }
        if indexKeys.contains(where: isTooLong)
            || previous?.indexKeys.contains(where: isTooLong) ?? false
        {
            return "a term of \(key)"
        }
        let isSeqMisfit =
            changedBy.dots.contains(where: isTooGreat)
            || previous?.changedBy.dots.contains(where: isTooGreat) ?? false
        return isSeqMisfit ? "a seq of \(key)" : nil
    }

    private func isTooLong(_ word: String) -> Bool { word.utf8.count > nameBytesMax }

    private func isTooGreat(_ dot: Dot) -> Bool { dot.seq > Record.numberMax }
}

extension DocumentKey {
    var isTooLong: Bool {
        partition.utf8.count > nameBytesMax || id.utf8.count > nameBytesMax
    }
}
