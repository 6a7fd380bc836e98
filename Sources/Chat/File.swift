import CRDT
import Wire

/// A file of a conversation: who uploaded it, and the message that it belongs to.
///
/// Its bytes are in documents of their own, one for each `FilePart`.
///
/// A file is *open* while its parts arrive, *whole* once the end of its upload has named them, and
/// *sent* with a message. It is *closed* with the deletion of that message for everyone, or where
/// no message came; from then on nobody reads it and no part is accepted, so that the parts that
/// are known once all replicas are in sync are all that there ever were. When these are purged, the
/// file is *purged* too, and only its name remains.
public struct File: Hashable, Sendable {
    /// Of two uploads, on two sides of a network partition, the smaller one.
    private var upload: Upload
    private var messageField: Register<MessageID>?
    /// When it was closed; once set it stays set, and of two times the earlier wins.
    public private(set) var closedAt: HybridTimestamp?
    /// Whether all its parts are purged.
    public private(set) var isPurged = false

    init(_ upload: Upload) { self.upload = upload }

    /// The stamp of the upload's beginning.
    public var created: Stamp { upload.begun }
    public var owner: UserID { upload.owner }
    /// The type of its content, as `image/png`; empty once it is purged.
    public var type: String { upload.type.text }
    /// The size in bytes; nil until all parts have arrived.
    public var size: UInt64? { upload.content?.size }
    /// The parts in the order of their bytes; nil until all have arrived.
    public var parts: [PartID]? { upload.content?.parts }
    /// The message that it was sent with; nil before that.
    public var message: MessageID? { messageField?.value }
    public var isClosed: Bool { closedAt != nil }
    /// The stamp of the upload's end.
    var ended: Stamp? { upload.content?.ended }

    var greatestTime: HybridTimestamp {
        [messageField?.stamp.time, closedAt].reduce(upload.greatestTime) { max($0, $1 ?? .zero) }
    }

    mutating func end(with content: Upload.Content) { upload = upload.ended(with: content) }

    /// Of two messages, on two sides of a network partition, the earlier counts.
    mutating func setMessage(_ message: MessageID, at stamp: Stamp) {
        mergeMessage(Register(message, at: stamp))
    }

    mutating func close(at time: HybridTimestamp) { closedAt = min(closedAt ?? time, time) }

    mutating func purge(at time: HybridTimestamp) {
        close(at: time)
        isPurged = true
        normalize()
    }

    mutating func merge(_ other: File) {
        upload = min(upload, other.upload)
        if let theirs = other.messageField { mergeMessage(theirs) }
        closedAt = [closedAt, other.closedAt].compactMap(\.self).min()
        isPurged = isPurged || other.isPurged
        normalize()
    }

    private mutating func mergeMessage(_ theirs: Register<MessageID>) {
        guard let mine = messageField else {
            messageField = theirs
            return
        }
        if (theirs.stamp, theirs.value) < (mine.stamp, mine.value) { messageField = theirs }
    }

    private mutating func normalize() { if isPurged { upload = upload.emptied } }

    /// Whether it is in the normal form in which a merge leaves it.
    private var isNormal: Bool { !isPurged || isClosed && upload == upload.emptied }
}

extension File {
    private enum FieldNumber {
        static let created: UInt64 = 1
        static let owner: UInt64 = 2
        static let type: UInt64 = 3
        static let content: UInt64 = 4
        static let message: UInt64 = 5
        static let closed: UInt64 = 6
        static let purged: UInt64 = 7
    }

    func write(to fields: inout some FieldSink & ~Copyable) {
        fields.set(FieldNumber.created, to: upload.begun)
        fields.set(FieldNumber.owner, to: upload.owner)
        fields.set(FieldNumber.type, to: upload.type)
        fields.set(FieldNumber.content, to: upload.content)
        fields.set(FieldNumber.message, to: messageField)
        fields.set(FieldNumber.closed, to: closedAt)
        if isPurged { fields.set(FieldNumber.purged) { _ in } }
    }

    init(from fields: inout Fields) throws(WireError) {
        guard let begun: Stamp = try fields.take(FieldNumber.created),
            let owner: UserID = try fields.take(FieldNumber.owner),
            let type: FieldText = try fields.take(FieldNumber.type)
        else { throw .invalid("the beginning of a file") }
        let content: Upload.Content? = try fields.take(FieldNumber.content)
        self.init(Upload(begun: begun, owner: owner, type: type, content: content))
        messageField = try fields.take(FieldNumber.message)
        closedAt = try fields.take(FieldNumber.closed)
        if let bytes = fields.removeField(FieldNumber.purged) {
            guard bytes.isEmpty else { throw .invalid("a mark of purging") }
            isPurged = true
        }
        guard isNormal else { throw .invalid("a file as a merge leaves it") }
    }
}
