import CRDT
import Wire

extension Conversation {
    /// A user's change of a conversation.
    public enum Action: Hashable, Sendable {
        /// `participants` ascends and holds the creator.
        ///
        /// - isByAccount: whether the creator has signed in to an account.
        case create(participants: [UserID], title: String?, isByAccount: Bool = false)
        case invite(UserID)
        case leave
        /// Leaves, unless the user has left already: a request that may be repeated.
        case leaveUnlessLeft

        public var isDeparture: Bool { self == .leave || self == .leaveUnlessLeft }
    }
}

extension Conversation.Action {
    /// Returns whether the action would change anything; throws where it is refused.
    func judge(_ conversation: Conversation?, by user: UserID) throws(Refusal) -> Bool {
        if case .create(let participants, let title, _) = self {
            guard let header = conversation?.header else { return true }
            guard header.creator == user, header.participants == participants,
                haveSameBytes(header.title, title)
            else { throw .conversationExists }
            return false
        }
        if self == .leaveUnlessLeft, conversation.hasLeft(user) { return false }
        let conversation = try conversation.joined(by: user)
        guard case .invite(let guest) = self else { return true }
        guard !conversation.participants.contains(guest) else { return false }
        guard conversation.participants.count < ChatLimits.participantsMax else {
            throw .tooManyParticipants
        }
        return true
    }

    func applied(
        to conversation: Conversation?, by user: UserID, _ author: Authorship
    ) -> Conversation {
        if case .create(let participants, let title, let isByAccount) = self {
            return Conversation(
                header: Conversation.Header(
                    created: author.stamp, dot: author.dot, creator: user,
                    participants: participants, title: title, isByAccount: isByAccount))
        }
        guard var conversation else { preconditionFailure("judge refuses what is not there") }
        if case .invite(let guest) = self {
            conversation.invite(guest, of: user, by: author.stamp)
        } else {
            conversation.leave(user, by: author)
        }
        return conversation
    }
}

extension Conversation.Action: DocumentAction {
    public func standing(of operation: Stamp, by user: UserID, in content: Conversation) -> Standing
    {
        switch self {
        case .create: .new
        case .invite(let guest): content.participants.standing(ofAdding: guest, by: operation)
        case .leave, .leaveUnlessLeft:
            content.participants.standing(ofRemoving: user, by: operation)
        }
    }

    public func isRecorded(over content: Conversation, after time: HybridTimestamp) -> Bool {
        // A late invitation of the same client finds that the user left after it.
        if self == .leaveUnlessLeft { return true }
        guard case .invite(let guest) = self else { return false }
        return (content.participants.lastAdded(guest) ?? .zero) <= time
    }

    public func nameBytes(by user: UserID) -> Int {
        switch self {
        case .create: nameBytesMax
        case .invite(let guest): 2 * guest.text.utf8.count
        case .leave, .leaveUnlessLeft: user.text.utf8.count
        }
    }

    public var growth: ActionGrowth { isDeparture ? .settles : .adds }

    public var roughBytes: Int {
        guard case .create(let participants, let title, _) = self else { return 0 }
        return participants.reduce(title?.utf8.count ?? 0) {
            $0 + ChatLimits.nameBytesAround + $1.text.utf8.count
        }
    }

    public var endsTyping: Bool { isDeparture }

    public var kind: UInt8 {
        switch self {
        case .create(_, _, let isByAccount): isByAccount ? 32 : 1
        case .invite: 9
        case .leave: 10
        case .leaveUnlessLeft: 44
        }
    }

    public func encodeRest(into writer: inout ByteWriter) {
        switch self {
        case .create(let participants, let title, _):
            participants.encode(into: &writer)
            writer.write(title)
        case .invite(let guest): writer.write(guest)
        case .leave, .leaveUnlessLeft: break
        }
    }

    init?(kind: UInt8, from reader: inout ByteReader) throws(WireError) {
        switch kind {
        case 1, 32:
            let participants = try reader.readUsers()
            let count = participants.count
            guard count <= ChatLimits.participantsMax else {
                throw .tooLong(count: UInt64(count), limit: ChatLimits.participantsMax)
            }
            self = .create(
                participants: participants,
                title: try reader.readOptionalText(limit: ChatLimits.titleBytesMax),
                isByAccount: kind == 32)
        case 9: self = .invite(try reader.readName())
        case 10: self = .leave
        case 44: self = .leaveUnlessLeft
        default: return nil
        }
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
