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

    /// Of every device that is not removed, in the partition of its user.
    public static let registered = "registered"
}

extension Document {
    /// Ascending; each a name.
    public var terms: [String] {
        switch content {
        case .conversation(let conversation):
            conversation.participants.elements.map(Term.participant)
        case .message(let message): message.isPinned ? [Term.pinned] : []
        case .item(let item): item.isDeleted ? [] : [Term.owner(item.owner)]
        case .device(let device): device.isRegistered ? [Term.registered] : []
        case .seat, .profile, .unknown: []
        }
    }
}
