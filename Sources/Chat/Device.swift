import CRDT
import Wire

/// One device of a user: its token, what it is viewing, and what it was notified of.
///
/// It lives from an addition to the next removal. A removal wins over everything that did not know
/// of it, and what is added after it begins with nothing: so of two states the one with the later
/// removal is the whole result, and only states of one life merge field by field.
///
/// Notifications are not stored: the shards of the conversations derive them. Here is what was
/// shown (`listed`) and what was taken off since (`acknowledged`), by the dots of the messages.
public struct Device: Hashable, Sendable {
    /// When it was last removed; nil before the first time.
    public private(set) var removed: Stamp?
    /// When it was added in this life: of two additions, on two sides of a cut, the earlier.
    ///
    /// Nil while it is removed.
    public private(set) var added: Stamp?
    private var tokenField: Register<FieldText>?
    /// Ascending by stamp, one each; of more than `Viewing.countMax` the latest.
    public private(set) var viewings: [Viewing]
    /// What was shown and is not taken off; ascending by dot, none of them in `acknowledged`.
    public private(set) var listed: [ListedNotification]
    /// The messages that were taken off, or passed over before one that was.
    ///
    /// A replica's id belongs to one copy of one shard, so this one vector spans all shards. It
    /// grows by some 24 bytes for each process that accepted such a message in a shard.
    public private(set) var acknowledged: Vector
    /// When the latest message was sent that was taken off; zero before the first.
    public private(set) var latestAcknowledged: HybridTimestamp

    /// As it begins.
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

    /// What it is viewing.
    public var viewed: ConversationID? { viewings.last?.conversation }

    /// Behind all that was written in it; the messages that it names are of other shards' time.
    var greatestTime: HybridTimestamp {
        [removed, added, tokenField?.stamp, viewings.last?.stamp].reduce(.zero) {
            max($0, $1?.time ?? .zero)
        }
    }
}

// MARK: Changes

extension Device {
    /// When what this writes was last written; a removal is behind all that was.
    func stamps(of action: DeviceAction) -> [Stamp?] {
        switch action {
        case .add: [removed, tokenField?.stamp]
        case .remove: [removed, added, tokenField?.stamp, viewings.last?.stamp]
        case .view: [removed] + viewings.map(\.stamp)
        case .list, .acknowledge: []
        }
    }

    mutating func add(_ token: FieldText, at stamp: Stamp) {
        if added == nil { added = stamp }
        tokenField = Register(token, at: stamp)
    }

    mutating func remove(at stamp: Stamp) {
        self = Device()
        removed = stamp
    }

    mutating func view(_ conversation: ConversationID?, at stamp: Stamp) {
        note([Viewing(stamp: stamp, conversation: conversation)])
    }

    mutating func list(_ entries: [ListedNotification]) {
        for entry in entries { note([entry]) }
    }

    /// Takes off the notification `id` and all that are listed before it; nothing where it is not
    /// listed.
    mutating func acknowledge(_ id: NotificationID) {
        guard let last = listed.first(where: { $0.place.id == id }) else { return }
        // A replica's seqs are not in the order of times: what came to it late was sent before.
        var (taken, later) = (Vector(), Vector())
        for entry in listed {
            guard entry.place <= last.place else {
                later.insert(entry.dot)
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
        note(other.viewings)
        note(other.listed)
    }

    private func isEarlier(_ mine: Stamp?, than theirs: Stamp?) -> Bool {
        guard let theirs else { return false }
        return mine.map { $0 < theirs } ?? true
    }

    /// The latest of a union of such sets is a join, whatever was left out before.
    private mutating func note(_ more: [Viewing]) {
        viewings = Array(Set(viewings + more).sorted().suffix(Viewing.countMax))
    }

    private mutating func note(_ entries: [ListedNotification]) {
        listed = mergedAscending(listed, entries, by: \.dot) { mine, theirs in
            var both = mine
            both.merge(theirs)
            return both
        }
        normalize()
    }

    private mutating func normalize() { listed.removeAll { acknowledged.contains($0.dot) } }

    /// Whether it is as a merge leaves it.
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
        if !viewings.isEmpty { fields.set(FieldNumber.viewings, to: WireList(viewings)) }
        if !listed.isEmpty { fields.set(FieldNumber.listed, to: WireList(listed)) }
        if !acknowledged.isEmpty { fields.set(FieldNumber.acknowledged, to: acknowledged) }
        if latestAcknowledged != .zero {
            fields.set(FieldNumber.latestAcknowledged, to: latestAcknowledged)
        }
    }

    init(from fields: inout Fields) throws(WireError) {
        self.init()
        if let bytes = fields.take(FieldNumber.removed) { removed = try Stamp.decode(bytes) }
        if let bytes = fields.take(FieldNumber.added) { added = try Stamp.decode(bytes) }
        tokenField = try fields.takeRegister(FieldNumber.token)
        if let bytes = fields.take(FieldNumber.viewings) {
            viewings = try WireList.decodeSome(bytes)
        }
        if let bytes = fields.take(FieldNumber.listed) { listed = try WireList.decodeSome(bytes) }
        if let bytes = fields.take(FieldNumber.acknowledged) {
            acknowledged = try Vector.decode(bytes)
            guard !acknowledged.isEmpty else { throw .invalid("what was taken off") }
        }
        if let bytes = fields.take(FieldNumber.latestAcknowledged) {
            latestAcknowledged = try HybridTimestamp.decode(bytes)
            guard latestAcknowledged != .zero else {
                throw .invalid("a time of what was taken off")
            }
        }
        guard isNormal else { throw .invalid("a device as a merge leaves it") }
    }
}

/// As it travels to a node that asks for it.
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

/// Values, one behind the other.
struct WireList<Value: WireValue>: WireValue {
    let values: [Value]

    init(_ values: [Value]) { self.values = values }

    func encode(into writer: inout ByteWriter) {
        writer.write(count: values.count)
        for value in values { value.encode(into: &writer) }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        var values: [Value] = []
        for _ in 0..<(try reader.readCount()) { values.append(try Value(from: &reader)) }
        self.values = values
    }

    /// A list in a field of its own, which has no field where it is empty.
    static func decodeSome(_ bytes: [UInt8]) throws(WireError) -> [Value] {
        let values = try decode(bytes).values
        guard !values.isEmpty else { throw .invalid("a list of something") }
        return values
    }
}
