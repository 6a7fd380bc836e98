import CRDT
import Wire

/// The type that a client gives a message; the raw values are the line protocol's words.
public enum MessageType: String, CaseIterable, Sendable {
    case text, image, voice, system, action
}

/// A message: its first text, its edits, its pin, and the users for whom it is deleted.
///
/// Of two sends of one id, on two sides of a network partition, the earlier header wins. Where both
/// have the same sender and text, as when a client without a response sends again to another node,
/// the edits of both belong to the message; where they differ, the edits of the losing send are not
/// shown. A retracted message has no text, no versions and no pin: a deletion for everyone wins
/// over everything, in every order of events.
public struct Message: Hashable, Sendable {
    /// The immutable part of a message, set when it is sent.
    public struct Header: Hashable, Sendable {
        public let sent: Stamp
        /// The dot of the sending.
        public let dot: Dot
        public let sender: UserID
        public let type: MessageType
        public let item: ItemID?
        /// Whether the message notifies nobody, as those of the sample data.
        public internal(set) var isSilent = false
        public internal(set) var attachment: Attachment?
        /// Empty once the message is retracted.
        public internal(set) var text: String

        /// The files that the message is sent with.
        var files: [FileID] { attachment?.files ?? [] }

        /// A checksum of the sender and the text, equal for a send and its repetition.
        var sending: UInt64 {
            checksum(of: text, seed: checksum(of: sender.text))
        }
    }

    /// An edit.
    public struct Version: Hashable, Sendable {
        public let stamp: Stamp
        public let text: String
    }

    /// An edit of a losing send.
    ///
    /// It can become visible again: an earlier header of the same sender and text may still arrive.
    struct OrphanedEdit: Hashable, Sendable {
        let sending: UInt64
        let version: Version
    }

    public internal(set) var header: Header
    /// The dots of losing sends; a user who was notified of one is not notified of another.
    var losingSends = Context()
    /// The files that losing sends name and the header does not, ascending: they belong to the
    /// message, too, and are closed with its deletion.
    var otherFiles: [FileID] = []
    /// The edits, ascending by stamp: the last one is shown, all of them are the history.
    public internal(set) var versions: [Version] = []
    /// The edits of losing sends, ascending, one for each edit and send.
    var orphanedEdits: [OrphanedEdit] = []
    /// The users who deleted the message for themselves.
    public internal(set) var deletedBy = ObservedRemoveSet<UserID>()
    /// The times at which users last deleted it for themselves and last restored it.
    public internal(set) var deletionTimes = ChangeTimes()
    public internal(set) var pin: Register<Pin>?
    /// The time of the deletion for everyone; once set it stays set, and of two times the earlier
    /// wins.
    public internal(set) var retractedAt: HybridTimestamp?

    public var isRetracted: Bool { retractedAt != nil }

    /// The files that any send of the message names.
    public var files: [FileID] { header.files + otherFiles }

    /// The latest text, whether or not the message is shown.
    public var text: String { versions.last?.text ?? header.text }

    public var editedAt: HybridTimestamp? { versions.last?.stamp.time }

    var greatestTime: HybridTimestamp {
        // Two arguments at a time: more are passed to `max` as an array, at every write.
        var greatest = max(header.sent.time, pin?.stamp.time ?? .zero)
        if let editedAt { greatest = max(greatest, editedAt) }
        if let orphan = orphanedEdits.last { greatest = max(greatest, orphan.version.stamp.time) }
        if let retractedAt { greatest = max(greatest, retractedAt) }
        return max(greatest, max(deletedBy.greatestTime, deletionTimes.greatest))
    }

    /// Whether a user has it pinned.
    public var isPinned: Bool { pin?.value.by != nil }

    /// Whether the message counts as deleted for everyone: retracted, or hidden by every
    /// participant.
    public func isDeletedForEveryone(among participants: ObservedRemoveSet<UserID>) -> Bool {
        // The cheap test comes first: most messages are deleted by nobody.
        isRetracted
            || (!deletedBy.isEmpty && !participants.isEmpty && participants.isSubset(of: deletedBy))
    }
}

extension Message {
    init(_ header: Header) { self.init(header: header) }

    mutating func edit(_ version: Version) {
        versions.append(version)
        versions.sort()
    }

    mutating func hide(for user: UserID, by operation: Stamp) {
        if !deletedBy.contains(user) {
            deletionTimes.recordChange(user, .added, at: operation.time)
        }
        deletedBy.insert(user, by: operation)
    }

    mutating func restore(for user: UserID, by author: Authorship) {
        deletedBy.remove(user, by: author)
        deletionTimes.recordChange(user, .removed, at: author.stamp.time)
    }

    mutating func setPin(_ pin: Pin, at stamp: Stamp) {
        guard !isRetracted else { return }
        self.pin = Register(pin, at: stamp)
    }

    mutating func retract(at time: HybridTimestamp) {
        retractedAt = min(retractedAt ?? time, time)
        normalize()
    }

    mutating func merge(_ other: Message) {
        mergeVersions(other)
        let winner = min(header, other.header)
        if header != other.header || losingSends != other.losingSends {
            losingSends = losingSends(with: other, under: winner)
        }
        if header.attachment != other.header.attachment || otherFiles != other.otherFiles {
            otherFiles = Set(files + other.files).subtracting(winner.files).sorted()
        }
        header = winner
        deletedBy.merge(other.deletedBy)
        if let theirs = other.pin { pin = pin.map { merged($0, theirs) } ?? theirs }
        deletionTimes.merge(other.deletionTimes)
        retractedAt = [retractedAt, other.retractedAt].compactMap(\.self).min()
        normalize()
    }

    /// Merges the edits of both, each once for each send that it edits.
    ///
    /// The same edit can occur twice: where a forward is not answered, the next owner executes the
    /// same operation. Each side of a network partition may accept `ChatLimits.editsMax` edits;
    /// beyond `editsKeptMax` the oldest are dropped, so that a document always fits its frame, and
    /// keeping the greatest of a union is a join. The header that wins determines which edits are
    /// shown.
    private mutating func mergeVersions(_ other: Message) {
        let isSame = header == other.header
        guard !isSame || versions != other.versions || orphanedEdits != other.orphanedEdits else {
            return
        }
        let sending = min(header, other.header).sending
        let all = Message.joined(allVersions + other.allVersions)
        versions = all.filter { $0.sending == sending }.map(\.version)
        orphanedEdits = all.filter { $0.sending != sending }
    }

    private var allVersions: [OrphanedEdit] {
        let sending = header.sending
        return versions.map { OrphanedEdit(sending: sending, version: $0) } + orphanedEdits
    }

    private static func joined(_ edits: [OrphanedEdit]) -> [OrphanedEdit] {
        var joined: [OrphanedEdit] = []
        for edit in edits.sorted() where joined.last.map({ $0 < edit }) ?? true {
            joined.append(edit)
        }
        return joined.suffix(ChatLimits.editsKeptMax)
    }

    private func merged<Value>(_ left: Register<Value>, _ right: Register<Value>) -> Register<Value>
    {
        var merged = left
        merged.merge(right)
        return merged
    }

    /// Whether the message is in normal form: a retracted one has no content left.
    var isNormal: Bool {
        #if PlantedBugs
            if PlantedBug.editRevivesDeleted.isOn || PlantedBug.pinRevivesDeleted.isOn {
                return true
            }
        #endif
        let isEmpty = versions.isEmpty && orphanedEdits.isEmpty && pin == nil
        return !isRetracted || (header.text.isEmpty && isEmpty)
    }

    private mutating func normalize() {
        guard isRetracted else { return }
        #if PlantedBugs
            if PlantedBug.editRevivesDeleted.isOn, !versions.isEmpty {
                retractedAt = nil
                return
            }
            if PlantedBug.pinRevivesDeleted.isOn, isPinned {
                retractedAt = nil
                return
            }
        #endif
        header.text = ""
        versions = []
        orphanedEdits = []
        pin = nil
    }
}

extension Message.Header: Comparable {
    public static func == (left: Self, right: Self) -> Bool {
        left.sent == right.sent && left.sender == right.sender && left.type == right.type
            && left.item == right.item && left.dot == right.dot
            && left.isSilent == right.isSilent && left.attachment == right.attachment
            && haveSameBytes(left.text, right.text)
    }

    /// Orders headers by stamp; equal stamps mean one operation that several nodes executed, of
    /// which the least dot wins.
    ///
    /// The other comparisons make the order total over any decoded bytes; the text comes last,
    /// since a retracted message has lost it.
    public static func < (left: Self, right: Self) -> Bool {
        guard left.sent == right.sent else { return left.sent < right.sent }
        guard left.sender == right.sender else { return left.sender < right.sender }
        guard left.type == right.type else { return left.type.rawValue < right.type.rawValue }
        guard left.item == right.item else {
            return (left.item?.text ?? "") < (right.item?.text ?? "")
        }
        guard left.dot == right.dot else { return left.dot < right.dot }
        guard left.isSilent == right.isSilent else { return right.isSilent }
        guard left.attachment == right.attachment else {
            guard let mine = left.attachment, let theirs = right.attachment else {
                return left.attachment == nil
            }
            return mine < theirs
        }
        return precedesInBytes(left.text, right.text)
    }
}

extension Message.Version: Comparable {
    public static func == (left: Self, right: Self) -> Bool {
        left.stamp == right.stamp && haveSameBytes(left.text, right.text)
    }

    public static func < (left: Self, right: Self) -> Bool {
        guard left.stamp == right.stamp else { return left.stamp < right.stamp }
        return precedesInBytes(left.text, right.text)
    }
}

extension Message.OrphanedEdit: Comparable {
    static func < (left: Self, right: Self) -> Bool {
        (left.version, left.sending) < (right.version, right.sending)
    }
}

/// The last user who pinned or unpinned a message; the time is the register's stamp.
public struct Pin: Hashable, Comparable, Sendable {
    public let user: UserID
    public let isOn: Bool

    /// The user who has the message pinned, if any.
    public var by: UserID? { isOn ? user : nil }

    public static func < (left: Pin, right: Pin) -> Bool {
        guard left.isOn == right.isOn else { return right.isOn }
        return left.user < right.user
    }
}
