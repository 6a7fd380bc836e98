import Wire

/// The name of a document: its kind, the partition key that determines its shard, and an id.
public struct DocumentKey: Hashable, Sendable {
    /// The kind of a document; its number is used on disk and on the wire.
    public struct Kind: Hashable, Sendable {
        public let number: UInt8

        public init(number: UInt8) { self.number = number }

        public static let conversation = Kind(number: 1)
        public static let message = Kind(number: 2)
        public static let participantState = Kind(number: 3)
        public static let profile = Kind(number: 4)
        public static let item = Kind(number: 5)
        public static let device = Kind(number: 6)
        public static let credentials = Kind(number: 7)
        public static let signing = Kind(number: 8)
        public static let file = Kind(number: 9)
        public static let filePart = Kind(number: 10)
        public static let blocks = Kind(number: 11)

        /// The kind of the index rows that count messages, by level; these rows are derived from
        /// the documents of one disk and never leave it.
        public static func countedRun(_ level: UInt8) -> Kind { Kind(number: 0xF0 + level) }

        public var isCountedRun: Bool { number >= 0xF0 }

        /// Whether such documents belong to a conversation.
        var isOfConversation: Bool {
            switch self {
            case .conversation, .message, .participantState, .file, .filePart: true
            default: false
            }
        }

        /// Whether such documents belong to a user, who may have the name of a conversation.
        public var isOfUser: Bool {
            switch self {
            case .profile, .device, .blocks: true
            default: false
            }
        }
    }

    public let kind: Kind
    /// The string whose hash determines the shard: the conversation's id for everything that
    /// belongs to a conversation, the user's id for a profile, blocks and devices, an action
    /// item's id, the digest of an e-mail address for the accounts that have it.
    public let partition: String
    /// The id within the partition; empty where the partition has one document of the kind.
    public let id: String
    /// The hash of the three parts, computed once: a key is looked up many times on its way to
    /// disk.
    private let hash: UInt64

    /// Creates a key from checked parts: names, and an id that may be empty.
    public init(checked kind: Kind, partition: String, id: String) {
        self.kind = kind
        self.partition = partition
        self.id = id
        hash = checksum(of: id, seed: checksum(of: partition, seed: UInt64(kind.number)))
    }

    public static func conversation(_ conversation: ConversationID) -> DocumentKey {
        DocumentKey(checked: .conversation, partition: conversation.text, id: "")
    }

    public static func message(_ message: MessageID, in conversation: ConversationID) -> DocumentKey
    {
        DocumentKey(checked: .message, partition: conversation.text, id: message.text)
    }

    /// The key of one participant's state in a conversation.
    public static func participantState(_ user: UserID, in conversation: ConversationID)
        -> DocumentKey
    {
        DocumentKey(checked: .participantState, partition: conversation.text, id: user.text)
    }

    public static func profile(_ user: UserID) -> DocumentKey {
        DocumentKey(checked: .profile, partition: user.text, id: "")
    }

    /// The key of the users whom a user has blocked.
    public static func blocks(_ user: UserID) -> DocumentKey {
        DocumentKey(checked: .blocks, partition: user.text, id: "")
    }

    /// The key of a user's action item; the items of others may have the same id.
    public static func item(_ item: ItemID, of owner: UserID) -> DocumentKey {
        DocumentKey(checked: .item, partition: item.text, id: owner.text)
    }

    /// The key of an action item that an earlier version added: one for each id, whoever owns it.
    public static func sharedItem(_ item: ItemID) -> DocumentKey {
        DocumentKey(checked: .item, partition: item.text, id: "")
    }

    public static func device(_ device: DeviceID, of user: UserID) -> DocumentKey {
        DocumentKey(checked: .device, partition: user.text, id: device.text)
    }

    public static func credentials(_ address: AddressID) -> DocumentKey {
        DocumentKey(checked: .credentials, partition: address.text, id: "")
    }

    public static func file(_ file: FileID, in conversation: ConversationID) -> DocumentKey {
        DocumentKey(checked: .file, partition: conversation.text, id: file.text)
    }

    /// - Parameters:
    ///   - part: `FilePart.nameBytes` bytes, none of them a point.
    ///   - file: at most `fileNameBytesMax` bytes.
    public static func part(
        _ part: PartID, of file: FileID, in conversation: ConversationID
    ) -> DocumentKey {
        DocumentKey(checked: .filePart, partition: conversation.text, id: "\(file).\(part)")
    }

    /// The file and the name of the part of which this is the key; nil for any other key.
    public var partOfFile: (file: FileID, part: PartID)? {
        // The name of the part follows the last point.
        guard kind == .filePart, let point = id.lastIndex(of: "."),
            let file = FileID(String(id[..<point])),
            let part = PartID(String(id[id.index(after: point)...]))
        else { return nil }
        return (file, part)
    }

    /// The name of the user whose document this is; nil for documents that belong to no user.
    var user: String? {
        switch kind {
        case .profile, .device, .blocks: partition
        case .participantState, .item: id
        default: nil
        }
    }

    /// The most bytes of a file's name: a point and the name of a part follow it in a name.
    public static let fileNameBytesMax = nameBytesMax - FilePart.nameBytes - 1

    public static let signingPartition = "signing"

    /// The key of the signing keys and the revocations, of which a cluster has one document.
    public static let signing = DocumentKey(
        checked: .signing, partition: signingPartition, id: "")

    /// Returns the document's shard in a cluster of `count` shards.
    public func shard(of count: UInt16) -> ShardID { ShardID(of: partition, count: count) }
}

extension DocumentKey {
    public static func == (left: DocumentKey, right: DocumentKey) -> Bool {
        left.hash == right.hash && left.kind == right.kind && left.id == right.id
            && left.partition == right.partition
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

extension DocumentKey: Comparable {
    public static func < (left: DocumentKey, right: DocumentKey) -> Bool {
        (left.partition, left.kind.number, left.id) < (right.partition, right.kind.number, right.id)
    }
}

extension DocumentKey: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(kind.number)
        writer.write(partition)
        writer.write(id)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        let kind = Kind(number: try reader.readByte())
        let partition = try reader.readText(limit: nameBytesMax)
        let id = try reader.readText(limit: nameBytesMax)
        guard isName(partition.utf8), id.isEmpty || isName(id.utf8) else {
            throw .invalid("a document's key")
        }
        self.init(checked: kind, partition: partition, id: id)
    }
}
