import CRDT
import Chat
import Wire

/// What is stored of a shard's header: the caller's bytes.
package struct HeaderRows: Sendable {
    /// Digest, counters, greatest stamp, and what of the vector is not in the base.
    package let header: [UInt8]
    /// A part of the vector that seldom changes, in a row of its own; nil where it stays as it is.
    package let base: [UInt8]?

    package init(header: [UInt8], base: [UInt8]? = nil) {
        self.header = header
        self.base = base
    }

    var bytesCount: Int { header.count + (base?.count ?? 0) }

    /// What is on disk after both, the other one first.
    func following(_ first: HeaderRows?) -> HeaderRows {
        HeaderRows(header: header, base: base ?? first?.base)
    }
}

extension [ShardID: HeaderRows] {
    /// Adds what is stored behind it.
    mutating func follow(with later: HeaderRows, of shard: ShardID) {
        self[shard] = later.following(self[shard])
    }
}

/// What is stored of one shard in one transaction: documents, and the header that counts them.
package struct CopyWrite: Sendable {
    package let shard: ShardID
    package let header: HeaderRows
    package var documents: [Record]
    /// Documents set aside because their bytes are bad: their rows go, whatever they say.
    package var removed: [DocumentKey]
    /// Whether the tables that lead to the shard's documents are made anew from those.
    ///
    /// Where documents are set aside, what led to them has to go as well.
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

/// What is stored together or not at all.
package struct WriteBatch: Sendable {
    /// Copies that go, with all that is in them, before anything below is stored.
    package var dropped: [ShardID]
    package var shards: [CopyWrite]
    package var settings: [(String, [UInt8])]
    /// How many failures (`Writer.failures`) the state knew of from which it was built.
    ///
    /// A batch built on a failed one would claim seqs whose documents are on no disk: where the
    /// writer has had more failures than this, the batch fails too. Nil: it depends on no batch
    /// before it.
    package var failuresKnown: Int?
    /// Whether it has to pass on a full disk, on the room that is kept for that.
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
    /// What a row costs beside its bytes: its keys in three tables.
    private static let rowBytes = 256

    /// About as many bytes as it occupies while it waits.
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

    /// Whether what is kept for deleting may be given up for it.
    var mayUseReserve: Bool { isUrgent || purges }

    var purges: Bool {
        !dropped.isEmpty
            || shards.contains { !$0.removed.isEmpty || $0.documents.contains(where: \.purges) }
    }

    /// What in it the tables have no room for, nil where all fits.
    ///
    /// Keys and seqs come from peers: one that does not fit is refused, not cut and not trapped
    /// on.
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
    /// The tables keep signed numbers.
    private static let numberMax = UInt64(Int64.max)

    var misfit: String? {
        if key.isTooLong { return "the key \(key)" }
        let (time, timeBefore) = (time.bits, previous?.time.bits ?? 0)
        // Where a document stands that is no message is found without its time.
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
