import CRDT
import Wire

/// A change of one document that a user requests.
///
/// A class, since each instance passes from a line through the node and its shard, and a copy of
/// its fields would count six references.
public final class Mutation: Sendable {
    /// The key of the document.
    public let key: DocumentKey
    public let user: UserID
    public let action: any DocumentAction
    /// The identity and the time that the client has given to the request; nil if the node that
    /// receives the request gives them.
    public let stamp: Stamp?

    /// - Parameter key: the key of a document of the kind that the action changes; where the key
    ///   contains the name of a user, this is `user`.
    public init<Action: DocumentAction>(
        _ action: Action, at key: DocumentKey, by user: UserID
    ) {
        precondition(key.kind == Action.Content.kind, "an action has a kind of document")
        precondition(key.user.map { $0 == user.text } ?? true, "users change their own documents")
        self.key = key
        self.user = user
        self.action = action
        stamp = nil
    }

    private init(_ mutation: Mutation, action: any DocumentAction, as stamp: Stamp?) {
        key = mutation.key
        user = mutation.user
        self.action = action
        self.stamp = stamp
    }

    /// Returns the mutation as the client's operation with this identity and time; with nil, the
    /// node that receives it gives them.
    public func requested(as stamp: Stamp?) -> Mutation {
        Mutation(self, action: action, as: stamp)
    }

    /// Returns the same request with another action on the same kind of document.
    public func with(_ action: some DocumentAction) -> Mutation {
        precondition(key.kind == type(of: action).Content.kind, "an action has a kind of document")
        return Mutation(self, action: action, as: stamp)
    }

    /// Who makes the changes that no user makes.
    public static let cluster = UserID(checked: "cluster")

    /// The position up to which messages are marked as read or delivered.
    public enum Marking: Hashable, Sendable {
        case newest
        case message(MessageID)
    }
}

extension Mutation: Hashable {
    public static func == (left: Mutation, right: Mutation) -> Bool {
        left.key == right.key && left.user == right.user && left.stamp == right.stamp
            && left.action.isEqual(to: right.action)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(key)
        hasher.combine(user)
        action.hash(into: &hasher)
    }
}

// MARK: Names

extension Mutation {
    /// The string whose hash determines the shard.
    public var partition: String { key.partition }

    /// The conversation that the mutation concerns; nil where it concerns a user or an item.
    public var conversation: ConversationID? {
        key.kind.isOfConversation ? ConversationID(checked: key.partition) : nil
    }

    /// The message that the mutation changes, if any.
    public var message: MessageID? {
        key.kind == .message ? MessageID(checked: key.id) : nil
    }

    /// The action item that the mutation changes, if any.
    public var item: ItemID? {
        key.kind == .item ? ItemID(checked: key.partition) : nil
    }
}

// MARK: Properties

extension Mutation {
    /// Whether its result depends on documents of other shards: on whom users have blocked, or on
    /// what else its user has uploaded.
    public var dependsOnOthers: Bool {
        action.beginsUpload || action.marking != nil || !action.added.isEmpty
    }

    /// The users whom the mutation adds to a conversation of the user's, ascending.
    public var guests: [UserID] { action.added.filter { $0 != user } }

    /// The change of the message's files that comes with a change of the message, in one commit:
    /// files are sent with their message, and closed with its deletion.
    public var changeOfFiles: (any FileAction)? {
        message.flatMap { action.changeOfFiles(of: $0) }
    }

    /// Whether the unread count follows from the mark that the mutation sets.
    public var marksRead: Bool { action is MarkRead }

    /// Whether the mutation ends its user's part in a conversation.
    public var isDeparture: Bool { action is LeaveConversation }

    /// Whether the mutation invites a user.
    public var isInvitation: Bool { action is InviteUser }
}

/// The operation that makes a change, and the dot of its execution.
public struct Authorship: Hashable, Sendable {
    /// The dot given by the replica that executes the operation.
    public let dot: Dot
    public let stamp: Stamp
    /// Earlier operations of the same client that may still be executed; a remove covers them, too.
    public let unsettled: [ProcessCounter]

    public init(dot: Dot, stamp: Stamp, unsettled: [ProcessCounter] = []) {
        self.dot = dot
        self.stamp = stamp
        self.unsettled = unsettled
    }
}

// MARK: Execution

extension Mutation {
    /// Returns whether the mutation would change anything; throws where it is refused.
    ///
    /// The line protocol prescribes the order of the checks: the conversation, the participant, the
    /// message, the verb's own rule, what exists already.
    ///
    /// - Parameters:
    ///   - target: the document under `key`.
    ///   - reached: the position of the message up to which the action sets a mark; nil where there
    ///     is none.
    ///   - files: the files that the action names, nil for those that are not there.
    /// - Returns: false where the state is already as requested.
    public func judge(
        conversation: Conversation?, target: Document?, reached: HistoryPosition? = nil,
        files: [File?] = [], by judge: Judge
    ) throws(Refusal) -> Bool {
        try action.judgeDocument(
            target, by: user,
            in: Circumstances(
                key: key, conversation: conversation, reached: reached, files: files, judge: judge))
    }

    /// Returns the document with this mutation applied.
    ///
    /// Call it only after `judge` has accepted the mutation. The accepting node checks a rule once;
    /// a merge never checks it again.
    ///
    /// - Parameter target: the document under `key`; nil where there is none yet.
    public func applied(
        to target: Document?, with findings: ParticipantFindings = ParticipantFindings(),
        by author: Authorship
    ) -> Document {
        let content = action.appliedToDocument(target, by: user, author, with: findings)
        return target?.changed(to: content, by: author.dot)
            ?? Document(content, at: key, by: author.dot)
    }

    /// Returns the state that an operation finds in the document that it changes.
    ///
    /// The executing node looks at this first. An operation that is already done changes nothing. A
    /// write over a value that is not earlier changes nothing, and its response says so.
    public func standing(of operation: Stamp, in target: Document?) -> Standing {
        guard let target else { return .new }
        return action.standing(of: operation, by: user, inDocument: target)
    }

    /// Whether the mutation is recorded although the state is already as requested.
    ///
    /// It is where an earlier operation of the same client may still be executed, which must then
    /// find a later write.
    ///
    /// - Parameter time: the time up to which such operations may still be executed; zero for none.
    /// - Throws: `tooManyEdits` where the message accepts no further edit.
    public func isRecorded(
        over target: Document?, after time: HybridTimestamp
    ) throws(Refusal) -> Bool {
        guard time > .zero else { return false }
        return try action.isRecorded(overDocument: target, after: time)
    }

    /// Whether a stale operation that keeps its time changes the document nevertheless.
    public func isAppliedLate(_ operation: Stamp, to target: Document?) -> Bool {
        #if PlantedBugs
            if PlantedBug.lateRemovalUnrecorded.isOn { return false }
        #endif
        return action.isAppliedLate(operation, toDocument: target)
    }
}

extension ObservedRemoveSet {
    mutating func remove(_ element: Element, by author: Authorship) {
        remove(element, by: author.stamp, after: author.unsettled)
    }
}
