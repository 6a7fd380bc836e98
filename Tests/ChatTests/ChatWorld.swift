import TestKit
import Wire

@testable import CRDT
@testable import Chat

/// The people, the conversation and the message that these tests are about.
enum People {
    static let alice = UserID(checked: "alice")
    static let bob = UserID(checked: "bob")
    static let carol = UserID(checked: "carol")
    static let all = [alice, bob, carol]
    static let conversation = ConversationID(checked: "c1")
    static let message = MessageID(checked: "m1")

    /// `users` as the participants of a conversation, added by one mutation.
    static func participants(_ users: [UserID] = all) -> ObservedRemoveSet<UserID> {
        var participants = ObservedRemoveSet<UserID>()
        for user in users { participants.insert(user, by: stamp(900, at: 0)) }
        return participants
    }

    static func replica(_ number: UInt64) -> ReplicaID { RandomID(high: 0, low: number) }

    static func dot(_ replica: UInt64, _ seq: UInt64) -> Dot {
        Dot(replica: People.replica(replica), seq: seq)
    }

    /// The first operation of a process, at this millisecond.
    static func stamp(_ process: UInt64, at milliseconds: UInt64) -> Stamp {
        Stamp(
            time: HybridTimestamp(milliseconds: milliseconds), process: People.replica(process),
            counter: 1)
    }
}

extension Writer {
    /// Returns the authorship of an operation that this replica reads and executes itself.
    mutating func nextAuthorship() -> Authorship {
        Authorship(dot: nextDot(), stamp: nextStamp())
    }
}

/// A node that judges and applies as the accepting node does.
struct Author {
    var writer: Writer

    init(_ number: UInt64, wallMilliseconds: UInt64 = 1_000_000) {
        writer = Writer(replica: People.replica(number), wallMilliseconds: wallMilliseconds)
    }

    /// Returns the document after the mutation, which is not judged.
    ///
    /// - Parameters:
    ///   - operation: the operation's stamp; nil for one that is read here.
    ///   - unsettled: the operations that may still be executed.
    mutating func apply(
        _ action: ChatAction, by user: UserID, to target: Document?,
        as operation: Stamp? = nil, after unsettled: [ProcessCounter] = []
    ) -> Document {
        if let target { writer.observe(target.greatestTime) }
        let author = Authorship(
            dot: writer.nextDot(), stamp: operation ?? writer.nextStamp(), unsettled: unsettled)
        return Mutation(action, in: People.conversation, by: user).applied(to: target, by: author)
    }

    /// The document after the mutation, or as it was where a rule forbids it or nothing changes.
    mutating func request(
        _ action: ChatAction, by user: UserID, of target: Document?,
        in conversation: Conversation
    ) -> Document? {
        let judge = Judge(
            wallMilliseconds: writer.wallMilliseconds, editWindowMilliseconds: 36_000_000)
        let mutation = Mutation(action, in: People.conversation, by: user)
        let isChange = try? mutation.judge(conversation: conversation, target: target, by: judge)
        return isChange == true ? apply(action, by: user, to: target) : target
    }
}

/// Short names of actions; of a message where none is named, `People.message` is meant.
extension ChatAction {
    static func send(_ text: String) -> ChatAction {
        .send(People.message, type: .text, item: nil, text: text)
    }

    static func send(
        _ message: MessageID, type: MessageType, item: ItemID?, text: String
    ) -> ChatAction {
        .message(message, SendMessage(type: type, item: item, text: text))
    }

    static func seed(_ message: MessageID, text: String) -> ChatAction {
        .message(message, SeedMessage(text: text))
    }

    static func edit(_ text: String) -> ChatAction { .edit(People.message, text: text) }

    static func edit(_ message: MessageID, text: String) -> ChatAction {
        .message(message, EditMessage(text: text))
    }

    static let hide = ChatAction.message(People.message, HideMessage())
    static let retract = ChatAction.message(People.message, RetractMessage())
    static let restore = ChatAction.message(People.message, RestoreMessage())
    static let pin = ChatAction.message(People.message, PinMessage())
    static let unpin = ChatAction.message(People.message, UnpinMessage())

    static func create(participants: [UserID], title: String?) -> ChatAction {
        .conversation(CreateConversation(participants: participants, title: title))
    }

    static func invite(_ user: UserID) -> ChatAction { .conversation(InviteUser(user)) }

    static let leave = ChatAction.conversation(LeaveConversation())
    static let archive = ChatAction.participant(ArchiveChat())
    static let unarchive = ChatAction.participant(UnarchiveChat())
    static let hideChat = ChatAction.participant(HideChat())

    static func read(_ message: MessageID?) -> ChatAction { .participant(MarkRead(message)) }

    static func deliver(_ message: MessageID?) -> ChatAction {
        .participant(MarkDelivered(message))
    }
}

extension Document {
    func merged(with other: Document) -> Document {
        var merged = self
        merged.merge(other)
        return merged
    }
}

extension Conversation {
    /// Returns a conversation with these users, created long ago by alice.
    static func among(_ users: [UserID] = People.all) -> Conversation {
        let header = Header(
            created: People.stamp(900, at: 0), dot: People.dot(900, 1), creator: People.alice,
            participants: users, title: nil)
        return Conversation(header: header)
    }

    /// Returns the conversation with other participants.
    func changed(_ body: (inout ObservedRemoveSet<UserID>) -> Void) throws -> Conversation {
        var users = participants
        body(&users)
        var fields = Fields()
        write(to: &fields)
        fields.set(2, to: users)
        return try Conversation(from: &fields)
    }
}

/// A document's bytes taken apart, to write what a later version would.
struct Envelope {
    var version: UInt8
    var changedBy: Context
    var fields: Fields

    init(changedBy: Context) {
        version = Document.version
        self.changedBy = changedBy
        fields = Fields()
    }

    init(_ bytes: [UInt8]) throws {
        var reader = ByteReader(bytes)
        version = try reader.readByte()
        changedBy = try Context(from: &reader)
        fields = try Fields(from: &reader)
        try reader.finish()
    }

    var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.write(version)
        changedBy.encode(into: &writer)
        fields.encode(into: &writer)
        return writer.bytes
    }
}

extension [UInt8] {
    /// Whether the bytes contain those of `text`.
    func holds(_ text: String) -> Bool {
        let text = Array(text.utf8)
        guard let first = text.first, count >= text.count else { return false }
        for start in 0...(count - text.count) where self[start] == first {
            if self[start..<(start + text.count)] == text[...] { return true }
        }
        return false
    }
}
