import CRDT
import Wire

/// A device of a user: its token, the conversation that it shows, and its notifications.
///
/// A device lives from an addition to the next removal. A removal wins over everything that had not
/// seen it, and the next life starts empty: of two states, the one with the later removal is the
/// whole result, and only states of one life merge field by field.
///
/// Notifications are not stored: the shards of the conversations derive them. The device stores
/// which notifications were shown (`listed`) and which of them were acknowledged (`acknowledged`),
/// by the dots of the messages.
public struct Device: Hashable, Sendable {
    /// The stamp of the last removal; nil before the first.
    public private(set) var removed: Stamp?
    /// The stamp of the addition that began this life; nil while the device is removed.
    ///
    /// Of two additions, on two sides of a network partition, the earlier counts.
    public private(set) var added: Stamp?
    private(set) var tokenField: Register<FieldText>?
    /// The latest viewings, at most `Viewing.countMax`; ascending by stamp, one each.
    public private(set) var viewings: [Viewing]
    /// Notifications that were shown and not acknowledged; ascending by dot, none in
    /// `acknowledged`.
    public private(set) var listed: [ListedNotification]
    /// The dots of messages that were acknowledged, or passed over before one that was.
    ///
    /// A replica id belongs to one shard replica, so this one vector spans all shards. It grows by
    /// about 24 bytes for each process that accepted such a message in a shard.
    public private(set) var acknowledged: Vector
    /// The sending time of the latest acknowledged message; zero before the first.
    public private(set) var latestAcknowledged: HybridTimestamp

    /// Creates the device by its first addition.
    init(_ token: FieldText, at stamp: Stamp) {
        self.init()
        add(token, at: stamp)
    }

    private init() {
        viewings = []
        listed = []
        acknowledged = Vector()
        latestAcknowledged = .zero
    }

    public var isRegistered: Bool { added != nil }

    public var token: String? { tokenField?.value.text }

    /// The conversation that the device shows now, if any.
    public var viewed: ConversationID? { viewings.last?.conversation }

    /// The greatest time of a write to the device; the messages that it names have times of other
    /// shards, which do not count.
    var greatestTime: HybridTimestamp {
        [removed, added, tokenField?.stamp, viewings.last?.stamp].reduce(.zero) {
            max($0, $1?.time ?? .zero)
        }
    }
}

// MARK: Changes

extension Device {
    mutating func add(_ token: FieldText, at stamp: Stamp) {
        if added == nil { added = stamp }
        tokenField = Register(token, at: stamp)
    }

    mutating func remove(at stamp: Stamp) {
        self = Device()
        removed = stamp
    }

    mutating func view(_ conversation: ConversationID?, at stamp: Stamp) {
        mergeViewings([Viewing(stamp: stamp, conversation: conversation)])
    }

    mutating func list(_ entries: [ListedNotification]) {
        for entry in entries { mergeListed([entry]) }
    }

    /// Acknowledges the notification `id` and all that are listed before it; does nothing where
    /// `id` is not listed.
    mutating func acknowledge(_ id: NotificationID) {
        guard let last = listed.first(where: { $0.place.id == id }) else { return }
        // The seqs of a replica do not follow the sending times: a message that reached it late has
        // a greater seq and may have an earlier time.
        var (taken, later) = (Vector(), Vector())
        let shown = Set(listed.lazy.filter { $0.place <= last.place }.map(\.document))
        for entry in listed {
            guard entry.place <= last.place else {
                if shown.contains(entry.document) {
                    // A later sending of a message that is taken off: both were shown as one.
                    taken.insert(entry.dot)
                } else {
                    later.insert(entry.dot)
                }
                continue
            }
            taken.insert(entry.considered, of: entry.dot.replica)
            latestAcknowledged = max(latestAcknowledged, entry.place.time)
        }
        acknowledged.formUnion(taken.subtracting(later))
        normalize()
    }

    mutating func merge(_ other: Device) {
        guard removed == other.removed else {
            if isEarlier(removed, than: other.removed) { self = other }
            return
        }
        added = [added, other.added].compactMap(\.self).min()
        tokenField.merge(other.tokenField)
        acknowledged.formUnion(other.acknowledged)
        latestAcknowledged = max(latestAcknowledged, other.latestAcknowledged)
        mergeViewings(other.viewings)
        mergeListed(other.listed)
    }

    private func isEarlier(_ mine: Stamp?, than theirs: Stamp?) -> Bool {
        guard let theirs else { return false }
        return mine.map { $0 < theirs } ?? true
    }

    /// Adds viewings and keeps the latest; the latest of a union are a join, whatever was dropped.
    private mutating func mergeViewings(_ more: [Viewing]) {
        viewings = Array(Set(viewings + more).sorted().suffix(Viewing.countMax))
    }

    private mutating func mergeListed(_ entries: [ListedNotification]) {
        listed = mergedAscending(listed, entries, by: \.dot) { mine, theirs in
            var both = mine
            both.merge(theirs)
            return both
        }
        normalize()
    }

    private mutating func normalize() { listed.removeAll { acknowledged.contains($0.dot) } }

    /// Whether the device is in the normal form in which a merge leaves it.
    var isNormal: Bool {
        let isBare =
            tokenField == nil && viewings.isEmpty && listed.isEmpty && acknowledged.isEmpty
            && latestAcknowledged == .zero
        return (isRegistered ? tokenField != nil : isBare && removed != nil)
            && viewings.count <= Viewing.countMax
            && zip(viewings, viewings.dropFirst()).allSatisfy(<)
            && zip(listed, listed.dropFirst()).allSatisfy { $0.dot < $1.dot }
            && !listed.contains { acknowledged.contains($0.dot) }
    }
}

extension Device {
    private enum FieldNumber {
        static let removed: UInt64 = 1
        static let added: UInt64 = 2
        static let token: UInt64 = 3
        static let viewings: UInt64 = 4
        static let listed: UInt64 = 5
        static let acknowledged: UInt64 = 6
        static let latestAcknowledged: UInt64 = 7
    }

    func write(to fields: inout some FieldSink & ~Copyable) {
        if let removed { fields.set(FieldNumber.removed, to: removed) }
        if let added { fields.set(FieldNumber.added, to: added) }
        if let tokenField { fields.set(FieldNumber.token, to: tokenField) }
        fields.set(FieldNumber.viewings, toList: viewings)
        fields.set(FieldNumber.listed, toList: listed)
        if !acknowledged.isEmpty { fields.set(FieldNumber.acknowledged, to: acknowledged) }
        if latestAcknowledged != .zero {
            fields.set(FieldNumber.latestAcknowledged, to: latestAcknowledged)
        }
    }

    init(from fields: inout Fields) throws(WireError) {
        self.init()
        removed = try fields.take(FieldNumber.removed)
        added = try fields.take(FieldNumber.added)
        tokenField = try fields.take(FieldNumber.token)
        viewings = try fields.take(FieldNumber.viewings, orEmpty: [], "viewings")
        listed = try fields.take(FieldNumber.listed, orEmpty: [], "listed notifications")
        acknowledged = try fields.take(
            FieldNumber.acknowledged, orEmpty: Vector(), "acknowledged notifications")
        latestAcknowledged = try fields.take(
            FieldNumber.latestAcknowledged, orEmpty: .zero, "a time of an acknowledgement")
        guard isNormal else { throw .invalid("a device as a merge leaves it") }
    }
}

/// The form in which a device is sent to a node that requests it.
extension Device: WireValue {
    public func encode(into writer: inout ByteWriter) {
        var fields = Fields()
        write(to: &fields)
        fields.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        var fields = try Fields(from: &reader)
        try self.init(from: &fields)
        guard fields.isEmpty else { throw .invalid("the fields of a device") }
    }
}
