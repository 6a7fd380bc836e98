import CRDT
import Wire

/// A change of a document, as the watching connections of a user receive it.
public struct Event: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        case message(MessageView)
        case edit(MessageView)
        case restore(MessageView)
        case delete(MessageID, isForEveryone: Bool)
        case pin(MessageID)
        case unpin(MessageID)
        /// The user has read all messages up to the named one.
        case read(MessageID)
        case delivered(MessageID)
        case typing(isOn: Bool)
        case member(UserID, isIn: Bool)
        case archive
        case unarchive
        /// All messages of the conversation that the accepting node had were removed from the
        /// user's own view.
        case hide
        case action(ItemView)
        case actionDeleted(ItemID)
        case profile(ProfileView)
        /// The stream has sent all that it had to repeat; later events are about later changes.
        case level
        /// The stream shows that it is alive, at the interval that its client requested.
        case heartbeat
        /// The present blocks of a user: only the nodes of the user's watchers use this event, and
        /// no client receives it.
        case blocks(Blocks)
    }

    public internal(set) var kind: Kind
    public let conversation: ConversationID?
    /// The user who made the change; nil for a profile.
    public let by: UserID?
    /// The time at which the change was accepted; if no document records that time any more, the
    /// time at which the event is published.
    public let at: HybridTimestamp
    /// The time at which the event's message was sent, or at which the typing began.
    ///
    /// The time is nil for other events, and for an event that only names a message and came from a
    /// node of an earlier version.
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
    /// The message that the event contains; nil if it contains none.
    var view: MessageView? {
        switch self {
        case .message(let view), .edit(let view), .restore(let view): view
        default: nil
        }
    }

    /// The user's blocks, if the event reports them.
    public var blocks: Blocks? {
        guard case .blocks(let blocks) = self else { return nil }
        return blocks
    }

    /// Whether the event contains a message's id but not its text.
    var onlyNamesMessage: Bool {
        switch self {
        case .delete, .pin, .unpin, .read, .delivered: true
        default: false
        }
    }
}

extension Event {
    /// Returns whether the event is to be withheld, since a sender whom the user has blocked caused
    /// it.
    public func isHidden(by senders: BlockedSenders) -> Bool {
        switch kind {
        case .message(let view), .edit(let view), .restore(let view):
            senders.hides(view.from, at: max(view.sentAt, view.editedAt ?? .zero))
        case .delete(_, isForEveryone: true):
            by.map { senders.hides($0, at: sentAt ?? at) } ?? false
        // The end of typing is judged by the time at which the typing began, so that a user who saw
        // the beginning also sees the end.
        case .typing: by.map { senders.hides($0, at: sentAt ?? at) } ?? false
        default: false
        }
    }
}

/// An event and the users whose watchers receive it.
public struct AddressedEvent: Hashable, Sendable {
    public internal(set) var event: Event
    /// The users whose watchers receive the event, ascending; empty for the change of a profile.
    public let audience: [UserID]
    /// The change of a profile; its recipients are the users who share a conversation with the
    /// profile's user.
    ///
    /// The change is nil for other events.
    public internal(set) var change: ProfileChange?

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

    /// Returns the event for the users of its audience for whom `isMeant` returns true; nil if
    /// there is no such user.
    public func narrowed(to isMeant: (UserID) -> Bool) -> AddressedEvent? {
        guard change == nil else { return self }
        let rest = audience.filter(isMeant)
        return rest.isEmpty ? nil : AddressedEvent(event, to: rest)
    }
}

/// The state outside of a document on which its events depend.
public struct EventContext: Sendable {
    /// The stored state of the conversation that the document belongs to.
    public let chat: Conversation?
    /// The progress of the participants: how far they have read the conversation.
    public let progress: Progress
    /// The present time, used for events whose time no document records.
    public let time: HybridTimestamp

    public init(chat: Conversation?, progress: Progress, time: HybridTimestamp) {
        self.chat = chat
        self.progress = progress
        self.time = time
    }
}
