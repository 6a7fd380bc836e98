import CRDT
import Wire

/// The unit of storage, replication and digests: a small product of CRDTs under a key.
///
/// The merge is a join: commutative, associative, idempotent, with equal bytes for equal states.
/// Replication always sends whole documents.
public struct Document: Hashable, Sendable {
    /// The content of a document, by kind.
    public enum Content: Hashable, Sendable {
        case conversation(Conversation)
        case message(Message)
        case participantState(ParticipantState)
        case profile(Profile)
        case item(Item)
        case device(Device)
        case credentials(Credentials)
        case signing(Signing)
        case file(File)
        case part(FilePart)
        case blocks(Blocks)
        /// Content that only a later version can read: kept, merged field by field and sent on.
        case unknown
    }

    struct Parts: Hashable, Sendable {
        let key: DocumentKey
        var changedBy: Context
        var content: Content
        /// The fields whose numbers this version does not know.
        var unknown: Fields
        /// States of later versions; `content` includes what this version can read of them.
        ///
        /// Normally there are none. Where they cover every change, they are the whole document;
        /// where a node of this version has changed it since, its state is stored beside them.
        var later: [LaterState] = []

        /// Whether the document has a change that no state of a later version covers.
        var isOwn: Bool { later.isEmpty || !later.changedBy.covers(changedBy) }
    }

    /// The parts of a document as an immutable object, so that documents can share them.
    private final class Box: Sendable {
        let parts: Parts

        init(_ parts: Parts) { self.parts = parts }
    }

    /// The shared parts: a document that is passed on towards the disk copies only a reference.
    private var box: Box

    private init(_ parts: Parts) { box = Box(parts) }

    /// Creates a document as its first mutation leaves it.
    init(_ content: Content, at key: DocumentKey, by dot: Dot) {
        self.init(Parts(key: key, changedBy: Context(dot), content: content, unknown: Fields()))
    }

    public var key: DocumentKey { box.parts.key }

    /// For each replica that ever changed the document, the seq of its last change.
    public var changedBy: Context { box.parts.changedBy }

    public var content: Content { box.parts.content }

    /// Whether this version cannot read the document: it is kept and sent on, but not changed.
    public var isUnreadable: Bool {
        if case .unknown = content { !box.parts.later.isEmpty } else { false }
    }

    public static func == (left: Document, right: Document) -> Bool {
        left.box === right.box || left.box.parts == right.box.parts
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(box.parts) }

    /// Returns the document as the mutation `dot` leaves it.
    func changed(to content: Content, by dot: Dot) -> Document {
        var parts = box.parts
        parts.content = content
        parts.changedBy.insert(dot)
        return Document(parts)
    }

    #if PlantedBugs
        /// Returns the document with other content and no trace of the change.
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

    public var credentials: Credentials? {
        guard case .credentials(let credentials) = content else { return nil }
        return credentials
    }

    public var signing: Signing? {
        guard case .signing(let signing) = content else { return nil }
        return signing
    }

    public var file: File? {
        guard case .file(let file) = content else { return nil }
        return file
    }

    public var part: FilePart? {
        guard case .part(let part) = content else { return nil }
        return part
    }

    public var blocks: Blocks? {
        guard case .blocks(let blocks) = content else { return nil }
        return blocks
    }

    /// Whether a session that has seen `known` has seen the conversation, in any state.
    public func isSeen(within known: Vector) -> Bool {
        guard let header = conversation?.header else { return false }
        return known.contains(header.dot) || changedBy.dots.contains(where: known.contains)
    }

    /// Whether texts must be removed from disk: the message or item is deleted for everyone.
    public var purges: Bool {
        message?.hasRetracted ?? item?.isDeleted ?? part?.isPurged ?? file?.isPurged ?? false
    }

    /// The sending time of a message, which orders the history; zero for every other document.
    public var historyTime: HybridTimestamp { message?.header.sent.time ?? .zero }

    /// The greatest time in the document; the clock of the next writer starts after it.
    public var greatestTime: HybridTimestamp {
        switch content {
        case .conversation(let conversation): conversation.greatestTime
        case .message(let message): message.greatestTime
        case .profile(let profile): profile.greatestTime
        case .item(let item): item.greatestTime
        case .device(let device): device.greatestTime
        case .participantState(let participantState): participantState.greatestTime
        case .credentials(let credentials): credentials.greatestTime
        case .signing(let signing): signing.greatestTime
        case .file(let file): file.greatestTime
        case .part(let part): part.greatestTime
        case .blocks(let blocks): blocks.greatestTime
        case .unknown: .zero
        }
    }
}

extension Document.Content {
    /// Merges content of the same kind.
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
        case (.credentials(var mine), .credentials(let theirs)):
            mine.merge(theirs)
            self = .credentials(mine)
        case (.signing(var mine), .signing(let theirs)):
            mine.merge(theirs)
            self = .signing(mine)
        case (.file(var mine), .file(let theirs)):
            mine.merge(theirs)
            self = .file(mine)
        case (.part(var mine), .part(let theirs)):
            mine.merge(theirs)
            self = .part(mine)
        case (.blocks(var mine), .blocks(let theirs)):
            mine.merge(theirs)
            self = .blocks(mine)
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
            case .credentials: .credentials(try Credentials(from: &fields))
            case .signing: .signing(try Signing(from: &fields))
            case .file: .file(try File(from: &fields))
            case .filePart: .part(try FilePart(from: &fields))
            case .blocks: .blocks(try Blocks(from: &fields))
            default: .unknown
            }
    }
}

extension Document.Parts {
    /// Decodes a state in the format of this version.
    init(_ key: DocumentKey, own bytes: ArraySlice<UInt8>) throws(WireError) {
        var reader = ByteReader(bytes)
        _ = try reader.readByte()
        let changedBy = try Context(from: &reader)
        guard !changedBy.isEmpty else { throw .invalid("a document that somebody changed") }
        var fields = try Fields(from: &reader)
        try reader.finish()
        let content = try Document.Content(key.kind, from: &fields, changedBy: changedBy)
        self.init(key: key, changedBy: changedBy, content: content, unknown: fields)
    }

    /// Merges states of later versions; where they cover every change, they replace `content`.
    mutating func join(_ states: [LaterState]) {
        later = LaterState.joined(later, states)
        guard !isOwn else { return }
        content = later.content(of: key.kind)
        unknown = Fields()
    }
}

/// The canonical bytes: equal states have equal bytes, on every node and in every version.
extension Document {
    /// The number of this version's format, the first byte of a document.
    public static let version: UInt8 = 1
    /// The most bytes of a document that is accepted from another node; every merge of accepted
    /// mutations is smaller, see `ChatLimits`.
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
            // The usual case writes the fields directly behind the bytes written so far.
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
        case .credentials(let credentials): credentials.write(to: &fields)
        case .signing(let signing): signing.write(to: &fields)
        case .file(let file): file.write(to: &fields)
        case .part(let part): part.write(to: &fields)
        case .blocks(let blocks): blocks.write(to: &fields)
        case .unknown: break
        }
    }

    /// Decodes what `encoded` returned, in this version or a later one.
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

    /// Returns the document's summand of its shard's digest: the hash of its key and its canonical
    /// bytes, which name the seqs that changed it.
    public static func digest(of key: DocumentKey, bytes: [UInt8]) -> Hash128 {
        var writer = ByteWriter(reserving: bytes.count + 128)
        key.encode(into: &writer)
        writer.write(raw: bytes)
        return writer.withUnsafeBytes { Hash128(of: $0) }
    }

    /// `encoded` and the digest of these bytes, made in one buffer that begins with the key.
    public var encodedWithDigest: (bytes: [UInt8], digest: Hash128) {
        var writer = ByteWriter(reserving: 512)
        key.encode(into: &writer)
        let start = writer.count
        encode(into: &writer)
        return (writer.bytes(from: start), writer.withUnsafeBytes { Hash128(of: $0) })
    }
}
