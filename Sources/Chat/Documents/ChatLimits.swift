import CRDT
import Wire

/// The limits of chat, and what they mean for the size of documents.
///
/// The node that accepts a mutation checks its limits; a merge never refuses. The limits therefore
/// leave headroom: each member of a cluster may be alone on its side of a network partition and
/// accept up to the limit there, and the merge of all sides is one document, which every node must
/// be able to store, read and send.
///
/// | document | what grows in it | limit at acceptance | bound after a merge of all sides |
/// |---|---|---|---|
/// | any | `changedBy`: 24 bytes for each process that changed it | `keptBytesMax` | × members |
/// | any set | about 30 bytes for each process that changed an element; of clients' devices, at \
/// most 128 for each element | `keptBytesMax` | × members |
/// | conversation | participants and invitations: about 120 bytes and two names for every user \
/// who was ever in it, 20 more for each process that invited or removed the same user again | \
/// `participantsMax` present ones; `keptBytesMax`, which is 1,500 to 5,000 users | × members |
/// | | the latest changes of participants: about 40 bytes and two names each | \
/// `ParticipantChanges.countMax` | the same |
/// | message | texts: the first one and the edits, also of losing sends | `editsMax` | \
/// the latest `editsKeptMax` |
/// | | `deletedBy`: about 80 bytes and a name for every user who ever hid it; `losingSends`: 24 \
/// bytes for each losing send | `keptBytesMax`, without the texts | × members |
/// | participant state | `archivedBy` of one user; two marks; the vector up to which the \
/// conversation is hidden | `keptBytesMax` | × members |
/// | profile | three fields of `titleBytesMax` | their length | the same |
/// | blocks | about 150 bytes and two names for every user who was ever blocked | \
/// `Blocks.countMax` at a time, `Blocks.namesMax` ever | × members |
/// | item | the header, and an `OwnerState` of at most 3 KiB for each owner who added the same \
/// id | one owner | × members |
/// | device | 256 viewings; `ListedNotification.countMax` notifications of about 300 bytes; \
/// `acknowledged`: 24 bytes for each process that accepted a message for its user | \
/// `keptBytesMax` | × members |
/// | file | the names of its parts, 23 bytes each, and the messages that name it | \
/// `FilePart.countMax`; one owner, who sends it with one message | × members |
/// | part of a file | its bytes | `FilePart.bytesMax` | the same |
/// | later kind | fields that this version does not know | nothing | the greater bytes of each |
///
/// Replication sends whole documents, so `keptBytesMax` is also the most that a small change can
/// cost on disk and on the wire, apart from the texts of a message and the latest changes of a
/// conversation. Several changes of one document in one turn cost it once.
public enum ChatLimits {
    public static let participantsMax = 1_000
    /// The most edits of one message.
    public static let editsMax = 100
    /// The most edits that a merge keeps: as many as ten sides of a network partition may accept.
    ///
    /// Beyond that the oldest are dropped: keeping the greatest of a union is a join, keeping the
    /// smallest is not.
    public static let editsKeptMax = 10 * editsMax
    /// The most devices of one user.
    public static let devicesMax = 32
    /// The most UTF-8 bytes of a message's text.
    public static let textBytesMax = 16_384
    /// The most UTF-8 bytes of a title.
    public static let titleBytesMax = 1_024
    /// Returns the most bytes of a document, not counting texts and the latest changes of
    /// participants, that each of `members` nodes accepts.
    ///
    /// It suffices for a conversation of `participantsMax` users with names of 64 characters, also
    /// in a cluster of a hundred nodes.
    public static func keptBytesMax(members: Int) -> Int {
        min(keptBytesMax, keptBytesOfAll / max(1, members))
    }

    /// The limit in a cluster of at most 48 nodes.
    public static let keptBytesMax = 512 << 10
    /// The limit for all sides of a network partition together.
    static let keptBytesOfAll = 24 << 20
    /// The quarters of the limit that a mutation may fill which undoes something or moves a mark.
    static let keptBytesQuarters = 5
    /// The approximate size of a name of a list beside its text, in bytes.
    static let nameBytesAround = 16
    /// The approximate size of a notification that is recorded as shown, in bytes: two long names,
    /// a dot and a time.
    static let entryBytesAround = 192
    /// The most bytes of a document: five quarters of what all sides may keep, and the texts.
    static let documentBytesMax =
        keptBytesOfAll / 4 * keptBytesQuarters + (editsKeptMax + 2) * (textBytesMax + 64)
}

/// The size that a mutation adds to its document.
extension Mutation {
    /// Returns an upper bound of the bytes that the mutation adds, not counting those that have a
    /// limit of their own.
    ///
    /// The bound holds for every encoding: an added name, counted twice for an invitation, and
    /// about 300 bytes for the stamps, contexts and numbers around it; a removal names up to four
    /// other processes.
    func bytesAdded(hiding hidden: Hidden?) -> Int {
        action.nameBytes(by: user) + (hidden?.bytesMax ?? 0) + Mutation.bytesAround
    }

    private static let bytesAround = 320

    /// Throws where the mutation would make its document too large.
    ///
    /// - Parameters:
    ///   - size: the bytes of the document as it is.
    ///   - members: the number of nodes that may accept as much on their own side of a partition.
    public func judgeSize(
        of target: Document, _ size: Int, hiding hidden: Hidden?, members: Int
    ) throws(Refusal) {
        guard action.growth != .empties else { return }
        let limit = ChatLimits.keptBytesMax(members: members)
        let kept = size - target.bytesLimitedByCount + bytesAdded(hiding: hidden)
        let isSettling = action.growth == .settles
        guard kept > (isSettling ? limit / 4 * ChatLimits.keptBytesQuarters : limit) else { return }
        switch target.key.kind {
        case .conversation: throw .conversationFull
        case .device: throw .deviceFull
        default: throw .documentFull
        }
    }
}

extension Document {
    /// The bytes of a message's texts and of a conversation's latest changes, which are limited by
    /// their number instead.
    var bytesLimitedByCount: Int {
        switch content {
        case .message(let message):
            message.others.reduce(message.shown.textBytes) { $0 + $1.textBytes }
        case .conversation(let conversation): conversation.changes.encoded.count
        default: 0
        }
    }
}

extension Hidden {
    /// The most bytes of its encoding.
    var bytesMax: Int { 64 + vector.entries.count * 20 + vector.rangesCount * 18 }
}
