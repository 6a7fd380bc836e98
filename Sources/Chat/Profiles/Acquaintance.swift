import CRDT
import Wire

/// The conversations to which others have added a user without an answer, and whom the user knows.
///
/// A user has answered in a conversation where they have sent a message, or that nobody else has
/// added them to. Its participants are known to the user.
public struct Acquaintance: Hashable, Sendable {
    /// The question for the acquaintance of a user.
    public struct Question: Hashable, Sendable {
        /// The conversation to which the user is to be added.
        public let beside: ConversationID
        /// The users of whom it is asked whether the user knows them, ascending.
        ///
        /// Empty where only the number of conversations is asked for: then no message is looked
        /// for, and each conversation to which another has added the user counts as unanswered.
        public let others: [UserID]

        public init(beside: ConversationID, others: [UserID] = []) {
            self.beside = beside
            self.others = others
        }
    }

    /// The conversations without an answer to which one user has added the other.
    struct Unanswered: Hashable, Sendable {
        let adder: UserID
        var count: Int
    }

    /// The most conversations to which a user is added by people whom they do not know.
    public static let strangersMax = 50

    /// Whether the user is in the conversation already to which they are to be added.
    public private(set) var isIn = false
    /// Those of the users that were asked about whom the user knows, ascending.
    private var known: [UserID] = []
    /// Ascending by who has added the user.
    private var unanswered: [Unanswered] = []

    public init() {}

    /// - Parameter isAnswered: whether the user has sent a message in the conversation.
    public init(
        in chat: Conversation, as id: ConversationID, of user: UserID, for question: Question,
        isAnswered: Bool
    ) {
        let adder = chat.adder(of: user)
        isIn = id == question.beside
        if isAnswered || adder == user {
            known = question.others.filter { chat.participants.contains($0) }
        } else {
            unanswered = [Unanswered(adder: adder, count: 1)]
        }
    }

    /// The users who have added the user to a conversation in which there is no answer, ascending.
    public var adders: [UserID] { unanswered.map(\.adder) }

    public func knows(_ user: UserID) -> Bool { known.contains(user) }

    /// Whether no further person whom the user does not know may add the user to a conversation.
    public var isFull: Bool {
        let known = Set(known)
        let strangers = unanswered.filter { !known.contains($0.adder) }
        return strangers.reduce(0) { $0 + $1.count } >= Acquaintance.strangersMax
    }

    /// Adds the acquaintance of the same user from other conversations.
    public mutating func add(_ other: Acquaintance) {
        isIn = isIn || other.isIn
        known = mergedAscending(known, other.known, by: \.self) { mine, _ in mine }
        unanswered = mergedAscending(unanswered, other.unanswered, by: \.adder) { mine, theirs in
            Unanswered(adder: mine.adder, count: mine.count + theirs.count)
        }
    }
}

extension Conversation {
    /// The user who added a participant: who invited them last, or else the creator.
    func adder(of user: UserID) -> UserID { lastInvitation(of: user)?.by ?? header.creator }
}

extension Acquaintance: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(isIn)
        known.encode(into: &writer)
        unanswered.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        isIn = try reader.readFlag()
        known = try reader.readUsers()
        unanswered = try reader.readList().ascending("users who added another", by: \.adder)
    }
}

extension Acquaintance.Unanswered: WireValue {
    func encode(into writer: inout ByteWriter) {
        writer.write(adder)
        writer.write(count: count)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        adder = try reader.readName()
        count = try reader.readNumber()
        // Many of them are added up.
        guard count <= UInt32.max else { throw .tooLong(count: UInt64(count), limit: 1 << 32) }
    }
}

extension Acquaintance.Question: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(beside)
        others.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        beside = try reader.readName()
        others = try NamesQuery.readUsers(from: &reader)
    }
}
