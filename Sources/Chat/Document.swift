import CRDT
import Wire

/// What is stored, merged, sent and digested: a small product of CRDTs under a key.
///
/// Its merge is a join: commutative, associative, idempotent, with one byte string for equal
/// states. What travels is always a whole document.
public struct Document: Hashable, Sendable {
    /// What a document of a known kind says.
    public enum Content: Hashable, Sendable {
        case conversation(Conversation)
        case message(Message)
        case seat(Seat)
        case profile(Profile)
        case item(Item)
        case device(Device)
        /// Written by a later version: kept, merged field by field, sent on.
        case unknown
    }

    private struct Parts: Hashable, Sendable {
        let key: DocumentKey
        var changedBy: Context
        var content: Content
        /// The fields that this version does not know.
        var unknown: Fields
    }

    /// Nothing in it changes, so that it can be shared.
    private final class Box: Sendable {
        let parts: Parts

        init(_ parts: Parts) { self.parts = parts }
    }

    /// A document passes through many hands on its way to the disk: each takes a reference.
    private var box: Box

    private init(_ parts: Parts) { box = Box(parts) }

    /// A document as its first mutation makes it.
    init(_ content: Content, at key: DocumentKey, by dot: Dot) {
        self.init(Parts(key: key, changedBy: Context(dot), content: content, unknown: Fields()))
    }

    public var key: DocumentKey { box.parts.key }

    /// Per replica that ever changed it, the last seq by which it did.
    public var changedBy: Context { box.parts.changedBy }

    public var content: Content { box.parts.content }

    private var unknown: Fields { box.parts.unknown }

    public static func == (left: Document, right: Document) -> Bool {
        left.box === right.box || left.box.parts == right.box.parts
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(box.parts) }

    /// The document as the mutation `dot` leaves it.
    func changed(to content: Content, by dot: Dot) -> Document {
        var parts = box.parts
        parts.content = content
        parts.changedBy.insert(dot)
        return Document(parts)
    }

    #if PlantedBugs
        /// The document with other content and no trace of the change.
        func with(_ content: Content) -> Document {
            var parts = box.parts
            parts.content = content
            return Document(parts)
        }
    #endif

    public mutating func merge(_ other: Document) {
        precondition(key == other.key, "only states of one document merge")
        var parts = box.parts
        parts.changedBy.merge(other.changedBy)
        parts.unknown.merge(other.unknown)
        parts.content.merge(other.content)
        box = Box(parts)
    }

    public var message: Message? {
        guard case .message(let message) = content else { return nil }
        return message
    }

    public var conversation: Conversation? {
        guard case .conversation(let conversation) = content else { return nil }
        return conversation
    }

    public var seat: Seat? {
        guard case .seat(let seat) = content else { return nil }
        return seat
    }

    public var profile: Profile? {
        guard case .profile(let profile) = content else { return nil }
        return profile
    }

    public var item: Item? {
        guard case .item(let item) = content else { return nil }
        return item
    }

    public var device: Device? {
        guard case .device(let device) = content else { return nil }
        return device
    }

    /// Whether who has seen `known` has seen the conversation, in some state.
    public func isSeen(within known: Vector) -> Bool {
        guard let header = conversation?.header else { return false }
        return known.contains(header.dot) || changedBy.dots.contains(where: known.contains)
    }

    /// Whether texts must go from the disk: it is deleted for everyone.
    public var purges: Bool { message?.isRetracted ?? item?.isDeleted ?? false }

    /// Where a message stands in its conversation's history; zero for every other document.
    public var historyTime: HybridTimestamp { message?.header.sent.time ?? .zero }

    /// The greatest stamp in it: the clock of who writes next starts behind it.
    public var greatestTime: HybridTimestamp {
        switch content {
        case .conversation(let conversation): conversation.greatestTime
        case .message(let message): message.greatestTime
        case .profile(let profile): profile.greatestTime
        case .item(let item): item.greatestTime
        case .device(let device): device.greatestTime
        case .seat(let seat): seat.greatestTime
        case .unknown: .zero
        }
    }
}

extension Document.Content {
    /// - Parameter other: of the same kind.
    mutating func merge(_ other: Document.Content) {
        switch (self, other) {
        case (.conversation(var mine), .conversation(let theirs)):
            mine.merge(theirs)
            self = .conversation(mine)
        case (.message(var mine), .message(let theirs)):
            mine.merge(theirs)
            self = .message(mine)
        case (.seat(var mine), .seat(let theirs)):
            mine.merge(theirs)
            self = .seat(mine)
        case (.profile(var mine), .profile(let theirs)):
            mine.merge(theirs)
            self = .profile(mine)
        case (.item(var mine), .item(let theirs)):
            mine.merge(theirs)
            self = .item(mine)
        case (.device(var mine), .device(let theirs)):
            mine.merge(theirs)
            self = .device(mine)
        default:
            break
        }
    }
}

/// The canonical bytes: equal states have equal bytes, on every node and in every version.
extension Document {
    /// The format of a document's bytes.
    static let version: UInt8 = 1
    /// The most bytes of a document: what two hundred edits of 16 KiB take, and what is around
    /// them; below a frame's.
    public static let bytesMax = 15 << 18

    public var encoded: [UInt8] {
        var writer = ByteWriter()
        encode(into: &writer)
        return writer.bytes
    }

    func encode(into writer: inout ByteWriter) {
        writer.write(Document.version)
        changedBy.encode(into: &writer)
        if unknown.isEmpty {
            // The usual case goes straight to the bytes.
            var fields = FieldWriter(appendingTo: writer)
            write(to: &fields)
            writer = fields.finish()
        } else {
            var fields = unknown
            write(to: &fields)
            fields.encode(into: &writer)
        }
    }

    private func write(to fields: inout some FieldSink & ~Copyable) {
        switch content {
        case .conversation(let conversation): conversation.write(to: &fields)
        case .message(let message): message.write(to: &fields, changedBy: changedBy)
        case .seat(let seat): seat.write(to: &fields)
        case .profile(let profile): profile.write(to: &fields)
        case .item(let item): item.write(to: &fields)
        case .device(let device): device.write(to: &fields)
        case .unknown: break
        }
    }

    /// Reads what `encoded` wrote.
    ///
    /// - Throws: `WireError`, also `version` for a format that this version does not know.
    public init(_ key: DocumentKey, decoding bytes: [UInt8]) throws(WireError) {
        guard bytes.count <= Document.bytesMax else {
            throw .tooLong(count: UInt64(bytes.count), limit: Document.bytesMax)
        }
        var reader = ByteReader(bytes)
        let version = try reader.readByte()
        guard version == Document.version else { throw .version(version) }
        let changedBy = try Context(from: &reader)
        guard !changedBy.isEmpty else { throw .invalid("a document that somebody changed") }
        var unknown = try Fields(from: &reader)
        try reader.finish()
        let content: Content =
            switch key.kind {
            case .conversation: .conversation(try Conversation(from: &unknown))
            case .message: .message(try Message(from: &unknown, changedBy: changedBy))
            case .seat: .seat(try Seat(from: &unknown))
            case .profile: .profile(try Profile(from: &unknown))
            case .item: .item(try Item(from: &unknown))
            case .device: .device(try Device(from: &unknown))
            default: .unknown
            }
        self.init(Parts(key: key, changedBy: changedBy, content: content, unknown: unknown))
    }

    /// The document's part of its shard's digest: over its key and its canonical bytes, which name
    /// the seqs that changed it.
    public static func digest(of key: DocumentKey, bytes: [UInt8]) -> Hash128 {
        var writer = ByteWriter(reserving: bytes.count + 128)
        key.encode(into: &writer)
        writer.write(raw: bytes)
        return writer.withUnsafeBytes { Hash128(of: $0) }
    }

    /// `encoded`, and the digest of those bytes: written once behind the key, both are there.
    public var encodedWithDigest: (bytes: [UInt8], digest: Hash128) {
        var writer = ByteWriter(reserving: 512)
        key.encode(into: &writer)
        let start = writer.count
        encode(into: &writer)
        return (writer.bytes(from: start), writer.withUnsafeBytes { Hash128(of: $0) })
    }
}
