import Wire

extension Mutation {
    /// The subject of a mutation, whose name determines the shard of the document that changes.
    public enum Subject: Hashable, Sendable {
        case conversation(ConversationID)
        case user(UserID)
        case item(ItemID)
        case address(AddressID)
        /// What the cluster signs access tokens with.
        case signing

        public static let signingPartition = "signing"

        /// The string whose hash determines the shard.
        public var partition: String {
            switch self {
            case .conversation(let conversation): conversation.text
            case .user(let user): user.text
            case .item(let item): item.text
            case .address(let address): address.text
            case .signing: Subject.signingPartition
            }
        }

        enum Kind { case conversation, user, item, address, signing }

        var kind: Kind {
            switch self {
            case .conversation: .conversation
            case .user: .user
            case .item: .item
            case .address: .address
            case .signing: .signing
            }
        }
    }

    /// The string whose hash determines the shard.
    public var partition: String { subject.partition }

    /// The conversation that the mutation concerns; nil where it concerns a user or an item.
    public var conversation: ConversationID? {
        guard case .conversation(let conversation) = subject else { return nil }
        return conversation
    }

    /// The item that the mutation concerns, if any.
    public var item: ItemID? {
        guard case .item(let item) = subject else { return nil }
        return item
    }
}

extension Mutation.Action {
    /// The kind of subject that such an action has.
    var subjectKind: Mutation.Subject.Kind {
        switch self {
        case .conversation, .message, .participant, .file, .part: .conversation
        case .profile, .device, .blocks: .user
        case .item: .item
        case .credentials: .address
        case .signing: .signing
        }
    }

    /// Returns the subject with this name for such an action.
    func subject(checked name: String) -> Mutation.Subject {
        switch subjectKind {
        case .conversation: .conversation(ConversationID(checked: name))
        case .user: .user(UserID(checked: name))
        case .item: .item(ItemID(checked: name))
        case .address: .address(AddressID(checked: name))
        case .signing: .signing
        }
    }
}
