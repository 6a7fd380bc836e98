import CRDT
import Chat
import Wire

/// How much room there is on the disk.
package struct DiskSpace: Hashable, Sendable {
    package let freeBytes: UInt64
    package let totalBytes: UInt64
    /// What is yet to be folded into the file, which may grow by it.
    package let logBytes: UInt64
    /// Whether the room that is kept for deleting is still kept.
    package let isReserved: Bool

    package init(freeBytes: UInt64, totalBytes: UInt64, logBytes: UInt64, isReserved: Bool) {
        self.freeBytes = freeBytes
        self.totalBytes = totalBytes
        self.logBytes = logBytes
        self.isReserved = isReserved
    }

    /// The system does not say: room enough, until a write finds none.
    static let unknown = DiskSpace(
        freeBytes: .max, totalBytes: .max, logBytes: 0, isReserved: true)
}

/// Where a walk through a shard's documents stands, as the disk says it.
package protocol CheckMark: Sendable {}

/// Some documents of a shard as the disk gives them, checked one by one.
package struct CheckedPart: Sendable {
    /// Good and bad.
    package private(set) var rows = 0
    package private(set) var sum = DocumentSum()
    /// Whose bytes are not what was written.
    package private(set) var bad: [DocumentKey] = []
    /// Good documents that some index does not lead to, as they are to be written again.
    package private(set) var unindexed: [Record] = []
    /// Whether every document could be read: one of a later version is good and says nothing.
    package var isKnown = true
    /// Where to go on; nil at the end.
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

/// What documents add up to.
package struct DocumentSum: Hashable, Sendable {
    /// The seqs that they name.
    private(set) var vector = Vector()
    private(set) var digest = Hash128.zero
    /// By the number of the kind.
    private(set) var counts: [UInt64] = []
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

/// Why there is no backup.
package enum BackupFailure: Error, Hashable, Sendable {
    case exists
    case noFolder
    /// The folder is not to be written.
    case forbidden
    case full
    case failed(String)
}

/// What is done to a disk besides storing and reading.
package protocol Maintenance {
    /// Nil where the system does not say.
    var room: DiskSpace? { get }

    /// Whether what is handed in from here on has to pass on a full disk: it deletes.
    func setUrgent(_ isUrgent: Bool)

    /// Takes the room that is kept for deleting, if there is any.
    func makeReserve()

    /// Empties the log; comes back as `Node.onLogEmptied`, once nothing that was deleted before is
    /// in any file.
    func emptyLog()

    /// Reads the next documents of a shard and checks them, and that every index leads to them.
    ///
    /// What it says of indexes holds only where nothing of the shard is under way.
    func check(
        _ shard: ShardID, after mark: (any CheckMark)?, rowsMax: Int
    ) throws(StoreFailure) -> CheckedPart

    /// What was missing from the disk at the start has been fetched, or is given up.
    func forgetLoss()

    /// Copies all that is committed into a file; comes back as `Node.onBackedUp`.
    ///
    /// - Parameter file: a name, in the place for backups, or an absolute path.
    func backUp(to file: String)
}

/// Stores that lose nothing.
extension Maintenance {
    package func forgetLoss() {}
}
