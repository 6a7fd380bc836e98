import CRDT
import Wire

/// The words under which an index finds a document, among those of its kind in its shard.
///
/// They are derived from the document alone, so an index can be rebuilt at any time.
public enum Term {
    /// The term of every message that is pinned.
    public static let pinned = "pinned"

    /// The term of every conversation that `user` is in.
    public static func participant(_ user: UserID) -> String { user.text }

    /// The term of every action item of `user` that is not deleted.
    public static func owner(_ user: UserID) -> String { user.text }

    /// The term of every action item that has its owner in its key; it is no name.
    public static let item = "*"

    /// The term of every conversation that `user` has left and of every deleted action item of
    /// theirs; no list shows these, but a watcher that resumes receives their events.
    ///
    /// A hash, since a name may already be as long as a term; its first character occurs in no
    /// name.
    public static func former(_ user: UserID) -> String {
        "!" + hexadecimal(checksum(of: user.text))
    }

    /// Returns the terms of everything in a shard that concerns `user`: conversations that they are
    /// or were in, and items that are or were theirs.
    public static func concerning(_ user: UserID) -> [(kind: DocumentKey.Kind, term: String)] {
        [
            (.conversation, participant(user)), (.conversation, former(user)),
            (.item, owner(user)), (.item, former(user)),
        ]
    }

    /// The term of every file of which something is closed and not purged yet.
    public static let closed = "closed"

    /// The term of every file of which something is open and was not sent yet.
    public static let unsent = "unsent"

    /// The term of every file of which an upload of `user` is open and was not sent yet.
    ///
    /// A hash, as that of a former participant.
    public static func unsent(by user: UserID) -> String {
        "~" + hexadecimal(checksum(of: user.text))
    }

    /// The term of every part of a file that is not purged.
    public static func part(of file: FileID) -> String { file.text }

    /// The term of the blocks of every user who has ever blocked another.
    public static let blocks = "blocks"

    /// The term of every address at which there is an account.
    public static let account = "account"

    /// The term of every address at which `user` has an account.
    ///
    /// A hash, as that of a former participant.
    public static func account(of user: UserID) -> String {
        "@" + hexadecimal(checksum(of: user.text))
    }

    /// The term of every device that is not removed, in the partition of its user.
    public static let registered = "registered"

    /// The term of every device that has a push token, unless an earlier version registered it.
    ///
    /// A hash, as that of a former participant.
    public static func token(_ text: String) -> String {
        "#" + hexadecimal(checksum(of: text))
    }
}

extension Document {
    /// The document's terms, ascending, each once; none is longer than a name.
    public var indexKeys: [String] {
        switch content {
        case .conversation(let conversation):
            // Two users may share a hash.
            Set(conversation.participants.removed.map(Term.former)).sorted()
                + conversation.participants.elements.map(Term.participant)
        case .message(let message): message.isPinned ? [Term.pinned] : []
        case .item(let item):
            ((key.id.isEmpty ? [] : [Term.item])
                + [item.isDeleted ? Term.former(item.owner) : Term.owner(item.owner)]).sorted()
        case .device(let device):
            device.isRegistered
                ? (device.registration == nil ? [] : device.token.map { [Term.token($0)] } ?? [])
                    + [Term.registered] : []
        case .file(let file):
            (file.isDue ? [Term.closed] : []) + (file.isUnsent ? [Term.unsent] : [])
                + Set(file.unsent.map { Term.unsent(by: $0.owner) }).sorted()
        case .part(let part):
            part.isPurged ? [] : key.partOfFile.map { [Term.part(of: $0.file)] } ?? []
        case .credentials(let credentials):
            credentials.present.isEmpty
                ? []
                : Set(credentials.present.map { Term.account(of: $0.user) }).sorted()
                    + [Term.account]
        case .blocks: [Term.blocks]
        case .profile, .participantState, .signing, .unknown: []
        }
    }

    /// Whether the document is a conversation that `user` is or was in, or an item of theirs,
    /// deleted or not.
    public func concerns(_ user: UserID) -> Bool {
        switch content {
        case .conversation(let conversation): conversation.participants.hasHeld(user)
        case .item(let item): item.owner == user
        case .message, .participantState, .profile, .device, .credentials, .signing, .file, .part,
            .blocks, .unknown:
            false
        }
    }
}
