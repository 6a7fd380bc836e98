import Wire

extension Mutation {
    /// What a mutation is about: its name places the document that changes.
    public enum Subject: Hashable, Sendable {
        case conversation(ConversationID)
        case user(UserID)
        case item(ItemID)

        /// What the shard is a hash of.
        public var partition: String {
            switch self {
            case .conversation(let conversation): conversation.text
            case .user(let user): user.text
            case .item(let item): item.text
            }
        }

        enum Kind { case conversation, user, item }

        var kind: Kind {
            switch self {
            case .conversation: .conversation
            case .user: .user
            case .item: .item
            }
        }
    }

    /// What the shard is a hash of.
    public var partition: String { subject.partition }

    /// The conversation that it is about; nil where it is about a user or an item.
    public var conversation: ConversationID? {
        guard case .conversation(let conversation) = subject else { return nil }
        return conversation
    }

    /// The item that it is about, if it is about one.
    public var item: ItemID? {
        guard case .item(let item) = subject else { return nil }
        return item
    }
}

extension Mutation.Action {
    /// What such an action is about.
    var subjectKind: Mutation.Subject.Kind {
        switch self {
        case .setProfile, .seedProfile, .device: .user
        case .addItem, .editItem, .finishItem, .deleteItem: .item
        case .create, .send, .edit, .hide, .retract, .restore, .pin, .unpin, .invite, .leave,
            .archive, .unarchive, .read, .deliver, .hideChat, .seed:
            .conversation
        }
    }

    /// The subject of this name that such an action has.
    func subject(checked name: String) -> Mutation.Subject {
        switch subjectKind {
        case .conversation: .conversation(ConversationID(checked: name))
        case .user: .user(UserID(checked: name))
        case .item: .item(ItemID(checked: name))
        }
    }
}
