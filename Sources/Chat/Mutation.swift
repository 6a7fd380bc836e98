import CRDT
import Wire

/// A change that a user requests, with the ids by which a repetition is recognised.
public struct Mutation: Hashable, Sendable {
    public enum Action: Hashable, Sendable {
        /// `participants` ascends and holds the creator.
        case create(participants: [UserID], title: String?)
        case send(MessageID, type: MessageType, item: ItemID?, text: String)
        case edit(MessageID, text: String)
        case hide(MessageID)
        case retract(MessageID)
        case restore(MessageID)
        case pin(MessageID)
        case unpin(MessageID)
        case invite(UserID)
        case leave
        case archive
        case unarchive
        /// Marks everything up to this message, or up to the newest, as read.
        case read(MessageID?)
        /// Marks everything up to this message, or up to the newest, as delivered to a device.
        case deliver(MessageID?)
        /// Removes everything that the accepting node holds of the conversation from the user's
        /// view.
        case hideChat
        /// Sends a message of the sample data, which notifies nobody.
        case seed(MessageID, text: String)
        case setProfile(Profile.Edit)
        case addItem(Item.NewItem)
        case editItem(Item.Edit)
        /// Marks the item as done, or as open again.
        case finishItem(Bool)
        case deleteItem
        /// Sets the profile where there is none.
        case seedProfile(Profile.Edit)
        case device(DeviceID, DeviceAction)
    }

    public let subject: Subject
    public let user: UserID
    public let action: Action
    /// The key of the one document that the mutation changes; computed once, as every step needs
    /// it.
    public let key: DocumentKey

    public init(_ action: Action, in conversation: ConversationID, by user: UserID) {
        self.init(action, of: .conversation(conversation), by: user)
    }

    init(_ action: Action, of subject: Subject, by user: UserID) {
        precondition(action.subjectKind == subject.kind, "an action has its own subject")
        key = action.key(of: subject, by: user)
        self.subject = subject
        self.user = user
        self.action = action
    }

    /// The message that the mutation changes, if any.
    public var message: MessageID? { action.message }

    /// The position at which the mutation sets a mark, if it sets one.
    public var marking: Marking? {
        switch action {
        case .read(nil), .deliver(nil): .newest
        case .read(let message?), .deliver(let message?): .message(message)
        default: nil
        }
    }

    /// The position up to which messages are marked as read or delivered.
    public enum Marking: Hashable, Sendable {
        case newest
        case message(MessageID)
    }
}

extension Mutation.Action {
    var message: MessageID? {
        switch self {
        case .create, .invite, .leave, .archive, .unarchive, .read, .deliver, .hideChat: nil
        case .setProfile, .seedProfile, .addItem, .editItem, .finishItem, .deleteItem: nil
        case .device: nil
        case .seed(let message, _): message
        case .send(let message, _, _, _), .edit(let message, _): message
        case .hide(let message), .retract(let message), .restore(let message): message
        case .pin(let message), .unpin(let message): message
        }
    }

    func key(of subject: Mutation.Subject, by user: UserID) -> DocumentKey {
        switch (subject, self) {
        case (.conversation(let conversation), _): key(in: conversation, by: user)
        case (.user(let user), .device(let device, _)): .device(device, of: user)
        case (.user(let user), _): .profile(user)
        case (.item(let item), _): .item(item)
        }
    }

    private func key(in conversation: ConversationID, by user: UserID) -> DocumentKey {
        if let message { return .message(message, in: conversation) }
        return switch self {
        case .archive, .unarchive, .read, .deliver, .hideChat:
            .participantState(user, in: conversation)
        default: .conversation(conversation)
        }
    }
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
    /// Returns the document with this mutation applied.
    ///
    /// Call it only after `judge` has accepted the mutation. The accepting node checks a rule once;
    /// a merge never checks it again.
    ///
    /// - Parameters:
    ///   - target: the document under `key`; nil where there is none yet.
    ///   - mark: the mark to set, where the mutation sets one.
    ///   - hidden: the part to hide, where the mutation hides a conversation.
    public func applied(
        to target: Document?, setting mark: Mark? = nil, hiding hidden: Hidden? = nil,
        by author: Authorship
    ) -> Document {
        guard let target else { return created(setting: mark, hiding: hidden, by: author) }
        var content = target.content
        switch content {
        case .conversation(var conversation):
            change(&conversation, by: author)
            content = .conversation(conversation)
        case .message(var message):
            change(&message, by: author)
            content = .message(message)
        case .participantState(var participantState):
            change(&participantState, setting: mark, hiding: hidden, by: author)
            content = .participantState(participantState)
        case .profile(var profile):
            change(&profile, by: author)
            content = .profile(profile)
        case .item(var item):
            change(&item, by: author)
            content = .item(item)
        case .device(var device):
            change(&device, by: author)
            content = .device(device)
        case .unknown:
            preconditionFailure("a mutation's key is of a known kind")
        }
        return target.changed(to: content, by: author.dot)
    }

    private func created(
        setting mark: Mark?, hiding hidden: Hidden?, by author: Authorship
    ) -> Document {
        switch action {
        case .create(let participants, let title):
            let header = Conversation.Header(
                created: author.stamp, dot: author.dot, creator: user, participants: participants,
                title: title)
            return Document(.conversation(Conversation(header: header)), at: key, by: author.dot)
        case .send(_, let type, let item, let text):
            let header = Message.Header(
                sent: author.stamp, dot: author.dot, sender: user, type: type, item: item,
                text: text)
            return Document(.message(Message(header)), at: key, by: author.dot)
        case .seed(_, let text):
            let header = Message.Header(
                sent: author.stamp, dot: author.dot, sender: user, type: .text, item: nil,
                isSilent: true, text: text)
            return Document(.message(Message(header)), at: key, by: author.dot)
        case .archive, .unarchive, .read, .deliver, .hideChat:
            var participantState = ParticipantState()
            change(&participantState, setting: mark, hiding: hidden, by: author)
            return Document(.participantState(participantState), at: key, by: author.dot)
        case .setProfile, .seedProfile, .addItem, .editItem, .finishItem, .deleteItem, .device:
            return createdOwn(by: author)
        case .edit, .hide, .retract, .restore, .pin, .unpin, .invite, .leave:
            preconditionFailure("judge accepts no change of what is not there")
        }
    }

    private func change(_ conversation: inout Conversation, by author: Authorship) {
        switch action {
        case .invite(let guest): conversation.invite(guest, of: user, by: author.stamp)
        case .leave: conversation.leave(user, by: author)
        default: preconditionFailure("its key is not a conversation's, or judge accepts it once")
        }
    }

    private func change(
        _ participantState: inout ParticipantState, setting mark: Mark?, hiding hidden: Hidden?,
        by author: Authorship
    ) {
        if case .hideChat = action, let hidden {
            return participantState.hide(hidden.set(by: author))
        }
        switch (action, mark) {
        case (.archive, _): participantState.archive(for: user, by: author.stamp)
        case (.unarchive, _): participantState.unarchive(for: user, by: author)
        case (.read, let mark?): participantState.raiseRead(to: mark.set(at: author.stamp.time))
        case (.deliver, let mark?):
            participantState.raiseDelivered(to: mark.set(at: author.stamp.time))
        default: preconditionFailure("its key is not a seat's, or judge saw no mark")
        }
    }

    private func change(_ message: inout Message, by author: Authorship) {
        switch action {
        case .edit(_, let text):
            message.edit(Message.Version(stamp: author.stamp, text: text))
        case .hide:
            message.hide(for: user, by: author.stamp)
        case .retract:
            message.hide(for: user, by: author.stamp)
            message.retract(at: author.stamp.time)
        case .restore:
            message.restore(for: user, by: author)
        case .pin:
            message.setPin(Pin(user: user, isOn: true), at: author.stamp)
        case .unpin:
            message.setPin(Pin(user: user, isOn: false), at: author.stamp)
        default:
            preconditionFailure("its key is not a message's, or judge accepts it once")
        }
    }
}

extension ObservedRemoveSet {
    mutating func remove(_ element: Element, by author: Authorship) {
        remove(element, by: author.stamp, after: author.unsettled)
    }
}
