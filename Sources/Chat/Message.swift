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
        public let operation: OperationID
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
    var rivals = Context()
    /// Ascending by stamp, one for each operation: the last shows, all are the history.
    public internal(set) var versions: [Version] = []
    /// Ascending likewise, one for each operation and sending.
    var strays: [Stray] = []
    /// Who deleted it for themselves.
    public internal(set) var deletedBy = ObservedRemoveSet<UserID>()
    public internal(set) var pin: Register<Pin>?
    /// Deleted for everyone: once set, it stays set.
    public internal(set) var isRetracted = false

    /// The text that shows, were it shown.
    public var text: String { versions.last?.text ?? header.text }

    public var editedAt: HybridTimestamp? { versions.last?.stamp.time }

    var greatestTime: HybridTimestamp {
        max(
            header.sent.time, editedAt ?? .zero, pin?.stamp.time ?? .zero,
            strays.last?.version.stamp.time ?? .zero, deletedBy.greatestTime)
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
        deletedBy.insert(user, by: operation)
    }

    mutating func restore(for user: UserID, by operation: Stamp) {
        deletedBy.remove(user, by: operation)
    }

    mutating func setPin(_ pin: Pin, at stamp: Stamp) { self.pin = Register(pin, at: stamp) }

    mutating func retract() {
        isRetracted = true
        normalize()
    }

    mutating func merge(_ other: Message) {
        mergeVersions(other)
        let winner = min(header, other.header)
        if header != other.header || rivals != other.rivals {
            rivals = rivals(with: other, under: winner)
        }
        header = winner
        deletedBy.merge(other.deletedBy)
        if let theirs = other.pin { pin = pin.map { merged($0, theirs) } ?? theirs }
        isRetracted = isRetracted || other.isRetracted
        normalize()
    }

    /// One edit for each operation and sending, and of those the newest.
    ///
    /// Where a forward was not answered, the next owner accepts the same operation under a stamp of
    /// its own; the later of the two stays. Each side of a cut may accept its hundred edits; the
    /// oldest beyond `editsKeptMax` go, so that a document always fits its frame. Keeping the
    /// greatest of each operation and then the greatest of all is a join; with the least of each it
    /// is not. Which of them show depends on the header that wins.
    private mutating func mergeVersions(_ other: Message) {
        let isSame = header == other.header
        guard !isSame || versions != other.versions || strays != other.strays else { return }
        let sending = min(header, other.header).sending
        let all = Message.joined(allVersions + other.allVersions)
        versions = all.filter { $0.sending == sending }.map(\.version)
        strays = all.filter { $0.sending != sending }
    }

    private var allVersions: [Stray] {
        let sending = header.sending
        return versions.map { Stray(sending: sending, version: $0) } + strays
    }

    private static func joined(_ edits: [Stray]) -> [Stray] {
        struct Request: Hashable {
            let operation: OperationID
            let sending: UInt64
        }
        var requests: Set<Request> = []
        return edits.sorted { $1 < $0 }
            .filter {
                requests.insert(Request(operation: $0.version.operation, sending: $0.sending))
                    .inserted
            }
            .prefix(ChatLimits.editsKeptMax).reversed()
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
        let isEmpty = versions.isEmpty && strays.isEmpty && pin == nil
        return !isRetracted || (header.text.isEmpty && isEmpty)
    }

    private mutating func normalize() {
        guard isRetracted else { return }
        #if PlantedBugs
            if PlantedBug.editRevivesDeleted.isOn, !versions.isEmpty {
                isRetracted = false
                return
            }
            if PlantedBug.pinRevivesDeleted.isOn, isPinned {
                isRetracted = false
                return
            }
        #endif
        header.text = ""
        versions = []
        strays = []
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
        left.stamp == right.stamp && left.operation == right.operation
            && haveSameBytes(left.text, right.text)
    }

    public static func < (left: Self, right: Self) -> Bool {
        guard left.stamp == right.stamp, left.operation == right.operation else {
            return (left.stamp, left.operation) < (right.stamp, right.operation)
        }
        return precedesInBytes(left.text, right.text)
    }
}

extension Message.Stray: Comparable {
    static func < (left: Self, right: Self) -> Bool {
        (left.version, left.sending) < (right.version, right.sending)
    }
}

/// Who has a message pinned, if anybody; when is the register's stamp.
public struct Pin: Hashable, Comparable, Sendable {
    public let by: UserID?

    public static func < (left: Pin, right: Pin) -> Bool {
        (left.by?.text ?? "") < (right.by?.text ?? "")
    }
}
