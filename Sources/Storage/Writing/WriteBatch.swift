import CRDT
import Chat
import Wire

/// The stored rows of a shard's header, as bytes that the caller encodes.
package struct HeaderRows: Sendable {
    /// The digest, the counters, the greatest times, and the part of the vector that is not in the
    /// base.
    package let header: [UInt8]
    /// The part of the vector that seldom changes, in a row of its own; nil where it has not
    /// changed.
    package let base: [UInt8]?

    package init(header: [UInt8], base: [UInt8]? = nil) {
        self.header = header
        self.base = base
    }

    var bytesCount: Int { header.count + (base?.count ?? 0) }

    /// Returns the rows that are on disk after an earlier header and this one have been stored.
    func following(_ first: HeaderRows?) -> HeaderRows {
        HeaderRows(header: header, base: base ?? first?.base)
    }
}

extension [ShardID: HeaderRows] {
    /// Adds a header that is stored after the present one.
    mutating func follow(with later: HeaderRows, of shard: ShardID) {
        self[shard] = later.following(self[shard])
    }
}

/// The changes of one shard in one transaction: documents, and the header that counts them.
package struct CopyWrite: Sendable {
    package let shard: ShardID
    package let header: HeaderRows
    package var documents: [Record]
    /// The documents that are set aside because their bytes are damaged; their rows are removed.
    package var removed: [DocumentKey]
    /// Whether the indexes of the shard are rebuilt from its documents.
    ///
    /// Index rows that lead to removed documents have to be removed too.
    package var isReindexed: Bool { isIndexDamaged || !removed.isEmpty }
    private let isIndexDamaged: Bool

    package init(
        shard: ShardID, header: HeaderRows, documents: [Record], removed: [DocumentKey] = [],
        isReindexed: Bool = false
    ) {
        isIndexDamaged = isReindexed
        self.shard = shard
        self.header = header
        self.documents = documents
        self.removed = removed
    }
}

/// The changes that are stored in one transaction or not at all.
package struct WriteBatch: Sendable {
    /// The shard replicas to drop, with all of their rows, before the other changes are stored.
    package var dropped: [ShardID]
    package var shards: [CopyWrite]
    package var settings: [(String, [UInt8])]
    /// The number of failures (`Writer.failures`) that were known when the batch was built.
    ///
    /// A batch that is built on a failed one would claim seqs whose documents are on no disk.
    /// Therefore it fails too if the writer has had more failures by then. Nil means that the batch
    /// depends on no other.
    package var failuresKnown: Int?
    /// Whether the batch may use the reserve of a full disk.
    package var isUrgent: Bool

    package init(
        shards: [CopyWrite] = [], settings: [(String, [UInt8])] = [], dropped: [ShardID] = [],
        failuresKnown: Int? = nil, isUrgent: Bool = false
    ) {
        self.shards = shards
        self.settings = settings
        self.dropped = dropped
        self.failuresKnown = failuresKnown
        self.isUrgent = isUrgent
    }
}

extension WriteBatch {
    /// The bytes that a row costs in addition to its content, for its keys in three tables.
    private static let rowBytes = 256

    /// The approximate memory that the batch takes while it waits, in bytes.
    var bytesCount: Int {
        let documents = shards.reduce(0) { sum, shard in
            shard.documents.reduce(sum + shard.header.bytesCount) {
                $0 + $1.bytes.count + WriteBatch.rowBytes
            }
        }
        return settings.reduce(documents) { $0 + $1.1.count + WriteBatch.rowBytes }
    }

    var rowsCount: Int {
        shards.reduce(settings.count + dropped.count) {
            $0 + 1 + $1.documents.count + $1.removed.count
        }
    }

    /// Whether the reserve for deletions may be given up for the batch.
    var mayUseReserve: Bool { isUrgent || purges }

    var purges: Bool {
        !dropped.isEmpty
            || shards.contains { !$0.removed.isEmpty || $0.documents.contains(where: \.purges) }
    }

    /// A description of the first value that the tables cannot hold; nil where all values fit.
    ///
    /// Keys and seqs come from peers; one that does not fit is refused instead of being truncated
    /// or causing a trap.
    var misfit: String? {
        for shard in shards {
            for document in shard.documents {
                if let misfit = document.misfit { return misfit }
            }
            if let key = shard.removed.first(where: \.isTooLong) { return "the key \(key)" }
        }
        let name = settings.first { $0.0.utf8.count > nameBytesMax }
        return name.map { "the setting \($0.0)" }
    }
}

extension Record {
    /// The greatest number that the tables can hold; SQLite's integers are signed.
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
