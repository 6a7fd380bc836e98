import CRDT
import Wire

extension ParticipantState {
    /// A participant's change of their own view of a conversation.
    public enum Action: Hashable, Sendable {
        case archive
        case unarchive
        /// Marks everything up to this message, or up to the newest, as read.
        case read(MessageID?)
        /// Marks everything up to this message, or up to the newest, as delivered to a device.
        case deliver(MessageID?)
        /// Removes everything that the accepting node holds of the conversation from the user's
        /// view.
        case hideChat
    }
}

/// What the accepting node finds out for a participant's action: the mark to set, where the action
/// sets one, and the part to hide, where it hides the conversation.
public struct ParticipantFindings: Hashable, Sendable {
    public var mark: Mark?
    public var hidden: Hidden?

    public init(mark: Mark? = nil, hidden: Hidden? = nil) {
        self.mark = mark
        self.hidden = hidden
    }
}

extension ParticipantState.Action {
    /// The message up to which the action sets a mark, where it names one.
    private var marked: MessageID? {
        switch self {
        case .read(let message), .deliver(let message): message
        case .archive, .unarchive, .hideChat: nil
        }
    }

    /// The position at which the action sets a mark; nil if it sets none.
    var marking: Mutation.Marking? {
        switch self {
        case .read, .deliver: marked.map { .message($0) } ?? .newest
        case .archive, .unarchive, .hideChat: nil
        }
    }

    /// Returns whether the action would change anything; throws where it is refused.
    ///
    /// - Parameter reached: the position of the message up to which a mark is set; nil where there
    ///   is none.
    func judge(
        _ state: ParticipantState?, in conversation: Conversation?, by user: UserID,
        reached: HistoryPosition?
    ) throws(Refusal) -> Bool {
        let missing: Refusal = marked == nil ? .conversationNotFound : .messageNotFound
        let conversation = try conversation.joined(by: user, or: missing)
        let mark = reached.map { conversation.mark(of: user, at: $0) }
        if marked != nil, mark == nil { throw .messageNotFound }
        switch self {
        // Also where it is archived already: the new tag wins over an unarchiving on its way from
        // another node, which had seen only the earlier archiving. And where it is not archived: an
        // earlier archiving of the same client may still arrive.
        case .archive, .unarchive, .hideChat: return true
        // An empty conversation has nothing to mark.
        case .read: return mark.map { state?.read?.value.isBehind($0) ?? true } ?? false
        case .deliver: return mark.map { state?.delivered?.value.isBehind($0) ?? true } ?? false
        }
    }

    func applied(
        to content: ParticipantState?, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) -> ParticipantState {
        var state = content ?? ParticipantState()
        switch (self, findings.mark, findings.hidden) {
        case (.archive, _, _): state.archive(for: user, by: author.stamp)
        case (.unarchive, _, _): state.unarchive(for: user, by: author)
        case (.read, let mark?, _): state.raiseRead(to: mark.set(at: author.stamp.time))
        case (.deliver, let mark?, _): state.raiseDelivered(to: mark.set(at: author.stamp.time))
        case (.hideChat, _, let hidden?): state.hide(hidden.set(by: author))
        case (.read, nil, _), (.deliver, nil, _), (.hideChat, _, nil):
            preconditionFailure("judge refuses a mark without a message")
        }
        return state
    }
}

extension ParticipantState.Action: DocumentAction {
    func standing(of operation: Stamp, by user: UserID, in content: ParticipantState) -> Standing {
        switch self {
        case .archive: content.archivedBy.standing(ofAdding: user, by: operation)
        case .unarchive: content.archivedBy.standing(ofRemoving: user, by: operation)
        case .read, .deliver, .hideChat: .new
        }
    }

    func nameBytes(by user: UserID) -> Int {
        switch self {
        case .archive, .unarchive: user.text.utf8.count
        case .read, .deliver: nameBytesMax
        case .hideChat: 0
        }
    }

    var growth: ActionGrowth {
        switch self {
        case .archive, .hideChat: .adds
        case .unarchive, .read, .deliver: .settles
        }
    }

    var kind: UInt8 {
        switch self {
        case .archive: 11
        case .unarchive: 12
        case .read: 13
        case .deliver: 14
        case .hideChat: 20
        }
    }

    func encodeRest(into writer: inout ByteWriter) {
        if marking != nil { marked.encode(into: &writer) }
    }

    init?(kind: UInt8, from reader: inout ByteReader) throws(WireError) {
        switch kind {
        case 11: self = .archive
        case 12: self = .unarchive
        case 13: self = .read(try Optional(from: &reader))
        case 14: self = .deliver(try Optional(from: &reader))
        case 20: self = .hideChat
        default: return nil
        }
    }
}
