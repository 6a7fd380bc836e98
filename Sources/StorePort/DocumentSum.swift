import CRDT
import Chat
import Replication
import Wire

/// The sum of some documents, to be compared with a replica header.
package struct DocumentSum: Hashable, Sendable {
    /// The seqs that the documents name.
    package private(set) var vector = Vector()
    package private(set) var digest = Hash128.zero
    /// The number of documents of each kind, by the number of the kind.
    package private(set) var counts: [UInt64] = []
    /// The greatest timestamp in the documents, of those that a clock follows.
    package private(set) var greatest = HybridTimestamp.zero

    package init() {}

    package mutating func add(_ document: Document, bytes: [UInt8]) {
        vector.insert(document.changedBy)
        digest += Document.digest(of: document.key, bytes: bytes)
        let kind = Int(document.key.kind.number)
        while counts.count <= kind { counts.append(0) }
        counts[kind] += 1
        let time = document.greatestTime
        if time.isFollowed { greatest = max(greatest, time) }
    }

    package mutating func add(_ other: DocumentSum) {
        vector.formUnion(other.vector)
        digest += other.digest
        while counts.count < other.counts.count { counts.append(0) }
        for (kind, count) in other.counts.enumerated() { counts[kind] += count }
        greatest = max(greatest, other.greatest)
    }
}

extension ReplicaHeader {
    /// Creates the header of what remains after documents were set aside.
    package init(remaining sum: DocumentSum) {
        self.init(
            remaining: sum.vector, digest: sum.digest, counts: sum.counts, greatest: sum.greatest)
    }
}

/// The rest of a shard on disk without its bad documents.
package struct Remainder: Sendable {
    package let header: ReplicaHeader
    /// The bad documents that the caller did not know of.
    package let bad: [DocumentKey]

    package init(header: ReplicaHeader, bad: [DocumentKey]) {
        self.header = header
        self.bad = bad
    }
}
