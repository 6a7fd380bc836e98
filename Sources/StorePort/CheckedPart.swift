import Chat

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
