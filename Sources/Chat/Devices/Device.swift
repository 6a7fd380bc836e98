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
    /// Written with the token; that of another token says nothing.
    private(set) var registrationField: Register<DeviceRegistration>?
    /// The latest viewings, at most `Viewing.countMax`; ascending by stamp, one each.
    public private(set) var viewings: [Viewing]
    /// Notifications that were shown and not acknowledged; ascending by dot, none in
    /// `acknowledged`.
    public private(set) var listed: [ListedNotification]
    public private(set) var acknowledged: AcknowledgedNotifications
    /// The sending time of the latest acknowledged message; zero before the first.
    public private(set) var latestAcknowledged: HybridTimestamp
    /// Messages up to this time cause no notification: too much was acknowledged since to tell them
    /// apart.
    private(set) var floor: HybridTimestamp

    /// Creates a device that is not added yet.
    init() {
        viewings = []
        listed = []
        acknowledged = AcknowledgedNotifications()
        latestAcknowledged = .zero
        floor = .zero
    }

    public var isRegistered: Bool { added != nil }

    public var token: String? { tokenField?.value.text }

    /// Nil where an earlier version registered the device.
    var registration: DeviceRegistration? {
        registrationField.flatMap { $0.stamp == tokenField?.stamp ? $0.value : nil }
    }

    /// The sign-in with which the device ends; nil where it belongs to none.
    public var signIn: DeviceSignIn? { registration?.signIn }

    /// The conversation that the device was said to show last, if any.
    public var viewed: ConversationID? { viewings.last?.conversation }

    /// Returns the conversation that the device shows at a time, if any.
    func viewed(at time: HybridTimestamp) -> ConversationID? {
        viewings.last.flatMap { last in
            last.endsAt.map { $0 < time } ?? false ? nil : last.conversation
        }
    }

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

    mutating func register(
        _ token: FieldText, _ registration: DeviceRegistration, at stamp: Stamp
    ) {
        add(token, at: stamp)
        registrationField = Register(registration, at: stamp)
    }

    mutating func remove(at stamp: Stamp) {
        self = Device()
        removed = stamp
    }

    mutating func view(_ conversation: ConversationID?, isLeased: Bool = false, at stamp: Stamp) {
        mergeViewings([Viewing(stamp: stamp, conversation: conversation, isLeased: isLeased)])
    }

    /// Lists notifications.
    ///
    /// - Parameter time: the time of the addition that was known where they were found; what was
    ///   passed over there is of no use where another one counts.
    mutating func list(_ entries: [ListedNotification], since time: HybridTimestamp) {
        let isSame = added?.time == time
        for entry in entries where !acknowledged.contains(entry.dot, sentAt: entry.place.time) {
            mergeListed([isSame ? entry : entry.consideringItselfOnly])
        }
    }

    /// Acknowledges the notification `id` and all that are listed before it; does nothing where
    /// `id` is not listed.
    ///
    /// - Parameter isAlone: whether only `id` is acknowledged, and what is listed so much before it
    ///   that no device is notified of it any more: such an entry may be one that is never shown.
    mutating func acknowledge(_ id: NotificationID, alone isAlone: Bool) {
        guard let added, let last = listed.first(where: { $0.place.id == id }) else { return }
        let start = NotificationRule.earliest(before: last.place.time)
        let shown = Set(
            listed.lazy.filter {
                $0.place <= last.place
                    && (!isAlone || $0.document == last.document || $0.place.time <= start)
            }.map(\.document))
        // The seqs of a replica do not follow the sending times: a message that reached it late has
        // a greater seq and may have an earlier time.
        var (taken, takenAtAnyTime, rest) = (Vector(), Vector(), Vector())
        for entry in listed {
            guard shown.contains(entry.document) else {
                rest.insert(entry.dot)
                continue
            }
            if AcknowledgedNotifications.mayRepeat(entry.place.time, since: added.time) {
                takenAtAnyTime.insert(entry.dot)
            }
            if entry.place <= last.place {
                taken.insert(entry.considered, of: entry.dot.replica)
                latestAcknowledged = max(latestAcknowledged, entry.place.time)
            } else {
                // A later sending of a message that is taken off: both were shown as one.
                taken.insert(entry.dot)
            }
        }
        // No later than any place of what is taken off.
        let time = listed.lazy.filter { shown.contains($0.document) }.map(\.place.time).max()
        acknowledged.insert(takenAtAnyTime, since: .zero, at: time)
        acknowledged.insert(taken.subtracting(rest), since: added.time, at: time)
        if let surplus = acknowledged.surplusTime { floor = max(floor, surplus) }
        normalize()
    }

    /// The time up to which nothing is kept of messages: no device is notified of them.
    private var forgottenThrough: HybridTimestamp {
        let late = NotificationRule.earliest(before: latestAcknowledged).milliseconds
        let spared = late - min(late, Device.sparedMilliseconds)
        return max(floor, HybridTimestamp(milliseconds: spared))
    }

    /// How long after a message another one may have been sent that is passed over with it: an
    /// hour.
    private static let sparedMilliseconds: UInt64 = 3_600_000

    /// Records that the notification `id` was pushed; does nothing where it is not listed.
    mutating func notePushed(_ id: NotificationID, as kind: PushedKind) {
        for index in listed.indices where listed[index].place.id == id {
            listed[index].notePushed(as: kind)
        }
    }

    mutating func merge(_ other: Device) {
        guard removed == other.removed else {
            if isEarlier(removed, than: other.removed) { self = other }
            return
        }
        let (mine, theirs) = (added, other.added)
        added = [mine, theirs].compactMap(\.self).min()
        tokenField.merge(other.tokenField)
        registrationField.merge(other.registrationField)
        acknowledged.formUnion(other.acknowledged)
        latestAcknowledged = max(latestAcknowledged, other.latestAcknowledged)
        floor = max(floor, other.floor)
        mergeViewings(other.viewings)
        if added != mine { listed = listed.map(\.consideringItselfOnly) }
        mergeListed(added == theirs ? other.listed : other.listed.map(\.consideringItselfOnly))
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

    /// Takes off what is acknowledged or forgotten.
    ///
    /// What acknowledges an entry has a time no earlier than the entry's place: the entry is
    /// forgotten when that is, wherever it still is listed.
    private mutating func normalize() {
        listed.removeAll(where: isOver)
        acknowledged.forget(upTo: forgottenThrough)
    }

    private func isOver(_ entry: ListedNotification) -> Bool {
        entry.place.time <= forgottenThrough
            || acknowledged.takesOff(entry.dot, at: entry.place.time)
    }

    /// Whether the message of an entry was listed, acknowledged or passed over.
    func knows(_ entry: ListedNotification) -> Bool {
        isOver(entry) || acknowledged.contains(entry.dot, sentAt: entry.place.time)
            || listed.contains { $0.dot == entry.dot }
    }

    /// Whether the device is in the normal form in which a merge leaves it.
    var isNormal: Bool {
        let isBare =
            tokenField == nil && registrationField == nil && viewings.isEmpty && listed.isEmpty
            && acknowledged.isEmpty
            && latestAcknowledged == .zero && floor == .zero
        return (isRegistered ? tokenField != nil : isBare && removed != nil)
            && viewings.count <= Viewing.countMax
            && zip(viewings, viewings.dropFirst()).allSatisfy(<)
            && zip(listed, listed.dropFirst()).allSatisfy { $0.dot < $1.dot }
            && !listed.contains(where: isOver)
            && !acknowledged.mayForget(upTo: forgottenThrough)
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
        static let acknowledgedApart: UInt64 = 8
        static let pushed: UInt64 = 9
        static let registration: UInt64 = 10
        static let leased: UInt64 = 11
        static let timed: UInt64 = 12
        static let floor: UInt64 = 13
    }

    func write(to fields: inout some FieldSink & ~Copyable) {
        if let removed { fields.set(FieldNumber.removed, to: removed) }
        if let added { fields.set(FieldNumber.added, to: added) }
        if let tokenField { fields.set(FieldNumber.token, to: tokenField) }
        fields.set(FieldNumber.viewings, toList: viewings)
        fields.set(FieldNumber.listed, toList: listed)
        let (dots, rest, timed) = acknowledged.split(at: added?.time)
        if !dots.isEmpty { fields.set(FieldNumber.acknowledged, to: dots) }
        if latestAcknowledged != .zero {
            fields.set(FieldNumber.latestAcknowledged, to: latestAcknowledged)
        }
        if !rest.isEmpty { fields.set(FieldNumber.acknowledgedApart, to: rest) }
        let pushed = listed.compactMap { entry in
            entry.pushed.map { PushedEntry(dot: entry.dot, kind: $0) }
        }
        fields.set(FieldNumber.pushed, toList: pushed)
        if let registrationField {
            fields.set(FieldNumber.registration, to: registrationField)
        }
        fields.set(FieldNumber.leased, toList: viewings.filter(\.isLeased).map(\.stamp))
        fields.set(FieldNumber.timed, toList: timed.parts.map(TimedPart.init))
        if floor != .zero { fields.set(FieldNumber.floor, to: floor) }
    }

    init(from fields: inout Fields) throws(WireError) {
        self.init()
        removed = try fields.take(FieldNumber.removed)
        added = try fields.take(FieldNumber.added)
        tokenField = try fields.take(FieldNumber.token)
        viewings = try fields.take(FieldNumber.viewings, orEmpty: [], "viewings")
        listed = try fields.take(FieldNumber.listed, orEmpty: [], "listed notifications")
        acknowledged = try acknowledged(from: &fields)
        latestAcknowledged = try fields.take(
            FieldNumber.latestAcknowledged, orEmpty: .zero, "a time of an acknowledgement")
        registrationField = try fields.take(FieldNumber.registration)
        floor = try fields.take(FieldNumber.floor, orEmpty: .zero, "a time of what is forgotten")
        let pushed: [PushedEntry] = try fields.take(
            FieldNumber.pushed, orEmpty: [], "pushed notifications")
        try setPushed(pushed)
        try setLeased(try fields.take(FieldNumber.leased, orEmpty: [], "leased viewings"))
        guard isNormal else { throw .invalid("a device as a merge leaves it") }
    }

    private func acknowledged(
        from fields: inout Fields
    ) throws(WireError) -> AcknowledgedNotifications {
        var untimed = try fields.take(
            FieldNumber.acknowledgedApart, orEmpty: AcknowledgedNotifications(),
            "notifications acknowledged apart")
        let dots = try fields.take(
            FieldNumber.acknowledged, orEmpty: Vector(), "acknowledged notifications")
        guard dots.isEmpty || added != nil, untimed.split(at: added?.time).dots.isEmpty else {
            throw .invalid("acknowledged notifications in their fields")
        }
        untimed.insert(dots, since: added?.time ?? .zero, at: nil)
        let timed: [TimedPart] = try fields.take(
            FieldNumber.timed, orEmpty: [], "acknowledged notifications with times")
        return try AcknowledgedNotifications(untimed: untimed, timed: timed)
    }

    /// Sets which viewings end by themselves, each of which is there.
    private mutating func setLeased(_ stamps: [Stamp]) throws(WireError) {
        var left = stamps[...]
        for index in viewings.indices where viewings[index].stamp == left.first {
            viewings[index].isLeased = true
            left.removeFirst()
        }
        guard left.isEmpty else { throw .invalid("leased viewings that are there") }
    }

    /// Sets what was pushed of the entries, each of which is on the list once.
    private mutating func setPushed(_ pushed: [PushedEntry]) throws(WireError) {
        var left = pushed[...]
        for index in listed.indices where listed[index].dot == left.first?.dot {
            listed[index].pushed = left.removeFirst().kind
        }
        guard left.isEmpty else { throw .invalid("pushed notifications that are listed") }
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
