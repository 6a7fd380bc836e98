import CRDT
import Wire

/// A file of a conversation: who uploaded it, and the message that it belongs to.
///
/// Its bytes are in documents of their own, one for each `FilePart`.
///
/// A file is *open* while its parts arrive, *whole* once its size is known, and *sent* with a
/// message. It is *closed* with the deletion of that message for everyone, or where no message
/// came; from then on nobody reads it and no part is accepted, so that the parts that are known
/// once all replicas are in sync are all that there ever were. When these are purged, the file is
/// *purged* too, and only its name remains.
public struct File: Hashable, Sendable {
    /// The stamp of the upload's beginning; of two, on two sides of a network partition, the
    /// earlier counts, with its owner.
    public private(set) var created: Stamp
    public private(set) var owner: UserID
    /// The type of its content, as `image/png`; empty once it is purged.
    private(set) var typeField: FieldText
    private(set) var sizeField: Register<UInt64>?
    private(set) var messageField: Register<MessageID>?
    /// When it was closed; once set it stays set, and of two times the earlier wins.
    public private(set) var closedAt: HybridTimestamp?
    /// Whether all its parts are purged.
    public private(set) var isPurged = false

    init(created: Stamp, owner: UserID, type: FieldText) {
        self.created = created
        self.owner = owner
        typeField = type
    }

    public var type: String { typeField.text }
    /// The size in bytes; nil until all parts have arrived.
    public var size: UInt64? { sizeField?.value }
    /// The message that it was sent with; nil before that.
    public var message: MessageID? { messageField?.value }
    public var isClosed: Bool { closedAt != nil }
    var sizeStamp: Stamp? { sizeField?.stamp }

    var greatestTime: HybridTimestamp {
        [sizeField?.stamp.time, messageField?.stamp.time, closedAt].reduce(created.time) {
            max($0, $1 ?? .zero)
        }
    }

    mutating func setSize(_ size: UInt64, at stamp: Stamp) {
        sizeField = Register(size, at: stamp)
    }

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
        if (other.created, other.owner) < (created, owner) {
            (created, owner, typeField) = (other.created, other.owner, other.typeField)
        } else if other.created == created, other.owner == owner {
            typeField = max(typeField, other.typeField)
        }
        sizeField.merge(other.sizeField)
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

    private mutating func normalize() { if isPurged { typeField = FieldText("") } }

    /// Whether it is in the normal form in which a merge leaves it.
    var isNormal: Bool { !isPurged || isClosed && typeField.text.isEmpty }
}

extension File {
    private enum FieldNumber {
        static let created: UInt64 = 1
        static let owner: UInt64 = 2
        static let type: UInt64 = 3
        static let size: UInt64 = 4
        static let message: UInt64 = 5
        static let closed: UInt64 = 6
        static let purged: UInt64 = 7
    }

    func write(to fields: inout some FieldSink & ~Copyable) {
        fields.set(FieldNumber.created, to: created)
        fields.set(FieldNumber.owner, to: owner)
        fields.set(FieldNumber.type, to: typeField)
        fields.set(FieldNumber.size) { writer in
            writer.writeOptional(sizeField) {
                $1.stamp.encode(into: &$0)
                $0.write(varint: $1.value)
            }
        }
        fields.set(FieldNumber.message, to: messageField)
        fields.set(FieldNumber.closed, to: closedAt)
        if isPurged { fields.set(FieldNumber.purged) { _ in } }
    }

    init(from fields: inout Fields) throws(WireError) {
        guard let created: Stamp = try fields.take(FieldNumber.created),
            let owner: UserID = try fields.take(FieldNumber.owner),
            let type: FieldText = try fields.take(FieldNumber.type),
            let size = fields.removeField(FieldNumber.size)
        else { throw .invalid("the beginning of a file") }
        self.init(created: created, owner: owner, type: type)
        var reader = ByteReader(size)
        if try reader.readFlag() {
            let stamp = try Stamp(from: &reader)
            sizeField = Register(try reader.readVarint(), at: stamp)
        }
        try reader.finish()
        messageField = try fields.take(FieldNumber.message)
        closedAt = try fields.take(FieldNumber.closed)
        if let bytes = fields.removeField(FieldNumber.purged) {
            guard bytes.isEmpty else { throw .invalid("a mark of purging") }
            isPurged = true
        }
        guard isNormal else { throw .invalid("a file as a merge leaves it") }
    }
}
