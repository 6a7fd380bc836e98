import CRDT
import Wire

/// What is stored, merged, sent and digested: a small product of CRDTs under a key.
///
/// Its merge is a join: commutative, associative, idempotent, with one byte string for equal
/// states. What travels is always a whole document.
public struct Document: Hashable, Sendable {
    /// What a document of a known kind says.
    ///
    /// Boxed, for a document passes through many hands on its way to the disk.
    public indirect enum Content: Hashable, Sendable {
        case conversation(Conversation)
        case message(Message)
        case seat(Seat)
        case profile(Profile)
        case item(Item)
        case device(Device)
        /// Written by a later version: kept, merged field by field, sent on.
        case unknown
    }

    public let key: DocumentKey
    /// Per replica that ever changed it, the last seq by which it did.
    public private(set) var changedBy: Context
    public var content: Content
    /// The fields that this version does not know.
    private var unknown: Fields

    /// A document as its first mutation makes it.
    init(_ content: Content, at key: DocumentKey, by dot: Dot) {
        self.key = key
        self.content = content
        changedBy = Context(dot)
        unknown = Fields()
    }

    /// Notes that the mutation `dot` changed it.
    mutating func noteChange(by dot: Dot) { changedBy.insert(dot) }

    public mutating func merge(_ other: Document) {
        precondition(key == other.key, "only states of one document merge")
        changedBy.merge(other.changedBy)
        unknown.merge(other.unknown)
        switch (content, other.content) {
        case (.conversation(var mine), .conversation(let theirs)):
            mine.merge(theirs)
            content = .conversation(mine)
        case (.message(var mine), .message(let theirs)):
            mine.merge(theirs)
            content = .message(mine)
        case (.seat(var mine), .seat(let theirs)):
            mine.merge(theirs)
            content = .seat(mine)
        case (.profile(var mine), .profile(let theirs)):
            mine.merge(theirs)
            content = .profile(mine)
        case (.item(var mine), .item(let theirs)):
            mine.merge(theirs)
            content = .item(mine)
        case (.device(var mine), .device(let theirs)):
            mine.merge(theirs)
            content = .device(mine)
        default:
            break
        }
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
        // Its marks tell of stamps that messages and invitations have.
        case .seat, .unknown: .zero
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
        var writer = ByteWriter(reserving: 256)
        encode(into: &writer)
        return writer.bytes
    }

    func encode(into writer: inout ByteWriter) {
        writer.write(Document.version)
        changedBy.encode(into: &writer)
        if unknown.isEmpty {
            // The usual case goes straight to the bytes.
            var fields = FieldWriter(appendingTo: writer.take())
            write(to: &fields)
            writer = fields.finish()
        } else {
            var fields = unknown
            write(to: &fields)
            fields.encode(into: &writer)
        }
    }

    private func write(to fields: inout some FieldSink) {
        switch content {
        case .conversation(let conversation): conversation.write(to: &fields)
        case .message(let message): message.write(to: &fields)
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
        self.key = key
        changedBy = try Context(from: &reader)
        guard !changedBy.isEmpty else { throw .invalid("a document that somebody changed") }
        unknown = try Fields(from: &reader)
        try reader.finish()
        content =
            switch key.kind {
            case .conversation: .conversation(try Conversation(from: &unknown))
            case .message: .message(try Message(from: &unknown))
            case .seat: .seat(try Seat(from: &unknown))
            case .profile: .profile(try Profile(from: &unknown))
            case .item: .item(try Item(from: &unknown))
            case .device: .device(try Device(from: &unknown))
            default: .unknown
            }
    }

    /// The document's part of its shard's digest: over its key and its canonical bytes, which name
    /// the seqs that changed it.
    public static func digest(of key: DocumentKey, bytes: [UInt8]) -> Hash128 {
        var writer = ByteWriter(reserving: bytes.count + 128)
        key.encode(into: &writer)
        writer.write(raw: bytes)
        return Hash128(of: writer.bytes)
    }
}
