import CRDT
import Chat
import Wire

/// The space on the disk of the data folder, in bytes.
package struct DiskSpace: Hashable, Sendable {
    package let freeBytes: UInt64
    package let totalBytes: UInt64
    /// The length of SQLite's WAL; the database file may grow by as much.
    package let logBytes: UInt64
    /// Whether the reserve, the space that is kept for deletions, is allocated.
    package let isReserved: Bool

    package init(freeBytes: UInt64, totalBytes: UInt64, logBytes: UInt64, isReserved: Bool) {
        self.freeBytes = freeBytes
        self.totalBytes = totalBytes
        self.logBytes = logBytes
        self.isReserved = isReserved
    }

    /// The value where the system does not say: enough space, until a write fails.
    static let unknown = DiskSpace(
        freeBytes: .max, totalBytes: .max, logBytes: 0, isReserved: true)
}

/// A position in a walk through a shard's documents, in the store's own terms.
package protocol CheckMark: Sendable {}

/// A part of a shard's documents on disk, each of them checked.
package struct CheckedPart: Sendable {
    /// The number of documents, intact and damaged.
    package private(set) var rows = 0
    /// The sum of the intact documents.
    package private(set) var sum = DocumentSum()
    /// The documents whose bytes are not what was written.
    package private(set) var bad: [DocumentKey] = []
    /// The intact documents that some index does not lead to, as records to be written again.
    package private(set) var unindexed: [Record] = []
    /// Whether every intact document could be decoded; one beyond this version's limits cannot, and
    /// is in neither `rows` nor `sum`.
    package var isKnown = true
    /// The position of the next part; nil at the end of the shard.
    package var next: (any CheckMark)?

    package init() {}

    package mutating func add(_ document: Document, bytes: [UInt8], isIndexed: Bool) {
        rows += 1
        sum.add(document, bytes: bytes)
        guard !isIndexed else { return }
        unindexed.append(Record(of: document, bytes: bytes, previous: nil))
    }

    package mutating func add(bad key: DocumentKey) {
        rows += 1
        bad.append(key)
    }
}

/// The sum of some documents, to be compared with a replica header.
package struct DocumentSum: Hashable, Sendable {
    /// The seqs that the documents name.
    private(set) var vector = Vector()
    private(set) var digest = Hash128.zero
    /// The number of documents of each kind, by the number of the kind.
    private(set) var counts: [UInt64] = []
    /// The greatest timestamp in the documents, of those that a clock follows.
    private(set) var greatest = HybridTimestamp.zero

    package init() {}

    mutating func add(_ document: Document, bytes: [UInt8]) {
        vector.insert(document.changedBy)
        digest += Document.digest(of: document.key, bytes: bytes)
        let kind = Int(document.key.kind.number)
        while counts.count <= kind { counts.append(0) }
        counts[kind] += 1
        let time = document.greatestTime
        if time.isFollowed { greatest = max(greatest, time) }
    }

    mutating func add(_ other: DocumentSum) {
        vector.formUnion(other.vector)
        digest += other.digest
        while counts.count < other.counts.count { counts.append(0) }
        for (kind, count) in other.counts.enumerated() { counts[kind] += count }
        greatest = max(greatest, other.greatest)
    }
}

/// The reasons why a backup fails.
package enum BackupFailure: Error, Hashable, Sendable {
    case exists
    case noFolder
    /// The folder cannot be written to.
    case forbidden
    case full
    case failed(String)
}

/// The maintenance of a disk, besides storing and reading.
package protocol Maintenance {
    /// The space on the disk; nil where the system does not say.
    var diskSpace: DiskSpace? { get }

    /// Sets whether the commits that follow may use the reserve: they are deletions, on a full
    /// disk.
    func setUrgent(_ isUrgent: Bool)

    /// Allocates the reserve, the space that is kept for deletions, unless it exists or the disk
    /// has too little space.
    func makeReserve()

    /// Empties the write log and SQLite's WAL.
    ///
    /// The result comes as `Node.onLogEmptied`, after which no file contains what was deleted
    /// before.
    func emptyLog()

    /// Reads the next documents of a shard, and checks their bytes and that every index leads to
    /// them.
    ///
    /// The finding about indexes is valid only while no commit of the shard is under way.
    func check(
        _ shard: ShardID, after mark: (any CheckMark)?, rowsMax: Int
    ) throws(StoreFailure) -> CheckedPart

    /// Forgets that the disk had lost acknowledged writes at the start: they have been fetched, or
    /// are given up.
    func forgetLoss()

    /// Copies all that is committed into a file; the result comes as `Node.onBackedUp`.
    ///
    /// - Parameter file: an absolute path, or a name in the folder for backups.
    func backUp(to file: String)
}

/// The default for stores that lose nothing.
extension Maintenance {
    package func forgetLoss() {}
}
