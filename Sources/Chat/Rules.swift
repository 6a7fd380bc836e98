import CRDT
import Wire

/// The time and the settings of the accepting node, by which it judges mutations.
public struct Judge: Sendable {
    /// Milliseconds since 1970.
    public let wallMilliseconds: UInt64
    /// How long after its sending a message may be edited, in milliseconds; at exactly that age it
    /// may not.
    public let editWindowMilliseconds: UInt64

    /// The same time, with the latest timestamp that is believed.
    public let wall: WallTime

    public init(wallMilliseconds: UInt64, editWindowMilliseconds: UInt64) {
        self.init(WallTime(milliseconds: wallMilliseconds), editWindowMilliseconds)
    }

    public init(_ wall: WallTime, _ editWindowMilliseconds: UInt64) {
        self.wall = wall
        wallMilliseconds = wall.milliseconds
        self.editWindowMilliseconds = editWindowMilliseconds
    }
}

extension Mutation {
    /// Returns whether the mutation would change anything; throws where it is refused.
    ///
    /// The line protocol prescribes the order of the checks: the conversation, the participant, the
    /// message, the verb's own rule, what exists already.
    ///
    /// - Parameters:
    ///   - target: the document under `key`.
    ///   - reached: the position of the message up to which `marking` sets a mark; nil where there
    ///     is none.
    /// - Returns: false where the state is already as requested.
    public func judge(
        conversation: Conversation?, target: Document?, reached: HistoryPosition? = nil,
        by judge: Judge
    ) throws(Refusal) -> Bool {
        guard case .conversation = subject else { return try judgeOwn(target) }
        if case .create(let participants, let title) = action {
            return try judgeCreate(participants, title, existing: conversation)
        }
        guard let conversation else { throw missing }
        guard conversation.participants.contains(user) else { throw .notParticipant }
        let message = target?.message
        switch action {
        case .send(_, _, _, let text), .seed(_, let text):
            return try judgeSend(text, existing: message, among: conversation.participants)
        case .invite(let guest):
            return try judgeInvitation(of: guest, to: conversation)
        case .leave, .hideChat:
            return true
        case .archive, .unarchive, .read, .deliver:
            let mark = reached.map { conversation.mark(of: user, at: $0) }
            return try self.judge(target?.participantState ?? ParticipantState(), setting: mark)
        default:
            break
        }
        guard let message else { throw .messageNotFound }
        return try self.judge(message, among: conversation.participants, by: judge)
    }

    private var missing: Refusal {
        switch action {
        case .create, .send, .invite, .leave, .archive, .unarchive, .read(nil), .deliver(nil),
            .hideChat, .seed:
            .conversationNotFound
        case .edit, .hide, .retract, .restore, .pin, .unpin, .read, .deliver:
            .messageNotFound
        case .setProfile, .seedProfile: .profileNotFound
        case .device: .deviceNotFound
        case .addItem, .editItem, .finishItem, .deleteItem: .itemNotFound
        }
    }

    private func judgeCreate(
        _ participants: [UserID], _ title: String?, existing: Conversation?
    ) throws(Refusal) -> Bool {
        guard let header = existing?.header else { return true }
        guard header.creator == user, header.participants == participants,
            haveSameBytes(header.title, title)
        else { throw .conversationExists }
        return false
    }

    private func judgeSend(
        _ text: String, existing: Message?, among participants: ObservedRemoveSet<UserID>
    ) throws(Refusal) -> Bool {
        guard let existing else { return true }
        let isDeleted = existing.isDeletedForEveryone(among: participants)
        guard existing.header.sender == user, isDeleted || haveSameBytes(existing.header.text, text)
        else {
            throw .messageExists
        }
        return false
    }

    private func judgeInvitation(
        of guest: UserID, to conversation: Conversation
    ) throws(Refusal) -> Bool {
        guard !conversation.participants.contains(guest) else { return false }
        guard conversation.participants.count < ChatLimits.participantsMax else {
            throw .tooManyParticipants
        }
        return true
    }

    private func judge(_ participantState: ParticipantState, setting mark: Mark?) throws(Refusal)
        -> Bool
    {
        switch (action, mark) {
        case (.archive, _):
            // Also where it is archived already: the new tag wins over an unarchiving on its way
            // from another node, which had seen only the earlier archiving.
            return true
        case (.unarchive, _):
            // Also where it is not archived: an earlier archiving of the same client may still
            // arrive.
            return true
        case (.read(_?), nil), (.deliver(_?), nil): throw .messageNotFound
        case (.read, let mark?): return participantState.read?.value.isBehind(mark) ?? true
        case (.deliver, let mark?): return participantState.delivered?.value.isBehind(mark) ?? true
        // An empty conversation has nothing to mark.
        default: return false
        }
    }

    private func judge(
        _ message: Message, among participants: ObservedRemoveSet<UserID>, by judge: Judge
    ) throws(Refusal) -> Bool {
        let isDeleted = message.isDeletedForEveryone(among: participants)
        switch action {
        case .edit(_, let text):
            guard !isDeleted, message.mayEdit(user, by: judge) else { throw .editForbidden }
            guard !haveSameBytes(message.text, text) else { return false }
            guard message.versions.count < ChatLimits.editsMax else { throw .tooManyEdits }
            return true
        case .hide:
            // Also where it is hidden already: the new tag wins over a restore on its way from
            // another node, which had seen only the earlier hide.
            return true
        case .retract:
            guard message.header.sender == user else { throw .notSender }
            return true
        case .restore:
            // Also where it is not hidden: an earlier deletion of the same client may still arrive.
            return true
        case .pin:
            guard !isDeleted else { throw .messageDeleted }
            return message.pin?.value.by != user
        case .unpin:
            return message.pin?.value.by != nil
        case .create, .send, .invite, .leave, .archive, .unarchive, .read, .deliver, .hideChat,
            .seed, .setProfile, .seedProfile, .addItem, .editItem, .finishItem, .deleteItem,
            .device:
            preconditionFailure("judged before")
        }
    }
}

#if PlantedBugs
    extension Document {
        /// Drops the edits that `judge` would refuse by now, as if a merge checked the rule
        /// again.
        public func judgedAgain(by judge: Judge, in conversation: Conversation?) -> Document {
            guard case .message(var message) = content else { return self }
            let sender = message.header.sender
            let isIn = conversation?.participants.contains(sender) ?? false
            guard !isIn || !message.mayEdit(sender, by: judge) else { return self }
            message.versions = []
            return with(.message(message))
        }
    }
#endif

extension Message {
    /// Whether `user` may edit the message now.
    ///
    /// A message with a timestamp further in the future than is believed cannot be edited: the
    /// clock that gave it was wrong.
    func mayEdit(_ user: UserID, by judge: Judge) -> Bool {
        let sent = header.sent.time.milliseconds
        let age = judge.wallMilliseconds > sent ? judge.wallMilliseconds - sent : 0
        return header.sender == user && !deletedBy.contains(user)
            && age < judge.editWindowMilliseconds && judge.wall.believes(header.sent.time)
    }
}
