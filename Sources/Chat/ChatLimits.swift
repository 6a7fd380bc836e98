import CRDT
import Wire

/// The limits of chat.
///
/// They are judged when a mutation is accepted; a merge never refuses. So what is accepted leaves
/// room: each member of a cluster may be alone on its side of a cut, accept up to the limit, and
/// all of that is one document afterwards, which every node can store, read and send.
///
/// | document | what grows in it | what is accepted | what a merge of all sides makes |
/// |---|---|---|---|
/// | any | `changedBy`: 24 bytes for each process that changed it | `keptBytesMax` | × members |
/// | conversation | participants and invitations: about 120 bytes and two names for everyone who \
/// was ever in it, 20 more for each process that invited or removed the same user again | \
/// `participantsMax` present ones; `keptBytesMax`, which is 1,500 to 5,000 users | × members |
/// | message | texts: the first one and edits, those of losing sendings too | `editsMax` | \
/// the latest `editsKeptMax` |
/// | | `deletedBy`: about 80 bytes and a name for everyone who ever hid it; `losingSends`: 24 \
/// bytes for each losing sending | `keptBytesMax`, beside the texts | × members |
/// | participant state | `archivedBy` of one user; two marks; the vector up to which the \
/// conversation is hidden | `keptBytesMax` | × members |
/// | profile | three fields of `titleBytesMax` | their length | the same |
/// | item | the header, and an `OwnerState` of at most 3 KiB for each owner who added the same \
/// id | one owner | × members |
/// | device | 256 viewings; `ListedNotification.countMax` notifications of at most 300 bytes; \
/// what was acknowledged: 24 bytes for each process that accepted a message for its user | \
/// `keptBytesMax` | × members |
/// | later kind | fields that this version does not know | nothing | the greater bytes of each |
///
/// Replication sends whole documents, so `keptBytesMax` is also the most that a small change can
/// cost on a disk and on the wire beside the texts of a message: several changes of one document in
/// one turn cost that once.
public enum ChatLimits {
    public static let participantsMax = 1_000
    /// Edits of one message.
    public static let editsMax = 100
    /// The most edits that a merge keeps: those that ten sides of a cut may accept.
    ///
    /// Of more the oldest go: to keep the greatest of a union is a join, to keep the smallest is
    /// not.
    public static let editsKeptMax = 10 * editsMax
    /// Devices of one user.
    public static let devicesMax = 32
    /// Bytes of a text in UTF-8.
    public static let textBytesMax = 16_384
    /// Bytes of a title in UTF-8.
    public static let titleBytesMax = 1_024
    /// Bytes of a document beside its texts, where every member of a cluster may add as many.
    ///
    /// Enough for a conversation of `participantsMax` users with names of 64 characters, also in a
    /// cluster of a hundred nodes.
    public static func keptBytesMax(members: Int) -> Int {
        min(keptBytesMax, keptBytesOfAll / max(1, members))
    }

    /// In a cluster of at most 48 nodes.
    public static let keptBytesMax = 512 << 10
    /// Of all sides of a cut.
    static let keptBytesOfAll = 24 << 20
    /// What undoes something, or moves a mark, may add a quarter more.
    static let keptBytesQuarters = 5
    /// The most bytes of a document: five quarters of what all sides may keep, and the texts.
    static let documentBytesMax =
        keptBytesOfAll / 4 * keptBytesQuarters + (editsKeptMax + 2) * (textBytesMax + 64)
}

/// What a mutation may add to its document.
extension Mutation {
    /// The most bytes that it adds beside texts.
    ///
    /// Whatever the inner form of what is added: a name where it is added, twice for an invitation,
    /// and some 300 bytes for stamps, contexts and numbers around it: a removal names up to four
    /// other processes.
    func bytesAdded(hiding hidden: Hidden?) -> Int {
        let texts: Int =
            switch action {
            case .invite(let guest): 2 * guest.text.utf8.count
            case .hide, .retract, .restore, .leave, .pin, .archive, .unarchive:
                user.text.utf8.count
            case .hideChat: hidden?.bytesMax ?? 0
            case .setProfile, .seedProfile: 3 * ChatLimits.titleBytesMax
            case .editItem, .device(_, .add): ChatLimits.titleBytesMax
            case .device(_, .list(let entries, _)): entries.count * ListedNotification.bytesMax
            default: nameBytesMax
            }
        return texts + Mutation.bytesAround
    }

    private static let bytesAround = 320

    /// Whether it may always be done: little or nothing of the document is left after it.
    private var empties: Bool {
        switch action {
        case .retract, .deleteItem, .device(_, .remove): true
        default: false
        }
    }

    /// Whether it adds nobody and nothing that stays: it undoes something, or moves a mark.
    private var settles: Bool {
        switch action {
        case .leave, .restore, .unarchive, .pin, .unpin, .read, .deliver, .finishItem: true
        case .device(_, .acknowledge): true
        default: false
        }
    }

    /// Judges the size of what it makes of a document.
    ///
    /// - Parameters:
    ///   - size: bytes of the document as it is.
    ///   - members: how many nodes may accept as much on their own side of a cut.
    public func judgeSize(
        of target: Document, _ size: Int, hiding hidden: Hidden?, members: Int
    ) throws(Refusal) {
        guard !empties else { return }
        let limit = ChatLimits.keptBytesMax(members: members)
        let kept = size - target.textBytes + bytesAdded(hiding: hidden)
        guard kept > (settles ? limit / 4 * ChatLimits.keptBytesQuarters : limit) else { return }
        switch target.key.kind {
        case .conversation: throw .conversationFull
        case .device: throw .deviceFull
        default: throw .documentFull
        }
    }
}

extension Document {
    /// The bytes of its texts, which are limited by their number.
    var textBytes: Int {
        guard let message else { return 0 }
        return message.versions.reduce(message.header.text.utf8.count) { $0 + $1.text.utf8.count }
            + message.orphanedEdits.reduce(0) { $0 + $1.version.text.utf8.count }
    }
}

extension Hidden {
    /// The most bytes that it takes.
    var bytesMax: Int { 64 + vector.entries.count * 20 + vector.rangesCount * 18 }
}
