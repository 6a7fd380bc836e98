import CRDT
import Wire

/// The encoding of queries between nodes; all counts and lengths are bounded.
extension Query: WireValue {
    /// The most messages that one query may ask for.
    public static let limitMax = 1_000

    public func encode(into writer: inout ByteWriter) {
        switch self {
        case .history(let conversation, let place, let limit, _):
            writer.write(1)
            writer.write(conversation)
            place.encode(into: &writer)
            writer.write(count: limit)
        case .edits(let message, let conversation):
            writer.write(2)
            writer.write(message)
            writer.write(conversation)
        case .pinned(let conversation):
            writer.write(3)
            writer.write(conversation)
        case .chats(let shown, nil):
            writer.write(4)
            shown.encode(into: &writer)
        case .chats(let shown, let search?):
            writer.write(26)
            shown.encode(into: &writer)
            search.encode(into: &writer)
        case .unread: writer.write(5)
        case .profile(let user):
            writer.write(6)
            writer.write(user)
        case .actions: writer.write(7)
        case .participants, .chat, .marks, .changes: encodeOfConversation(into: &writer)
        case .device(let device, let user):
            writer.write(20)
            writer.write(device)
            writer.write(user)
        case .devices(let user):
            writer.write(22)
            writer.write(user)
        case .names(let users):
            writer.write(23)
            users.encode(into: &writer)
        case .contacts: writer.write(24)
        case .profiles(let users):
            writer.write(25)
            users.encode(into: &writer)
        case .accounts(let address):
            writer.write(27)
            writer.write(address)
        case .signing: writer.write(28)
        case .allAccounts(let last):
            writer.write(31)
            last.encode(into: &writer)
        case .file(let file, let conversation, let isTagged):
            writer.write(isTagged ? 33 : 29)
            write(file, in: conversation, to: &writer)
        case .part(let index, let file, let conversation, let tag):
            writer.write(tag == nil ? 30 : 34)
            writer.write(count: index)
            write(file, in: conversation, to: &writer)
            if let tag { writer.write(tag) }
        case .due, .signIn, .holders: encodeOfDevice(into: &writer)
        case .message, .action: encodeOfOne(into: &writer)
        case .blocks, .blockers, .without, .accountUsers, .acquaintance, .unsentBytes:
            encodeOfOthers(into: &writer)
        }
    }

    /// Encodes a query about a conversation and its participants.
    private func encodeOfConversation(into writer: inout ByteWriter) {
        switch self {
        case .participants(let conversation):
            writer.write(8)
            writer.write(conversation)
        case .chat(let conversation):
            writer.write(9)
            writer.write(conversation)
        case .marks(let conversation):
            writer.write(10)
            writer.write(conversation)
        case .changes(let conversation, let limit):
            writer.write(45)
            writer.write(conversation)
            writer.write(count: limit)
        default: preconditionFailure("a query about a conversation")
        }
    }

    /// Encodes a query about what one user is to another, or about what only nodes ask.
    private func encodeOfOthers(into writer: inout ByteWriter) {
        switch self {
        case .blocks(let user):
            writer.write(37)
            writer.write(user)
        case .blockers(let users):
            writer.write(38)
            users.encode(into: &writer)
        case .without(let senders, let query):
            writer.write(39)
            senders.encode(into: &writer)
            query.encode(into: &writer)
        case .accountUsers(let users):
            writer.write(40)
            users.encode(into: &writer)
        case .acquaintance(let question):
            writer.write(41)
            question.encode(into: &writer)
        case .unsentBytes(let file, let conversation):
            writer.write(42)
            write(file, in: conversation, to: &writer)
        default: preconditionFailure("a query about others")
        }
    }

    /// Encodes a query about one message or item.
    private func encodeOfOne(into writer: inout ByteWriter) {
        switch self {
        case .message(let message, let conversation):
            writer.write(43)
            writer.write(message)
            writer.write(conversation)
        case .action(let item):
            writer.write(44)
            writer.write(item)
        default: preconditionFailure("a query about one message or item")
        }
    }

    /// Encodes a query about a device.
    private func encodeOfDevice(into writer: inout ByteWriter) {
        switch self {
        case .due(let query):
            writer.write(32)
            query.encode(into: &writer)
        case .signIn(let signIn, let user):
            writer.write(35)
            signIn.encode(into: &writer)
            writer.write(user)
        case .holders(let token):
            writer.write(36)
            token.encode(into: &writer)
        default: preconditionFailure("a query about a device")
        }
    }

    private func write(
        _ file: FileID, in conversation: ConversationID, to writer: inout ByteWriter
    ) {
        writer.write(file)
        writer.write(conversation)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        try self.init(kind: try reader.readByte(), from: &reader)
    }

    private init(kind: UInt8, from reader: inout ByteReader) throws(WireError) {
        switch kind {
        case 1:
            let conversation: ConversationID = try reader.readName()
            let place = try Place(from: &reader)
            let limit = try reader.readVarint()
            guard (1...UInt64(Query.limitMax)).contains(limit) else {
                throw .tooLong(count: limit, limit: Query.limitMax)
            }
            self = .history(conversation, place: place, limit: Int(limit))
        case 2: self = .edits(try reader.readName(), in: try reader.readName())
        case 3: self = .pinned(try reader.readName())
        case 4: self = .chats(try Shown(from: &reader))
        case 5: self = .unread
        case 6: self = .profile(try reader.readName())
        case 7: self = .actions
        case 8: self = .participants(try reader.readName())
        case 9: self = .chat(try reader.readName())
        case 10: self = .marks(try reader.readName())
        case 20: self = .device(try reader.readName(), of: try reader.readName())
        case 22: self = .devices(of: try reader.readName())
        case 23: self = .names(of: try Query.readUsers(from: &reader))
        case 24: self = .contacts
        case 25: self = .profiles(of: try Query.readUsers(from: &reader))
        case 26:
            self = .chats(try Shown(from: &reader), finding: try WordSearch(from: &reader))
        case 27: self = .accounts(try reader.readName())
        case 28: self = .signing
        case 31: self = .allAccounts(after: try Optional(from: &reader))
        case 29:
            self = .file(try reader.readName(), in: try reader.readName(), isTagged: false)
        case 33: self = .file(try reader.readName(), in: try reader.readName())
        case 30:
            self = .part(
                try reader.readNumber(), of: try reader.readName(), in: try reader.readName())
        case 34:
            self = .part(
                try reader.readNumber(), of: try reader.readName(), in: try reader.readName(),
                tag: try reader.readText(limit: Query.tagBytesMax))
        // 21 was one whose rule had a single vector of what was acknowledged.
        case 32: self = .due(try DueQuery(from: &reader))
        case 35: self = .signIn(try DeviceSignIn(from: &reader), of: try reader.readName())
        case 36: self = .holders(ofToken: try FieldText(from: &reader))
        case 37: self = .blocks(of: try reader.readName())
        case 38: self = .blockers(among: try Query.readUsers(from: &reader))
        case 39:
            let senders = try BlockedSenders(from: &reader)
            let kind = try reader.readByte()
            // One within another would be read by as many calls as a frame has bytes.
            guard kind != 39 else { throw .invalid("a query that shows messages") }
            let query = try Query(kind: kind, from: &reader)
            guard query.showsMessages else { throw .invalid("a query that shows messages") }
            self = .without(senders, query)
        case 40: self = .accountUsers(among: try Query.readUsers(from: &reader))
        case 41: self = .acquaintance(try Acquaintance.Question(from: &reader))
        case 42:
            self = .unsentBytes(besides: try reader.readName(), in: try reader.readName())
        case 43: self = .message(try reader.readName(), in: try reader.readName())
        case 44: self = .action(try reader.readName())
        case 45:
            let conversation: ConversationID = try reader.readName()
            let limit = try reader.readNumber()
            guard (1...ParticipantChanges.countMax).contains(limit) else {
                throw .tooLong(count: UInt64(limit), limit: ParticipantChanges.countMax)
            }
            self = .changes(conversation, limit: limit)
        default: throw .unknown
        }
    }
}

extension Query {
    static func readUsers(from reader: inout ByteReader) throws(WireError) -> [UserID] {
        let users = try reader.readUsers()
        guard users.count <= namesMax else {
            throw .tooLong(count: UInt64(users.count), limit: namesMax)
        }
        return users
    }
}

extension Query.Shown: NumberedChoice {
    public static var noun: String { "which conversations" }

    public var number: UInt8 {
        switch self {
        case .active: 1
        case .archived: 2
        case .all: 3
        }
    }
}

extension Query.Place: WireValue {
    public func encode(into writer: inout ByteWriter) {
        switch self {
        case .newest: writer.write(1)
        case .before(let message):
            writer.write(2)
            writer.write(message)
        case .after(let message):
            writer.write(3)
            writer.write(message)
        }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        switch try reader.readByte() {
        case 1: self = .newest
        case 2: self = .before(try reader.readName())
        case 3: self = .after(try reader.readName())
        default: throw .invalid("a place in a history")
        }
    }
}
