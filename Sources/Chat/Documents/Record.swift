import CRDT
import Wire

/// A document to be written: its bytes and what the disk needs to know about them.
///
/// A class, since each instance passes through the write log, a memtable and two sorts into the
/// tables, and a copy of its fields would count five references.
public final class Record: Sendable {
    /// The state of the document on disk when this record reaches it.
    public struct Previous: Hashable, Sendable {
        public let changedBy: Context
        public let time: HybridTimestamp
        /// The terms under which an index holds the document.
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
    /// For each replica that ever changed the document, the seq of its last change.
    public let changedBy: Context
    /// The sending time of a message, which orders the history; zero for every other document.
    public let time: HybridTimestamp
    /// The canonical bytes.
    public let bytes: [UInt8]
    /// The terms under which an index finds the document; ascending, none longer than a name.
    public let indexKeys: [String]
    /// Nil where the disk does not hold the document.
    public let previous: Previous?
    /// Whether texts must be removed from disk: the document is deleted for everyone, or lacks a
    /// text that the disk has of it.
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

    /// - Parameter base: the document as the disk has it when this record reaches it.
    public convenience init(
        of document: Document, bytes: [UInt8], previous: Previous?, over base: Document? = nil
    ) {
        self.init(
            key: document.key, changedBy: document.changedBy, time: document.historyTime,
            bytes: bytes, indexKeys: document.indexKeys, previous: previous,
            purges: document.purges || base.map(document.discards) ?? false)
    }
}

extension Record: Equatable {
    public static func == (left: Record, right: Record) -> Bool {
        left.key == right.key && left.changedBy == right.changedBy && left.time == right.time
            && left.bytes == right.bytes && left.indexKeys == right.indexKeys
            && left.previous == right.previous && left.purges == right.purges
    }
}
