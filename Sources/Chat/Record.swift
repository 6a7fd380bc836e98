import CRDT
import Wire

/// One document to be written: what the disk needs to know of it beside its bytes.
public struct Record: Hashable, Sendable {
    /// What the disk holds of the document when this record reaches it.
    public struct Previous: Hashable, Sendable {
        public let changedBy: Context
        public let time: HybridTimestamp

        public init(changedBy: Context, time: HybridTimestamp) {
            self.changedBy = changedBy
            self.time = time
        }
    }

    public let key: DocumentKey
    /// Per replica that ever changed it, the last seq by which it did.
    public let changedBy: Context
    /// Where a message stands in its conversation's history; zero for every other document.
    public let time: HybridTimestamp
    /// The canonical bytes.
    public let bytes: [UInt8]
    /// Nil where the disk holds nothing of it.
    public let previous: Previous?
    /// Whether texts must go from the disk: the document is deleted for everyone.
    public let purges: Bool

    public init(
        key: DocumentKey, changedBy: Context, time: HybridTimestamp, bytes: [UInt8],
        previous: Previous?, purges: Bool
    ) {
        self.key = key
        self.changedBy = changedBy
        self.time = time
        self.bytes = bytes
        self.previous = previous
        self.purges = purges
    }

    public init(of document: Document, bytes: [UInt8], previous: Previous?) {
        self.init(
            key: document.key, changedBy: document.changedBy, time: document.historyTime,
            bytes: bytes, previous: previous, purges: document.message?.isRetracted ?? false)
    }
}
