import CRDT
import Wire

/// A user's change of a conversation.
///
/// Each action is a type, with its entry in `Conversation.actions`.
public protocol ConversationAction: DocumentAction where Content == Conversation {
    /// Returns whether the action would change anything; throws where it is refused.
    func judge(_ conversation: Conversation?, by user: UserID) throws(Refusal) -> Bool
}

extension ConversationAction {
    /// The conversation is that of the circumstances: under an id that was just made, no document
    /// is looked up.
    public func judge(
        _ content: Conversation?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        try judge(circumstances.conversation, by: user)
    }
}

extension Conversation {
    static let actions: [any DocumentAction.Type] = [
        CreateConversation.self, InviteUser.self, LeaveConversation.self,
    ]
}

extension Mutation {
    public convenience init(
        _ action: some ConversationAction, in conversation: ConversationID, by user: UserID
    ) {
        self.init(action, at: .conversation(conversation), by: user)
    }
}

/// An action that creates a conversation.
public struct CreateConversation: ConversationAction {
    public static let codes: [ActionCode] = [1, 32]

    /// Ascending, with the creator.
    public let participants: [UserID]
    public let title: String?
    /// Whether the creator has signed in to an account.
    public let isByAccount: Bool

    public init(participants: [UserID], title: String?, isByAccount: Bool = false) {
        self.participants = participants
        self.title = title
        self.isByAccount = isByAccount
    }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        participants = try reader.readUsers()
        guard participants.count <= ChatLimits.participantsMax else {
            throw .tooLong(
                count: UInt64(participants.count), limit: ChatLimits.participantsMax)
        }
        title = try reader.readOptionalText(limit: ChatLimits.titleBytesMax)
        isByAccount = code == 32
    }

    public var code: ActionCode { isByAccount ? 32 : 1 }

    public func encodeRest(into writer: inout ByteWriter) {
        participants.encode(into: &writer)
        writer.write(title)
    }

    public var added: [UserID] { participants }

    public func makesName(
        at key: DocumentKey, by user: UserID, where condition: (String) -> Bool
    ) -> Bool {
        condition(key.partition) || participants.contains { condition($0.text) }
    }

    public func judge(_ conversation: Conversation?, by user: UserID) throws(Refusal) -> Bool {
        guard let header = conversation?.header else { return true }
        guard header.creator == user, header.participants == participants,
            haveSameBytes(header.title, title)
        else { throw .conversationExists }
        return false
    }

    public func applied(
        to conversation: Conversation?, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) -> Conversation {
        Conversation(
            header: Conversation.Header(
                created: author.stamp, dot: author.dot, creator: user,
                participants: participants, title: title, isByAccount: isByAccount))
    }

    public func standing(
        of operation: Stamp, by user: UserID, in content: Conversation
    ) -> Standing { .new }

    public var roughBytes: Int {
        participants.reduce(title?.utf8.count ?? 0) {
            $0 + ChatLimits.nameBytesAround + $1.text.utf8.count
        }
    }

    public func changeTime(
        in content: Conversation, by user: UserID, after operation: Stamp
    ) -> HybridTimestamp? {
        content.header.created.time
    }
}

/// An action that adds a user to a conversation.
public struct InviteUser: ConversationAction {
    public static let codes: [ActionCode] = [9]

    public let guest: UserID

    public init(_ guest: UserID) { self.guest = guest }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        guest = try reader.readName()
    }

    public func encodeRest(into writer: inout ByteWriter) { writer.write(guest) }

    public var added: [UserID] { [guest] }

    public func makesName(
        at key: DocumentKey, by user: UserID, where condition: (String) -> Bool
    ) -> Bool {
        condition(guest.text)
    }

    public func judge(_ conversation: Conversation?, by user: UserID) throws(Refusal) -> Bool {
        let conversation = try conversation.joined(by: user)
        guard !conversation.participants.contains(guest) else { return false }
        guard conversation.participants.count < ChatLimits.participantsMax else {
            throw .tooManyParticipants
        }
        return true
    }

    public func applied(
        to conversation: Conversation?, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) -> Conversation {
        guard var conversation else { preconditionFailure("judge refuses what is not there") }
        conversation.invite(guest, of: user, by: author.stamp)
        return conversation
    }

    public func standing(
        of operation: Stamp, by user: UserID, in content: Conversation
    ) -> Standing {
        content.participants.standing(ofAdding: guest, by: operation)
            .unless(operation, precedes: content.departureTimes.removed(guest))
    }

    public func isAppliedLate(_ operation: Stamp, to content: Conversation) -> Bool { true }

    public func isRecorded(over content: Conversation, after time: HybridTimestamp) -> Bool {
        (content.participants.lastAdded(guest) ?? .zero) <= time
            && content.participants.devicesCount(guest) < InviteUser.devicesMax
    }

    /// The most devices whose invitations of a present participant are recorded, so that enough
    /// records are left for invitations of the same user after they have left.
    private static let devicesMax = 16

    public func nameBytes(by user: UserID) -> Int { 2 * guest.text.utf8.count }

    public func changeTime(
        in content: Conversation, by user: UserID, after operation: Stamp
    ) -> HybridTimestamp? {
        content.participants.contains(guest)
            ? content.participationChanged(of: guest) : operation.time
    }
}

/// An action by which a user leaves a conversation.
public struct LeaveConversation: ConversationAction {
    public static let codes: [ActionCode] = [10, 44]

    /// Whether nothing is changed where the user has left already, as for a request that may be
    /// repeated; otherwise that is refused.
    public let mayHaveLeft: Bool

    public init(mayHaveLeft: Bool = false) { self.mayHaveLeft = mayHaveLeft }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        mayHaveLeft = code == 44
    }

    public var code: ActionCode { mayHaveLeft ? 44 : 10 }

    public func judge(_ conversation: Conversation?, by user: UserID) throws(Refusal) -> Bool {
        if mayHaveLeft, conversation.hasLeft(user) { return false }
        _ = try conversation.joined(by: user)
        return true
    }

    public func applied(
        to conversation: Conversation?, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) -> Conversation {
        guard var conversation else { preconditionFailure("judge refuses what is not there") }
        conversation.leave(user, by: author)
        return conversation
    }

    public func standing(
        of operation: Stamp, by user: UserID, in content: Conversation
    ) -> Standing {
        content.participants.standing(ofRemoving: user, by: operation)
    }

    /// A late invitation of the same client finds that the user left after it.
    public func isRecorded(over content: Conversation, after time: HybridTimestamp) -> Bool {
        mayHaveLeft
    }

    public func isAppliedLate(_ operation: Stamp, to content: Conversation) -> Bool { true }

    public func nameBytes(by user: UserID) -> Int { user.text.utf8.count }
    public var growth: ActionGrowth { .settles }
    public var endsTyping: Bool { true }

    public func changeTime(
        in content: Conversation, by user: UserID, after operation: Stamp
    ) -> HybridTimestamp? {
        content.participants.contains(user)
            ? operation.time : content.participationChanged(of: user)
    }
}

extension Conversation? {
    /// Returns the conversation if it exists and `user` is a participant.
    func joined(by user: UserID, or missing: Refusal = .conversationNotFound) throws(Refusal)
        -> Conversation
    {
        try requireParticipant(user, or: missing)
        guard let self else { throw missing }
        return self
    }

    /// Whether `user` was a participant and is none any more.
    public func hasLeft(_ user: UserID) -> Bool {
        guard let participants = self?.participants else { return false }
        return participants.hasHeld(user) && !participants.contains(user)
    }

    /// Throws unless the conversation exists and `user` is a participant; copies nothing of it.
    func requireParticipant(_ user: UserID, or missing: Refusal) throws(Refusal) {
        guard let isParticipant = self?.participants.contains(user) else { throw missing }
        guard isParticipant else { throw .notParticipant }
    }
}
