import CRDT
import Wire

/// What kind of message a client said it sends; the raw values are the line protocol's words.
public enum MessageType: String, CaseIterable, Sendable {
    case text, image, voice, system, action
}

/// One message: what was first sent, what became of its text, and for whom it is deleted.
///
/// Of two sendings of one id, made on two sides of a cut, the earlier header wins. Where both say
/// the same, as when a client that got no answer sends again elsewhere, the edits of both are edits
/// of the one message; where they differ, those of the other do not show. Once retracted, it has
/// neither text nor versions nor pin: deletion wins over everything, in every order of events.
public struct Message: Hashable, Sendable {
    /// What was first sent, for ever.
    public struct Header: Hashable, Sendable {
        public let sent: Stamp
        /// By which it was sent.
        public let dot: Dot
        public let sender: UserID
        public let type: MessageType
        public let item: ItemID?
        /// Whether nobody is notified of it: it is sample data.
        public internal(set) var isSilent = false
        /// Empty once the message is retracted.
        public internal(set) var text: String

        /// Stands for who sent it and what it says.
        var sending: UInt64 {
            checksum(of: text, seed: checksum(of: sender.text))
        }
    }

    /// One edit.
    public struct Version: Hashable, Sendable {
        public let stamp: Stamp
        public let text: String
    }

    /// An edit of another sending than the header's.
    ///
    /// It may show again: a header that is not here yet, earlier than this one, may be of its
    /// sending.
    struct Stray: Hashable, Sendable {
        let sending: UInt64
        let version: Version
    }

    public internal(set) var header: Header
    /// The dots of sendings of it whose headers lost: who was notified of one is not of another.
    var losingSends = Context()
    /// Ascending by stamp: the last shows, all are the history.
    public internal(set) var versions: [Version] = []
    /// Ascending likewise, one for each edit and sending.
    var orphanedEdits: [Stray] = []
    /// Who deleted it for themselves.
    public internal(set) var deletedBy = ObservedRemoveSet<UserID>()
    /// When they last did, and when they last took it back.
    public internal(set) var deletionTimes = ChangeTimes()
    public internal(set) var pin: Register<Pin>?
    /// When it was deleted for everyone: once set, it stays set; of two times, the earlier.
    public internal(set) var retractedAt: HybridTimestamp?

    public var isRetracted: Bool { retractedAt != nil }

    /// The text that shows, were it shown.
    public var text: String { versions.last?.text ?? header.text }

    public var editedAt: HybridTimestamp? { versions.last?.stamp.time }

    var greatestTime: HybridTimestamp {
        // Two at a time: more arguments of `max` are an array, and this is asked at every write.
        var greatest = max(header.sent.time, pin?.stamp.time ?? .zero)
        if let editedAt { greatest = max(greatest, editedAt) }
        if let orphan = orphanedEdits.last { greatest = max(greatest, orphan.version.stamp.time) }
        if let retractedAt { greatest = max(greatest, retractedAt) }
        return max(greatest, max(deletedBy.greatestTime, deletionTimes.greatest))
    }

    /// Whether somebody has it pinned.
    public var isPinned: Bool { pin?.value.by != nil }

    /// Whether it counts as deleted for everyone: retracted, or every participant hides it.
    public func isDeletedForEveryone(among participants: ObservedRemoveSet<UserID>) -> Bool {
        // Most messages are deleted by nobody.
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
        if !deletedBy.contains(user) { deletionTimes.note(user, .added, at: operation.time) }
        deletedBy.insert(user, by: operation)
    }

    mutating func restore(for user: UserID, by author: Authorship) {
        deletedBy.remove(user, by: author)
        deletionTimes.note(user, .removed, at: author.stamp.time)
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
        header = winner
        deletedBy.merge(other.deletedBy)
        if let theirs = other.pin { pin = pin.map { merged($0, theirs) } ?? theirs }
        deletionTimes.merge(other.deletionTimes)
        retractedAt = [retractedAt, other.retractedAt].compactMap(\.self).min()
        normalize()
    }

    /// The edits of both, each once for each sending that it edits.
    ///
    /// Where a forward was not answered, the next owner executes the same operation, which makes
    /// the same edit. Each side of a cut may accept its hundred edits; the oldest beyond
    /// `editsKeptMax` go, so that a document always fits its frame: keeping the greatest of a union
    /// is a join. Which of them show depends on the header that wins.
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

    private var allVersions: [Stray] {
        let sending = header.sending
        return versions.map { Stray(sending: sending, version: $0) } + orphanedEdits
    }

    private static func joined(_ edits: [Stray]) -> [Stray] {
        var joined: [Stray] = []
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

    /// Whether a retracted message has nothing left to show.
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
            && left.isSilent == right.isSilent && haveSameBytes(left.text, right.text)
    }

    /// Headers of one stamp are of one operation, executed by several nodes: the least dot stays.
    ///
    /// The rest makes the order total over any bytes; the text comes last, since a retracted
    /// message has lost it.
    public static func < (left: Self, right: Self) -> Bool {
        guard left.sent == right.sent else { return left.sent < right.sent }
        guard left.sender == right.sender else { return left.sender < right.sender }
        guard left.type == right.type else { return left.type.rawValue < right.type.rawValue }
        guard left.item == right.item else {
            return (left.item?.text ?? "") < (right.item?.text ?? "")
        }
        guard left.dot == right.dot else { return left.dot < right.dot }
        guard left.isSilent == right.isSilent else { return right.isSilent }
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

extension Message.Stray: Comparable {
    static func < (left: Self, right: Self) -> Bool {
        (left.version, left.sending) < (right.version, right.sending)
    }
}

/// Who pinned a message, or took its pin off; when is the register's stamp.
public struct Pin: Hashable, Comparable, Sendable {
    public let user: UserID
    public let isOn: Bool

    /// Who has it pinned, if anybody.
    public var by: UserID? { isOn ? user : nil }

    public static func < (left: Pin, right: Pin) -> Bool {
        guard left.isOn == right.isOn else { return right.isOn }
        return left.user < right.user
    }
}
