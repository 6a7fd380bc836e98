import CRDT
import Wire

/// A participant's change of their own view of a conversation.
///
/// Each action is a type, with its entry in `ParticipantState.actions`.
public protocol ParticipantAction: DocumentAction where Content == ParticipantState {
    /// The number of the action on the wire.
    static var kind: UInt8 { get }
    /// Whether the accepting node says which part of the conversation is hidden.
    static var hides: Bool { get }
    /// Whether the unread count follows from the mark that is set.
    static var marksRead: Bool { get }

    /// Reads what follows the kind.
    init(from reader: inout ByteReader) throws(WireError)

    /// The position at which the action sets a mark; nil if it sets none.
    var marking: Mutation.Marking? { get }

    /// Returns whether the action of a participant would change anything.
    ///
    /// - Parameter mark: the mark that it would set; nil where there is nothing to mark.
    func changes(_ state: ParticipantState?, mark: Mark?) -> Bool

    func apply(
        to state: inout ParticipantState, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings)
}

extension ParticipantAction {
    public var kind: UInt8 { Self.kind }
    public static var hides: Bool { false }
    public static var marksRead: Bool { false }
    public var marking: Mutation.Marking? { nil }

    /// Also where the state is as requested already: the new tag wins over a contrary change on its
    /// way from another node, which had seen only the earlier one, and an earlier change of the
    /// same client may still arrive.
    public func changes(_ state: ParticipantState?, mark: Mark?) -> Bool { true }

    /// Returns whether the action would change anything; throws where it is refused.
    ///
    /// - Parameter reached: the position of the message up to which a mark is set; nil where there
    ///   is none.
    func judge(
        _ state: ParticipantState?, in conversation: Conversation?, by user: UserID,
        reached: HistoryPosition?
    ) throws(Refusal) -> Bool {
        let namesMessage = if case .message? = marking { true } else { false }
        let conversation = try conversation.joined(
            by: user, or: namesMessage ? .messageNotFound : .conversationNotFound)
        let mark = reached.map { conversation.mark(of: user, at: $0) }
        if namesMessage, mark == nil { throw .messageNotFound }
        return changes(state, mark: mark)
    }

    func applied(
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
    private static let actions: [any ParticipantAction.Type] = [
        ArchiveChat.self, UnarchiveChat.self, MarkRead.self, MarkDelivered.self, HideChat.self,
    ]

    /// Reads the action of a kind; nil if it is none of a participant.
    static func action(
        kind: UInt8, from reader: inout ByteReader
    ) throws(WireError) -> (any ParticipantAction)? {
        for type in actions where type.kind == kind { return try type.init(from: &reader) }
        return nil
    }
}

// MARK: Archives

/// An action that archives a conversation for its user.
public struct ArchiveChat: ParticipantAction {
    public static let kind: UInt8 = 11

    public init() {}

    public init(from reader: inout ByteReader) throws(WireError) {}

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
    }

    public func nameBytes(by user: UserID) -> Int { user.text.utf8.count }
}

/// An action that takes a conversation out of its user's archive.
public struct UnarchiveChat: ParticipantAction {
    public static let kind: UInt8 = 12

    public init() {}

    public init(from reader: inout ByteReader) throws(WireError) {}

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

    public func nameBytes(by user: UserID) -> Int { user.text.utf8.count }
    public var growth: ActionGrowth { .settles }
}

// MARK: Marks

/// An action that sets a mark at a message, or at the newest.
public protocol MarkingAction: ParticipantAction {
    /// Nil for the newest.
    var message: MessageID? { get }

    init(_ message: MessageID?)
}

extension MarkingAction {
    public init(from reader: inout ByteReader) throws(WireError) {
        self.init(try Optional(from: &reader))
    }

    public func encodeRest(into writer: inout ByteWriter) { message.encode(into: &writer) }

    public var marking: Mutation.Marking? { message.map { .message($0) } ?? .newest }
    public var growth: ActionGrowth { .settles }
}

/// An action that marks everything up to this message, or up to the newest, as read.
public struct MarkRead: MarkingAction {
    public static let kind: UInt8 = 13
    public static let marksRead = true

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
}

/// An action that marks everything up to this message, or up to the newest, as delivered to a
/// device.
public struct MarkDelivered: MarkingAction {
    public static let kind: UInt8 = 14

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
}

// MARK: Hiding

/// An action that removes everything that the accepting node holds of the conversation from the
/// user's view.
public struct HideChat: ParticipantAction {
    public static let kind: UInt8 = 20
    public static let hides = true

    public init() {}

    public init(from reader: inout ByteReader) throws(WireError) {}

    public func apply(
        to state: inout ParticipantState, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) {
        guard let hidden = findings.hidden else {
            preconditionFailure("the accepting node says what is hidden")
        }
        state.hide(hidden.set(by: author))
    }

    public func nameBytes(by user: UserID) -> Int { 0 }
}
