import CRDT
import Wire

/// The type that a client gives a message; the raw values are the line protocol's words.
public enum MessageType: String, CaseIterable, Sendable {
    case text, image, voice, system, action
}

/// A message: its first text, its edits, its pin, and the users for whom it is deleted.
///
/// If one message id is sent on two sides of a network partition, the send with the earlier header
/// wins. If both sends have the same sender and text, as when a client that got no response sends
/// again to another node, the edits of both belong to the message; otherwise the edits of the
/// losing send are not shown. Sends of different users under one id are kept apart, so that nobody
/// edits, pins or deletes the message of another user. A retracted message has no text, no versions
/// and no pin: a deletion for everyone by its sender wins over everything, in every order of
/// events.
public struct Message: Hashable, Sendable {
    /// The immutable part of a message, set when it is sent.
    public struct Header: Hashable, Sendable {
        public let sent: Stamp
        /// The dot of the message's sending.
        public let dot: Dot
        public let sender: UserID
        public let type: MessageType
        public let item: ItemID?
        /// Whether the message notifies nobody, as the messages of the sample data do.
        public internal(set) var isSilent = false
        public internal(set) var attachment: Attachment?
        /// The message's first text; empty once the message is retracted.
        public internal(set) var text: String

        /// The files that the message is sent with.
        var files: [FileID] { attachment?.files ?? [] }

        /// A checksum of the sender and the text; it is equal for a send and its repetition.
        var sending: UInt64 {
            checksum(of: text, seed: checksum(of: sender.text))
        }
    }

    /// An edit of a message: the new text, and the stamp of the edit.
    public struct Version: Hashable, Sendable {
        public let stamp: Stamp
        public let text: String
    }

    /// An edit of a losing send.
    ///
    /// An orphaned edit can become visible again: an earlier header with the sender and text of the
    /// losing send may still arrive.
    struct OrphanedEdit: Hashable, Sendable {
        let sending: UInt64
        let version: Version
    }

    /// The send with the earliest header, which users see.
    var shown: Send
    /// The sends of other users under the same id, one for each user, ascending by header; nobody
    /// sees them.
    var others: [Send] = []
    /// The dots of losing sends; a user who was notified of one send of a message is not notified
    /// of another.
    var losingSends = Context()
    /// The files that only losing sends name, ascending: these files belong to the message, too,
    /// and its deletion closes them.
    var otherFiles: [FileID] = []
    /// The users who deleted the message for themselves.
    public internal(set) var deletedBy = ObservedRemoveSet<UserID>()
    /// The times at which users last deleted the message for themselves and last restored it.
    public internal(set) var deletionTimes = ChangeTimes()

    public var header: Header { shown.header }

    /// The edits, in ascending order; the last edit is shown, and all edits form the history.
    public var versions: [Version] { shown.versions }

    public var pin: Register<Pin>? { shown.pin }

    /// The time of the deletion for everyone; it is never unset, and of two times the earlier wins.
    public var retractedAt: HybridTimestamp? { shown.retractedAt }

    public var isRetracted: Bool { shown.isRetracted }

    /// Whether one of the senders under the message's id has deleted their message for everyone.
    var hasRetracted: Bool { isRetracted || others.contains(where: \.isRetracted) }

    /// The files that any send of the message names.
    public var files: [FileID] { header.files + otherFiles }

    /// The latest text, whether or not the message is shown.
    public var text: String { versions.last?.text ?? header.text }

    public var editedAt: HybridTimestamp? { versions.last?.stamp.time }

    var greatestTime: HybridTimestamp {
        // `max` gets two arguments at a time: for more, it allocates an array, at every write.
        var greatest = max(shown.greatestTime, max(deletedBy.greatestTime, deletionTimes.greatest))
        for other in others { greatest = max(greatest, other.greatestTime) }
        return greatest
    }

    /// Whether the message is pinned.
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
    init(_ header: Header) { self.init(shown: Send(header: header)) }

    mutating func edit(_ version: Version) { shown.edit(version) }

    mutating func hide(for user: UserID, by operation: Stamp) {
        guard !operation.precedes(deletionTimes.removed(user)) else {
            return deletedBy.supersede(user, by: operation)
        }
        if !deletedBy.contains(user) {
            deletionTimes.recordChange(user, .added, at: operation.time)
        }
        deletedBy.insert(user, by: operation)
    }

    mutating func restore(for user: UserID, by author: Authorship) {
        deletedBy.remove(user, by: author)
        deletionTimes.recordChange(user, .removed, at: author.stamp.time)
    }

    /// Returns when `user` last deleted the message for themselves or restored it; nil for neither.
    func deletionChanged(by user: UserID) -> HybridTimestamp? {
        deletionTimes.lastChange(of: user, isElement: deletedBy.contains(user))
    }

    mutating func setPin(_ pin: Pin, at stamp: Stamp) { shown.setPin(pin, at: stamp) }

    mutating func retract(at time: HybridTimestamp) { shown.retract(at: time) }

    mutating func merge(_ other: Message) {
        let winner = min(header, other.header)
        if header != other.header || losingSends != other.losingSends {
            losingSends = losingSends(with: other, under: winner)
        }
        if header.attachment != other.header.attachment || otherFiles != other.otherFiles {
            otherFiles = Set(files + other.files).subtracting(winner.files).sorted()
        }
        mergeSends(other)
        deletedBy.merge(other.deletedBy)
        deletionTimes.merge(other.deletionTimes)
    }

    private mutating func mergeSends(_ other: Message) {
        #if PlantedBugs
            if PlantedBug.sendsOfUsersUnited.isOn { return shown.merge(other.shown) }
        #endif
        let isOfOne = others.isEmpty && other.others.isEmpty
        guard !isOfOne || header.sender != other.header.sender else {
            return shown.merge(other.shown)
        }
        var sends = mergedByKey(
            [shown] + others, [other.shown] + other.others, \.header.sender, orderedBy: \.header
        ) { $0.merge($1) }
        for index in sends.indices.dropFirst() { sends[index].supersede() }
        (shown, others) = (sends[0], Array(sends.dropFirst()))
    }
}

extension Message.Header: Comparable {
    public static func == (left: Self, right: Self) -> Bool {
        left.sent == right.sent && left.sender == right.sender && left.type == right.type
            && left.item == right.item && left.dot == right.dot
            && left.isSilent == right.isSilent && left.attachment == right.attachment
            && haveSameBytes(left.text, right.text)
    }

    /// Orders headers by stamp.
    ///
    /// Equal stamps mean that several nodes executed one operation; then the least dot wins.
    ///
    /// The comparisons of the other fields make the order total over any decoded bytes. The text is
    /// compared last, since a retracted message has none.
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

    /// Orders edits by time, and edits of one time by their texts, as a `Register` does.
    public static func < (left: Self, right: Self) -> Bool {
        guard left.stamp.time == right.stamp.time else {
            return left.stamp.time < right.stamp.time
        }
        guard haveSameBytes(left.text, right.text) else {
            return precedesInBytes(left.text, right.text)
        }
        return left.stamp < right.stamp
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
