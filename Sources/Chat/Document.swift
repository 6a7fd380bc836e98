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
        case participantState(ParticipantState)
        case profile(Profile)
        case item(Item)
        case device(Device)
        /// Written by a later version: kept, merged field by field, sent on.
        case unknown
    }

    struct Parts: Hashable, Sendable {
        let key: DocumentKey
        var changedBy: Context
        var content: Content
        /// The fields that this version does not know.
        var unknown: Fields
        /// States of later versions, which `content` shows too as far as they are understood.
        ///
        /// Normally there is none. Where they hold every change, the document is what they say;
        /// where a node of this version changed it since, its state goes beside them.
        var later: [LaterState] = []

        /// Whether there is a change that no state of a later version has.
        var isOwn: Bool { later.isEmpty || !later.changedBy.covers(changedBy) }
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

    /// Whether a later version wrote it in a way that this one cannot read: it is kept and sent on,
    /// and nothing is done to it.
    public var isUnreadable: Bool {
        if case .unknown = content { !box.parts.later.isEmpty } else { false }
    }

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
        parts.unknown.merge(other.box.parts.unknown)
        parts.content.merge(other.content)
        if !parts.later.isEmpty || !other.box.parts.later.isEmpty {
            parts.join(other.box.parts.later)
        }
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

    public var participantState: ParticipantState? {
        guard case .participantState(let participantState) = content else { return nil }
        return participantState
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
        case .participantState(let participantState): participantState.greatestTime
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
        case (.participantState(var mine), .participantState(let theirs)):
            mine.merge(theirs)
            self = .participantState(mine)
        case (.profile(var mine), .profile(let theirs)):
            mine.merge(theirs)
            self = .profile(mine)
        case (.item(var mine), .item(let theirs)):
            mine.merge(theirs)
            self = .item(mine)
        case (.device(var mine), .device(let theirs)):
            mine.merge(theirs)
            self = .device(mine)
        case (.unknown, _):
            self = other
        default:
            break
        }
    }

    init(
        _ kind: DocumentKey.Kind, from fields: inout Fields, changedBy: Context
    ) throws(WireError) {
        self =
            switch kind {
            case .conversation: .conversation(try Conversation(from: &fields))
            case .message: .message(try Message(from: &fields, changedBy: changedBy))
            case .participantState: .participantState(try ParticipantState(from: &fields))
            case .profile: .profile(try Profile(from: &fields))
            case .item: .item(try Item(from: &fields))
            case .device: .device(try Device(from: &fields))
            default: .unknown
            }
    }
}

extension Document.Parts {
    /// Reads a state of this version.
    init(_ key: DocumentKey, own bytes: ArraySlice<UInt8>) throws(WireError) {
        var reader = ByteReader(bytes)
        _ = try reader.readByte()
        changedBy = try Context(from: &reader)
        guard !changedBy.isEmpty else { throw .invalid("a document that somebody changed") }
        unknown = try Fields(from: &reader)
        try reader.finish()
        content = try Document.Content(key.kind, from: &unknown, changedBy: changedBy)
        self.key = key
    }

    /// Takes in states of later versions; `content` holds what the documents of both show.
    mutating func join(_ states: [LaterState]) {
        later = LaterState.joined(later, states)
        guard !isOwn else { return }
        content = later.content(of: key.kind)
        unknown = Fields()
    }
}

/// The canonical bytes: equal states have equal bytes, on every node and in every version.
extension Document {
    /// The format of a document's bytes.
    public static let version: UInt8 = 1
    /// The most bytes of a document that is taken from another node: every merge of what nodes
    /// accept is below, see `ChatLimits`.
    public static let bytesMax = 48 << 20

    public var encoded: [UInt8] {
        var writer = ByteWriter()
        encode(into: &writer)
        return writer.bytes
    }

    func encode(into writer: inout ByteWriter) {
        let later = box.parts.later
        guard !later.isEmpty else { return encodeOwn(into: &writer) }
        let isOwn = box.parts.isOwn
        guard isOwn || later.count > 1 else { return writer.write(raw: later[0].bytes) }
        writer.write(LaterState.severalVersion)
        writer.write(count: later.count + (isOwn ? 1 : 0))
        if isOwn { writer.writeCounted { encodeOwn(into: &$0) } }
        for state in later { writer.write(state.bytes) }
    }

    private func encodeOwn(into writer: inout ByteWriter) {
        writer.write(Document.version)
        changedBy.encode(into: &writer)
        let unknown = box.parts.unknown
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
        case .participantState(let participantState): participantState.write(to: &fields)
        case .profile(let profile): profile.write(to: &fields)
        case .item(let item): item.write(to: &fields)
        case .device(let device): device.write(to: &fields)
        case .unknown: break
        }
    }

    /// Reads what `encoded` wrote, here or in a later version.
    public init(_ key: DocumentKey, decoding bytes: [UInt8]) throws(WireError) {
        switch bytes.first {
        case Document.version: self.init(try Parts(key, own: bytes[...]))
        case LaterState.severalVersion: try self.init(key, several: bytes)
        default:
            let later = [try LaterState(decoding: bytes)]
            self.init(
                Parts(
                    key: key, changedBy: later.changedBy, content: later.content(of: key.kind),
                    unknown: Fields(), later: later))
        }
    }

    private init(_ key: DocumentKey, several bytes: [UInt8]) throws(WireError) {
        var reader = ByteReader(bytes.dropFirst())
        var own: Parts?
        let later = try [LaterState](several: &reader) { (bytes) throws(WireError) in
            own = try Parts(key, own: bytes)
        }
        try reader.finish()
        var parts =
            own
            ?? Parts(
                key: key, changedBy: Context(), content: .unknown, unknown: Fields(), later: [])
        parts.changedBy.merge(later.changedBy)
        parts.join(later)
        self.init(parts)
        guard encoded == bytes else { throw .invalid("states of which none holds another") }
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
