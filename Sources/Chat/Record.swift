import CRDT
import Wire

/// One document to be written: what the disk needs to know of it beside its bytes.
public struct Record: Hashable, Sendable {
    /// What the disk holds of the document when this record reaches it.
    public struct Previous: Hashable, Sendable {
        public let changedBy: Context
        public let time: HybridTimestamp
        /// The words under which an index has it.
        public let indexKeys: [String]

        public init(changedBy: Context, time: HybridTimestamp, indexKeys: [String] = []) {
            self.changedBy = changedBy
            self.time = time
            self.indexKeys = indexKeys
        }

        public init(of document: Document) {
            self.init(
                changedBy: document.changedBy, time: document.historyTime,
                indexKeys: document.indexKeys)
        }
    }

    public let key: DocumentKey
    /// Per replica that ever changed it, the last seq by which it did.
    public let changedBy: Context
    /// Where a message stands in its conversation's history; zero for every other document.
    public let time: HybridTimestamp
    /// The canonical bytes.
    public let bytes: [UInt8]
    /// The words under which an index finds it; ascending, each a name.
    public let indexKeys: [String]
    /// Nil where the disk holds nothing of it.
    public let previous: Previous?
    /// Whether texts must go from the disk: the document is deleted for everyone.
    public let purges: Bool

    public init(
        key: DocumentKey, changedBy: Context, time: HybridTimestamp, bytes: [UInt8],
        indexKeys: [String] = [], previous: Previous?, purges: Bool
    ) {
        self.key = key
        self.changedBy = changedBy
        self.time = time
        self.bytes = bytes
        self.indexKeys = indexKeys
        self.previous = previous
        self.purges = purges
    }

    public init(of document: Document, bytes: [UInt8], previous: Previous?) {
        self.init(
            key: document.key, changedBy: document.changedBy, time: document.historyTime,
            bytes: bytes, indexKeys: document.indexKeys, previous: previous,
            purges: document.purges)
    }
}
