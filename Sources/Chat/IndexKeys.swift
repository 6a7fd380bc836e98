import CRDT
import Wire

/// The words under which an index finds a document again, among those of its kind in its shard.
///
/// They are told from the document alone, so that an index can always be made anew.
public enum Term {
    /// Of every message that somebody has pinned.
    public static let pinned = "pinned"

    /// Of every conversation that `user` is in.
    public static func participant(_ user: UserID) -> String { user.text }

    /// Of every action item of `user` that is not deleted.
    public static func owner(_ user: UserID) -> String { user.text }

    /// Of every conversation that `user` has left, and of every action item of theirs that is
    /// deleted: in no list, and told to who comes back.
    ///
    /// A hash, since a name may be as long as a word; it begins with what no name holds.
    public static func former(_ user: UserID) -> String {
        "!" + hexadecimal(checksum(of: user.text))
    }

    /// Of all that makes a shard `user`'s: a conversation that they are or were in, an item that is
    /// or was theirs.
    public static func concerning(_ user: UserID) -> [(kind: DocumentKey.Kind, term: String)] {
        [
            (.conversation, participant(user)), (.conversation, former(user)),
            (.item, owner(user)), (.item, former(user)),
        ]
    }

    /// Of every device that is not removed, in the partition of its user.
    public static let registered = "registered"
}

extension Document {
    /// Ascending, each once; none longer than a name.
    public var indexKeys: [String] {
        switch content {
        case .conversation(let conversation):
            // Two may share a hash.
            Set(conversation.participants.removed.map(Term.former)).sorted()
                + conversation.participants.elements.map(Term.participant)
        case .message(let message): message.isPinned ? [Term.pinned] : []
        case .item(let item): [item.isDeleted ? Term.former(item.owner) : Term.owner(item.owner)]
        case .device(let device): device.isRegistered ? [Term.registered] : []
        case .profile, .participantState, .unknown: []
        }
    }

    /// Whether it is a conversation that `user` is or was in, or an item of theirs, deleted or not.
    public func concerns(_ user: UserID) -> Bool {
        switch content {
        case .conversation(let conversation): conversation.participants.hasHeld(user)
        case .item(let item): item.owner == user
        case .message, .participantState, .profile, .device, .unknown: false
        }
    }
}
