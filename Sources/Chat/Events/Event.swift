import CRDT
import Wire

/// A change as the watchers of a user receive it.
public struct Event: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        case message(MessageView)
        case edit(MessageView)
        case restore(MessageView)
        case delete(MessageID, isForEveryone: Bool)
        case pin(MessageID)
        case unpin(MessageID)
        /// Everything up to this message was read.
        case read(MessageID)
        case delivered(MessageID)
        case typing(isOn: Bool)
        case member(UserID, isIn: Bool)
        case archive
        case unarchive
        /// Everything that a node held of the conversation is removed from the user's own view.
        case hide
        case action(ItemView)
        case actionDeleted(ItemID)
        case profile(ProfileView)
        /// Whom the user has blocked by now: for the node of a watcher, which shows it to nobody.
        case blocks(Blocks)
    }

    public let kind: Kind
    public let conversation: ConversationID?
    /// The user who made the change; nil for a profile.
    public let by: UserID?
    /// The time at which the change was accepted; where no document records it any more, the time
    /// at which the event is published.
    public let at: HybridTimestamp
    /// When the message was sent that the event names, or when the typing began; nil for other
    /// events, and for an event that only names a message and was told by a node of an earlier
    /// version.
    public internal(set) var sentAt: HybridTimestamp?

    public init(
        _ kind: Kind, in conversation: ConversationID?, by: UserID?, at: HybridTimestamp,
        sentAt: HybridTimestamp? = nil
    ) {
        self.kind = kind
        self.conversation = conversation
        self.by = by
        self.at = at
        self.sentAt = kind.view?.sentAt ?? sentAt
    }
}

extension Event.Kind {
    /// The message that the event shows.
    var view: MessageView? {
        switch self {
        case .message(let view), .edit(let view), .restore(let view): view
        default: nil
        }
    }

    /// Whom the user has blocked, where the event is of that.
    public var blocks: Blocks? {
        guard case .blocks(let blocks) = self else { return nil }
        return blocks
    }

    /// Whether the event names a message without showing it.
    var onlyNamesMessage: Bool {
        switch self {
        case .delete, .pin, .unpin, .read, .delivered: true
        default: false
        }
    }
}

extension Event {
    /// Whether the event tells of what somebody sends whom the user has blocked.
    public func isHidden(by senders: BlockedSenders) -> Bool {
        switch kind {
        case .message(let view), .edit(let view), .restore(let view):
            senders.hides(view.from, at: max(view.sentAt, view.editedAt ?? .zero))
        case .delete(_, isForEveryone: true):
            by.map { senders.hides($0, at: sentAt ?? at) } ?? false
        // What was shown to begin is shown to end.
        case .typing: by.map { senders.hides($0, at: sentAt ?? at) } ?? false
        default: false
        }
    }
}

/// An event and the users whose watchers receive it.
public struct AddressedEvent: Hashable, Sendable {
    public internal(set) var event: Event
    /// The users whose watchers receive it, ascending; empty for a profile's change.
    public let audience: [UserID]
    /// The change of a profile, which goes to users who share a conversation with its user.
    public let change: ProfileChange?

    public init(_ event: Event, to audience: [UserID]) {
        self.event = event
        self.audience = audience
        change = nil
    }

    public init(_ change: ProfileChange, at time: HybridTimestamp) {
        event = Event(.profile(change.view), in: nil, by: nil, at: time)
        audience = []
        self.change = change
    }

    /// Returns the event for the users of its audience for whom `isMeant` holds; nil where none is
    /// left.
    public func narrowed(to isMeant: (UserID) -> Bool) -> AddressedEvent? {
        guard change == nil else { return self }
        let rest = audience.filter(isMeant)
        return rest.isEmpty ? nil : AddressedEvent(event, to: rest)
    }
}

/// The state outside of a document on which its events depend.
public struct EventContext: Sendable {
    /// The conversation that the document belongs to, as it is on disk.
    public let chat: Conversation?
    /// How far the participants have read.
    public let progress: Progress
    /// The present time, for events of which no document records a time.
    public let time: HybridTimestamp

    public init(chat: Conversation?, progress: Progress, time: HybridTimestamp) {
        self.chat = chat
        self.progress = progress
        self.time = time
    }
}
