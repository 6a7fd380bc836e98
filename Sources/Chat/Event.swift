import CRDT
import Wire

/// Something that happened, as whoever watches a user is told of it.
public struct Event: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        case message(MessageView)
        case edit(MessageView)
        case restore(MessageView)
        case delete(MessageID, isForEveryone: Bool)
        case pin(MessageID)
        case unpin(MessageID)
        /// Up to this message.
        case read(MessageID)
        case delivered(MessageID)
        case typing(isOn: Bool)
        case member(UserID, isIn: Bool)
        case archive
        case unarchive
        /// All that a node held of the conversation goes from the user's own view.
        case hide
        case action(ItemView)
        case actionDeleted(ItemID)
        case profile(ProfileView)
    }

    public let kind: Kind
    public let conversation: ConversationID?
    /// Who did it; nil for a profile.
    public let by: UserID?
    /// When it was accepted; where no document tells any more, when it is told.
    public let at: HybridTimestamp

    public init(
        _ kind: Kind, in conversation: ConversationID?, by: UserID?, at: HybridTimestamp
    ) {
        self.kind = kind
        self.conversation = conversation
        self.by = by
        self.at = at
    }
}

/// An event, and whose watchers are told of it.
public struct AddressedEvent: Hashable, Sendable {
    public let event: Event
    /// Ascending; nobody where it is a profile's change.
    public let audience: [UserID]
    /// Of a profile's change, which is for those who share a conversation with its user.
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

    /// The same, for those of its audience that are meant.
    public func narrowed(to isMeant: (UserID) -> Bool) -> AddressedEvent? {
        guard change == nil else { return self }
        let rest = audience.filter(isMeant)
        return rest.isEmpty ? nil : AddressedEvent(event, to: rest)
    }
}

/// What surrounds a document when its events are told.
public struct EventContext: Sendable {
    /// The conversation that it belongs to, as it is on disk.
    public let room: Conversation?
    /// How far its participants have read.
    public let progress: Progress
    /// What the clock says, for what bears no time.
    public let time: HybridTimestamp

    public init(room: Conversation?, progress: Progress, time: HybridTimestamp) {
        self.room = room
        self.progress = progress
        self.time = time
    }
}
