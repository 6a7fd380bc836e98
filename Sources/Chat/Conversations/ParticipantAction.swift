import CRDT
import Wire

/// A participant's change of their own view of a conversation.
///
/// Each action is a type, with its entry in `ParticipantState.actions`.
public protocol ParticipantAction: DocumentAction where Content == ParticipantState {
    /// Returns whether the action of a participant would change anything.
    ///
    /// - Parameter mark: the mark that it would set; nil where there is nothing to mark.
    func changes(_ state: ParticipantState?, mark: Mark?) -> Bool

    func apply(
        to state: inout ParticipantState, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings)
}

extension ParticipantAction {
    /// Also where the state is as requested already: the new tag wins over a contrary change on its
    /// way from another node, which had seen only the earlier one, and an earlier change of the
    /// same client may still arrive.
    public func changes(_ state: ParticipantState?, mark: Mark?) -> Bool { true }

    public func judge(
        _ state: ParticipantState?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        let namesMessage = if case .message? = marking { true } else { false }
        let conversation = try circumstances.conversation.joined(
            by: user, or: namesMessage ? .messageNotFound : .conversationNotFound)
        let mark = circumstances.reached.map { conversation.mark(of: user, at: $0) }
        if namesMessage, mark == nil { throw .messageNotFound }
        return changes(state, mark: mark)
    }

    public func applied(
        to content: ParticipantState?, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) -> ParticipantState {
        var state = content ?? ParticipantState()
        apply(to: &state, by: user, author, with: findings)
        return state
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

extension ParticipantState {
    static let actions: [any DocumentAction.Type] = [
        ArchiveChat.self, UnarchiveChat.self, MarkRead.self, MarkDelivered.self, HideChat.self,
    ]
}

extension Mutation {
    public convenience init(
        _ action: some ParticipantAction, in conversation: ConversationID, by user: UserID
    ) {
        self.init(action, at: .participantState(user, in: conversation), by: user)
    }
}

// MARK: Archives

/// An action that archives a conversation for its user.
public struct ArchiveChat: ParticipantAction, PlainAction {
    public static let codes: [ActionCode] = [11]

    public init() {}

    public func apply(
        to state: inout ParticipantState, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) {
        state.archive(for: user, by: author.stamp)
    }

    public func standing(
        of operation: Stamp, by user: UserID, in content: ParticipantState
    ) -> Standing {
        content.archivedBy.standing(ofAdding: user, by: operation)
            .unless(operation, precedes: content.archiveTimes.removed(user))
    }

    public func isAppliedLate(_ operation: Stamp, to content: ParticipantState) -> Bool { true }

    public func nameBytes(by user: UserID) -> Int { user.text.utf8.count }

    public func changeTime(
        in content: ParticipantState, by user: UserID, after operation: Stamp
    ) -> HybridTimestamp? {
        content.isArchived ? content.archiveChanged(by: user) : operation.time
    }
}

/// An action that takes a conversation out of its user's archive.
public struct UnarchiveChat: ParticipantAction, PlainAction {
    public static let codes: [ActionCode] = [12]

    public init() {}

    public func apply(
        to state: inout ParticipantState, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) {
        state.unarchive(for: user, by: author)
    }

    public func standing(
        of operation: Stamp, by user: UserID, in content: ParticipantState
    ) -> Standing {
        content.archivedBy.standing(ofRemoving: user, by: operation)
    }

    public func isAppliedLate(_ operation: Stamp, to content: ParticipantState) -> Bool { true }

    public func nameBytes(by user: UserID) -> Int { user.text.utf8.count }
    public var growth: ActionGrowth { .settles }

    public func changeTime(
        in content: ParticipantState, by user: UserID, after operation: Stamp
    ) -> HybridTimestamp? {
        content.isArchived ? operation.time : content.archiveChanged(by: user)
    }
}

// MARK: Marks

/// An action that sets a mark at a message, or at the newest.
public protocol MarkingAction: ParticipantAction {
    /// Nil for the newest.
    var message: MessageID? { get }

    init(_ message: MessageID?)
}

extension MarkingAction {
    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        self.init(try Optional(from: &reader))
    }

    public func encodeRest(into writer: inout ByteWriter) { message.encode(into: &writer) }

    public var marking: Mutation.Marking? { message.map { .message($0) } ?? .newest }
    public var growth: ActionGrowth { .settles }
}

/// An action that marks everything up to this message, or up to the newest, as read.
public struct MarkRead: MarkingAction {
    public static let codes: [ActionCode] = [13]

    /// Nil for the newest.
    public let message: MessageID?

    public init(_ message: MessageID?) { self.message = message }

    /// An empty conversation has nothing to mark.
    public func changes(_ state: ParticipantState?, mark: Mark?) -> Bool {
        mark.map { state?.read?.value.isBehind($0) ?? true } ?? false
    }

    public func apply(
        to state: inout ParticipantState, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) {
        guard let mark = findings.mark else {
            preconditionFailure("judge refuses a mark without a message")
        }
        state.raiseRead(to: mark.set(at: author.stamp.time))
    }

    public func changeTime(
        in content: ParticipantState, by user: UserID, after operation: Stamp
    ) -> HybridTimestamp? {
        content.read?.value.at
    }
}

/// An action that marks everything up to this message, or up to the newest, as delivered to a
/// device.
public struct MarkDelivered: MarkingAction {
    public static let codes: [ActionCode] = [14]

    /// Nil for the newest.
    public let message: MessageID?

    public init(_ message: MessageID?) { self.message = message }

    /// An empty conversation has nothing to mark.
    public func changes(_ state: ParticipantState?, mark: Mark?) -> Bool {
        mark.map { state?.delivered?.value.isBehind($0) ?? true } ?? false
    }

    public func apply(
        to state: inout ParticipantState, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) {
        guard let mark = findings.mark else {
            preconditionFailure("judge refuses a mark without a message")
        }
        state.raiseDelivered(to: mark.set(at: author.stamp.time))
    }

    public func changeTime(
        in content: ParticipantState, by user: UserID, after operation: Stamp
    ) -> HybridTimestamp? {
        content.delivered?.value.at
    }
}

// MARK: Hiding

/// An action that removes everything that the accepting node holds of the conversation from the
/// user's view.
public struct HideChat: ParticipantAction, PlainAction {
    public static let codes: [ActionCode] = [20]

    public init() {}

    public func apply(
        to state: inout ParticipantState, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) {
        guard let hidden = findings.hidden else {
            preconditionFailure("the accepting node says what is hidden")
        }
        state.hide(hidden.set(by: author))
    }

    public func standing(
        of operation: Stamp, by user: UserID, in content: ParticipantState
    ) -> Standing {
        // A node's operation is not repeated under the same stamp without being marked so.
        operation.process.isOfDevice && content.hidden?.at == operation.time ? .done : .new
    }

    public var hides: Bool { true }
    public func nameBytes(by user: UserID) -> Int { 0 }

    public func changeTime(
        in content: ParticipantState, by user: UserID, after operation: Stamp
    ) -> HybridTimestamp? {
        content.hidden?.at
    }
}
