import CRDT
import Wire

/// A change that a user requests, with the ids by which a repetition is recognised.
///
/// A class, since each instance passes from a line through the node and its shard, and a copy of
/// its fields would count six references.
public final class Mutation: Sendable {
    /// An action, with the document of the subject that it changes where there are several.
    ///
    /// Indirect, since each step looks at it: a copy counts one reference.
    public indirect enum Action: Sendable {
        case conversation(any ConversationAction)
        case message(MessageID, any MessageAction)
        case participant(any ParticipantAction)
        case profile(Profile.Action)
        case item(Item.Action)
        case device(DeviceID, Device.Action)
        case credentials(Credentials.Action)
        case signing(Signing.Action)
        case file(FileID, File.Action)
        case part(PartID, of: FileID, FilePart.Action)
        case blocks(Blocks.Action)

        /// Whether only nodes and operators may do it, whoever the user is.
        public var isForOperators: Bool {
            switch self {
            case .credentials, .signing: true
            case .file(_, let action): action.isForOperators
            case .part(_, _, let action): action.isForOperators
            case .message(_, let action): action.isForOperators
            case .conversation, .participant, .profile, .item, .device, .blocks: false
            }
        }
    }

    public let subject: Subject
    public let user: UserID
    public let action: Action
    /// The key of the one document that the mutation changes; computed once, as every step needs
    /// it.
    public let key: DocumentKey

    public convenience init(_ action: Action, in conversation: ConversationID, by user: UserID) {
        self.init(action, of: .conversation(conversation), by: user)
    }

    /// Creates a mutation by which users set their own profile.
    public convenience init(_ edit: Profile.Edit, by user: UserID) {
        self.init(.profile(.set(edit)), of: .user(user), by: user)
    }

    /// Creates a mutation by which users block others.
    public convenience init(_ action: Blocks.Action, by user: UserID) {
        self.init(.blocks(action), of: .user(user), by: user)
    }

    public convenience init(_ action: Item.Action, on item: ItemID, by user: UserID) {
        self.init(.item(action), of: .item(item), by: user)
    }

    public convenience init(_ action: Device.Action, on device: DeviceID, by user: UserID) {
        self.init(.device(device, action), of: .user(user), by: user)
    }

    public convenience init(
        _ action: Credentials.Action, at address: AddressID, of user: UserID
    ) {
        self.init(.credentials(action), of: .address(address), by: user)
    }

    public convenience init(
        _ action: File.Action, of file: FileID, in conversation: ConversationID, by user: UserID
    ) {
        self.init(.file(file, action), of: .conversation(conversation), by: user)
    }

    public convenience init(
        _ action: FilePart.Action, on part: PartID, of file: FileID,
        in conversation: ConversationID, by user: UserID
    ) {
        self.init(.part(part, of: file, action), of: .conversation(conversation), by: user)
    }

    public convenience init(_ action: Signing.Action) {
        self.init(.signing(action), of: .signing, by: Mutation.cluster)
    }

    /// Who makes the changes that no user makes.
    public static let cluster = UserID(checked: "cluster")

    public convenience init(
        _ action: some ConversationAction, in conversation: ConversationID, by user: UserID
    ) {
        self.init(.conversation(action), of: .conversation(conversation), by: user)
    }

    public convenience init(
        _ action: some ParticipantAction, in conversation: ConversationID, by user: UserID
    ) {
        self.init(.participant(action), of: .conversation(conversation), by: user)
    }

    public convenience init(
        _ action: some MessageAction, of message: MessageID, in conversation: ConversationID,
        by user: UserID
    ) {
        self.init(.message(message, action), of: .conversation(conversation), by: user)
    }

    init(_ action: Action, of subject: Subject, by user: UserID) {
        precondition(action.subjectKind == subject.kind, "an action has its own subject")
        key = action.key(of: subject, by: user)
        self.subject = subject
        self.user = user
        self.action = action
    }

    /// The message that the mutation changes, if any.
    public var message: MessageID? {
        guard case .message(let message, _) = action else { return nil }
        return message
    }

    /// The files on which the mutation depends, or that it changes beside its own document.
    ///
    /// - Parameter target: the document that it changes.
    public func files(besides target: Document?) -> [FileID] {
        switch action {
        case .part(_, let file, _): [file]
        case .message(_, let action): action.files(of: target?.message)
        default: []
        }
    }

    /// The change of the message's files that comes with a change of the message, in one commit:
    /// files are sent with their message, and closed with its deletion.
    public var changeOfFiles: File.Action? {
        guard case .message(let id, let action) = action else { return nil }
        return action.changeOfFiles(of: id)
    }

    /// The device that the mutation changes, if any.
    public var device: DeviceID? {
        guard case .device(let device, _) = action else { return nil }
        return device
    }

    /// Whether it begins an upload.
    public var beginsUpload: Bool {
        if case .file(_, .begin) = action { return true }
        return false
    }

    /// Whether its result depends on documents of other shards: on whom users have blocked, or on
    /// what else its user has uploaded.
    public var dependsOnOthers: Bool {
        switch action {
        case .file(_, .begin): true
        case .conversation(let action): !action.added.isEmpty
        case .participant(let action): action.marking != nil
        default: false
        }
    }

    /// The users whom the mutation adds to a conversation of the user's, ascending.
    public var guests: [UserID] {
        guard case .conversation(let action) = action else { return [] }
        return action.added.filter { $0 != user }
    }

    /// The action of a participant, if it is one.
    private var participantAction: (any ParticipantAction)? {
        guard case .participant(let action) = action else { return nil }
        return action
    }

    /// The position at which the mutation sets a mark, if it sets one.
    public var marking: Marking? { participantAction?.marking }

    /// Whether the mutation hides what its executing node holds of a conversation.
    public var hides: Bool { participantAction.map { type(of: $0).hides } ?? false }

    /// Whether the unread count follows from the mark that the mutation sets.
    public var marksRead: Bool { participantAction.map { type(of: $0).marksRead } ?? false }

    /// The position up to which messages are marked as read or delivered.
    public enum Marking: Hashable, Sendable {
        case newest
        case message(MessageID)
    }
}

extension Mutation: Hashable {
    public static func == (left: Mutation, right: Mutation) -> Bool {
        left.subject == right.subject && left.user == right.user && left.action == right.action
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(subject)
        hasher.combine(user)
        hasher.combine(action)
    }
}

extension Mutation.Action: Hashable {
    public static func == (left: Mutation.Action, right: Mutation.Action) -> Bool {
        left.names == right.names && left.general.isEqual(to: right.general)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(names)
        general.hash(into: &hasher)
    }

    /// The names of the document of the subject that the action changes.
    private var names: [String] {
        switch self {
        case .message(let message, _): [message.text]
        case .device(let device, _): [device.text]
        case .file(let file, _): [file.text]
        case .part(let part, let file, _): [part.text, file.text]
        case .conversation, .participant, .profile, .item, .credentials, .signing, .blocks: []
        }
    }
}

extension Mutation.Action {
    func key(of subject: Mutation.Subject, by user: UserID) -> DocumentKey {
        switch (subject, self) {
        case (.conversation(let id), .message(let message, _)): .message(message, in: id)
        case (.conversation(let id), .participant): .participantState(user, in: id)
        case (.conversation(let id), .file(let file, _)): .file(file, in: id)
        case (.conversation(let id), .part(let part, let file, _)): .part(part, of: file, in: id)
        case (.conversation(let id), _): .conversation(id)
        case (.user(let user), .device(let device, _)): .device(device, of: user)
        case (.user(let user), .blocks): .blocks(user)
        case (.user(let user), _): .profile(user)
        case (.item(let item), _): .item(item, of: user)
        case (.address(let address), _): .credentials(address)
        case (.signing, _): .signing
        }
    }

    /// The part of an action that depends on no document.
    private var general: any DocumentAction {
        switch self {
        case .conversation(let action): action
        case .message(_, let action): action
        case .participant(let action): action
        case .profile(let action): action
        case .item(let action): action
        case .device(_, let action): action
        case .credentials(let action): action
        case .signing(let action): action
        case .file(_, let action): action
        case .part(_, _, let action): action
        case .blocks(let action): action
        }
    }

    func nameBytes(by user: UserID) -> Int { general.nameBytes(by: user) }
    var growth: ActionGrowth { general.growth }
    public var roughBytes: Int { general.roughBytes }
    public var deletes: Bool { general.deletes }
    public var mayBeMinted: Bool { general.mayBeMinted }
    public var endsTyping: Bool { general.endsTyping }
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
    ///   - files: the files that `files(besides:)` names, nil for those that are not there.
    /// - Returns: false where the state is already as requested.
    public func judge(
        conversation: Conversation?, target: Document?, reached: HistoryPosition? = nil,
        files: [File?] = [], by judge: Judge
    ) throws(Refusal) -> Bool {
        switch action {
        case .conversation(let action):
            try action.judge(conversation, by: user)
        case .message(let id, let action):
            try action.judge(
                target?.message, in: conversation, by: user, judge, sending: files, as: id)
        case .participant(let action):
            try action.judge(target?.participantState, in: conversation, by: user, reached: reached)
        case .profile(let action):
            action.judge(target?.profile)
        case .item(let action):
            try action.judge(target?.item, by: user)
        case .device(_, let action):
            try action.judge(target?.device)
        case .credentials(let action):
            try action.judge(target?.credentials, by: user)
        case .signing(let action):
            action.judge(target?.signing)
        case .file(_, let action):
            try action.judge(target?.file, in: conversation, by: user)
        case .part(_, _, let action):
            try action.judge(
                target?.part, of: files.first ?? nil, in: conversation, by: user)
        case .blocks(let action):
            try action.judge(target?.blocks, by: user)
        }
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
        let content: Document.Content =
            switch action {
            case .conversation(let action):
                .conversation(action.applied(to: target?.conversation, by: user, author))
            case .message(_, let action):
                .message(action.applied(to: target?.message, by: user, author))
            case .participant(let action):
                .participantState(
                    action.applied(
                        to: target?.participantState, by: user, author, with: findings))
            case .profile(let action):
                .profile(action.applied(to: target?.profile, author))
            case .item(let action):
                .item(action.applied(to: target?.item, by: user, author))
            case .device(_, let action):
                .device(action.applied(to: target?.device, author))
            case .credentials(let action):
                .credentials(action.applied(to: target?.credentials, by: user, author))
            case .signing(let action):
                .signing(action.applied(to: target?.signing, author))
            case .file(_, let action):
                .file(action.applied(to: target?.file, by: user, author))
            case .part(_, _, let action):
                .part(action.applied(to: target?.part, author))
            case .blocks(let action):
                .blocks(action.applied(to: target?.blocks, author))
            }
        return target?.changed(to: content, by: author.dot)
            ?? Document(content, at: key, by: author.dot)
    }

    /// Returns the state that an operation finds in the document that it changes.
    ///
    /// The executing node looks at this first. An operation that is already done changes nothing. A
    /// write over a value that is not earlier changes nothing, and its response says so.
    public func standing(of operation: Stamp, in target: Document?) -> Standing {
        guard let target else { return .new }
        return switch (action, target.content) {
        case (.conversation(let action), .conversation(let content)):
            action.standing(of: operation, by: user, in: content)
        case (.message(_, let action), .message(let content)):
            action.standing(of: operation, by: user, in: content)
        case (.participant(let action), .participantState(let content)):
            action.standing(of: operation, by: user, in: content)
        case (.profile(let action), .profile(let content)):
            action.standing(of: operation, by: user, in: content)
        case (.item(let action), .item(let content)):
            action.standing(of: operation, by: user, in: content)
        case (.device(_, let action), .device(let content)):
            action.standing(of: operation, by: user, in: content)
        case (.credentials(let action), .credentials(let content)):
            action.standing(of: operation, by: user, in: content)
        case (.signing(let action), .signing(let content)):
            action.standing(of: operation, by: user, in: content)
        case (.file(_, let action), .file(let content)):
            action.standing(of: operation, by: user, in: content)
        case (.part(_, _, let action), .part(let content)):
            action.standing(of: operation, by: user, in: content)
        case (.blocks(let action), .blocks(let content)):
            action.standing(of: operation, by: user, in: content)
        default: .new
        }
    }

    /// Whether the mutation is recorded although the state is already as requested.
    ///
    /// It is where an earlier operation of the same client may still be executed, which must then
    /// find a later write.
    ///
    /// - Throws: `tooManyEdits` where the message accepts no further edit.
    public func isRecorded(
        over target: Document?, after unsettled: Unsettled
    ) throws(Refusal) -> Bool {
        let time = unsettled.time
        guard time > .zero else { return false }
        return switch (action, target?.content) {
        case (.conversation(let action), .conversation(let content)):
            try action.isRecorded(over: content, after: time)
        case (.message(_, let action), .message(let content)):
            try action.isRecorded(over: content, after: time)
        case (.profile(let action), .profile(let content)):
            action.isRecorded(over: content, after: time)
        case (.item(let action), .item(let content)):
            action.isRecorded(over: content, after: time)
        case (.device(_, let action), .device(let content)):
            action.isRecorded(over: content, after: time)
        default: false
        }
    }

    /// Whether the mutation ends its user's part in a conversation.
    public var isDeparture: Bool {
        guard case .conversation(let action) = action else { return false }
        return action.isDeparture
    }

    /// Whether the mutation invites a user.
    public var isInvitation: Bool {
        guard case .conversation(let action) = action else { return false }
        return action is InviteUser
    }
}

extension ObservedRemoveSet {
    mutating func remove(_ element: Element, by author: Authorship) {
        remove(element, by: author.stamp, after: author.unsettled)
    }
}
