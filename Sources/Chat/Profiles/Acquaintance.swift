import CRDT
import Wire

/// The users whom a user knows, and the number of conversations to which strangers have added the
/// user and in which the user has not answered.
///
/// A user has answered in a conversation if they have sent a message there, or if nobody else added
/// them to it. A user knows the participants of each conversation in which they have answered.
public struct Acquaintance: Hashable, Sendable {
    /// The question whom a user knows, sent as a query before the user is added to a conversation.
    public struct Question: Hashable, Sendable {
        /// The conversation to which the user is to be added.
        public let beside: ConversationID
        /// The users for whom the query determines whether the user knows them, ascending.
        ///
        /// If the list is empty, the query only counts conversations. The query then reads no
        /// messages, and each conversation to which another user has added the user counts as
        /// unanswered.
        public let others: [UserID]

        public init(beside: ConversationID, others: [UserID] = []) {
            self.beside = beside
            self.others = others
        }
    }

    /// The number of unanswered conversations to which one user has added another.
    struct Unanswered: Hashable, Sendable {
        let adder: UserID
        var count: Int
    }

    /// The most unanswered conversations to which strangers may add a user.
    public static let strangersMax = 50

    /// Whether the user already participates in the conversation of the question.
    public private(set) var isIn = false
    /// The users of the question whom the user knows, ascending.
    private var known: [UserID] = []
    /// The number of unanswered conversations for each adder, ascending by adder.
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

    /// The users who have added the user to an unanswered conversation, ascending.
    public var adders: [UserID] { unanswered.map(\.adder) }

    public func knows(_ user: UserID) -> Bool { known.contains(user) }

    /// Whether strangers may add the user to no further conversation.
    public var isFull: Bool {
        let known = Set(known)
        let strangers = unanswered.filter { !known.contains($0.adder) }
        return strangers.reduce(0) { $0 + $1.count } >= Acquaintance.strangersMax
    }

    /// Adds the result for the same user from other conversations.
    public mutating func add(_ other: Acquaintance) {
        isIn = isIn || other.isIn
        known = mergedAscending(known, other.known, by: \.self) { mine, _ in mine }
        unanswered = mergedAscending(unanswered, other.unanswered, by: \.adder) { mine, theirs in
            Unanswered(adder: mine.adder, count: mine.count + theirs.count)
        }
    }
}

extension Conversation {
    /// Returns the user who added a participant: the author of the participant's last invitation
    /// or, without an invitation, the creator.
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
        // The count is bounded, so that a sum of many counts does not overflow.
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
