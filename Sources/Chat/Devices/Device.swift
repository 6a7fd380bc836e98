import CRDT
import Wire

/// A device of a user: its token, the conversation that it shows, and its notifications.
///
/// A life of a device lasts from an addition to the next removal. A removal wins over all
/// concurrent changes, and the next life starts empty: of two states with different removals, a
/// merge keeps the one with the later removal; only states of the same life merge field by field.
///
/// Notifications are not stored: the shards of the conversations compute them from the messages.
/// The device's document stores the dots of the messages whose notifications the device was shown
/// (`listed`) and acknowledged (`acknowledged`).
public struct Device: Hashable, Sendable {
    /// The stamp of the last removal of the device; nil before the first removal.
    public private(set) var removed: Stamp?
    /// The stamp of the addition that began this life; nil while the device is removed.
    ///
    /// If a device is added on two sides of a network partition, the earlier addition counts.
    public private(set) var added: Stamp?
    private(set) var tokenField: Register<FieldText>?
    /// The registration written with a token; valid only if its stamp is the present token's.
    private(set) var registrationField: Register<DeviceRegistration>?
    /// The latest viewings, at most `Viewing.countMax`, ascending by stamp; each occurs once.
    public private(set) var viewings: [Viewing]
    /// The notifications that the device was shown and has not acknowledged, ascending by dot.
    public private(set) var listed: [ListedNotification]
    public private(set) var acknowledged: AcknowledgedNotifications
    /// The sending time of the latest acknowledged message; zero before the first acknowledgement.
    public private(set) var latestAcknowledged: HybridTimestamp
    /// The time up to which messages cause no notification, since the acknowledgements of such old
    /// messages were dropped to limit the document's size.
    private(set) var floor: HybridTimestamp

    /// Creates the state of a device before its first addition.
    init() {
        viewings = []
        listed = []
        acknowledged = AcknowledgedNotifications()
        latestAcknowledged = .zero
        floor = .zero
    }

    public var isRegistered: Bool { added != nil }

    public var token: String? { tokenField?.value.text }

    /// The registration of the present token; nil if an earlier version registered the device.
    var registration: DeviceRegistration? {
        registrationField.flatMap { $0.stamp == tokenField?.stamp ? $0.value : nil }
    }

    /// The sign-in whose end removes the device; nil if the device belongs to no sign-in.
    public var signIn: DeviceSignIn? { registration?.signIn }

    /// The conversation that the app last reported as shown on the device; nil if none.
    public var viewed: ConversationID? { viewings.last?.conversation }

    /// Returns the conversation that the device shows at `time`; nil if none.
    func viewed(at time: HybridTimestamp) -> ConversationID? {
        viewings.last.flatMap { last in
            last.endsAt.map { $0 < time } ?? false ? nil : last.conversation
        }
    }

    /// The greatest time of a write to the device.
    ///
    /// The times of listed messages do not count, since other shards issued them.
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

    /// Adds notifications to the list, unless they are acknowledged.
    ///
    /// - Parameter time: the time of the device's addition that was known when the notifications
    ///   were found. If another addition counts, the `considered` seqs of the entries are dropped.
    mutating func list(_ entries: [ListedNotification], since time: HybridTimestamp) {
        let isSame = added?.time == time
        for entry in entries where !acknowledged.contains(entry.dot, sentAt: entry.place.time) {
            mergeListed([isSame ? entry : entry.consideringItselfOnly])
        }
    }

    /// Acknowledges the notification `id` and all notifications that are listed before it; does
    /// nothing if `id` is not listed.
    ///
    /// - Parameter isAlone: whether only `id` is acknowledged, together with entries at least one
    ///   day older: no device is notified of such messages any more, so the entry may never be
    ///   shown.
    mutating func acknowledge(_ id: NotificationID, alone isAlone: Bool) {
        guard let added, let last = listed.first(where: { $0.place.id == id }) else { return }
        let start = NotificationRule.earliest(before: last.place.time)
        let shown = Set(
            listed.lazy.filter {
                $0.place <= last.place
                    && (!isAlone || $0.document == last.document || $0.place.time <= start)
            }.map(\.document))
        // The seqs of a replica id do not follow the sending times: a message that reached the
        // replica late has a greater seq and may have an earlier time.
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
                // The entry is a later sending of an acknowledged message; both sendings were shown
                // as one notification.
                taken.insert(entry.dot)
            }
        }
        // The time is no earlier than the place of any acknowledged entry, as `normalize` requires.
        let time = listed.lazy.filter { shown.contains($0.document) }.map(\.place.time).max()
        acknowledged.insert(takenAtAnyTime, since: .zero, at: time)
        acknowledged.insert(taken.subtracting(rest), since: added.time, at: time)
        if let surplus = acknowledged.surplusTime { floor = max(floor, surplus) }
        normalize()
    }

    /// The time up to which entries and acknowledgements are dropped, since the device is not
    /// notified of such old messages.
    private var forgottenThrough: HybridTimestamp {
        let late = NotificationRule.earliest(before: latestAcknowledged).milliseconds
        let spared = late - min(late, Device.sparedMilliseconds)
        return max(floor, HybridTimestamp(milliseconds: spared))
    }

    /// The time for which acknowledgements are kept beyond the lateness limit, in milliseconds: one
    /// hour, since an acknowledgement may include skipped messages of the hour after it.
    private static let sparedMilliseconds: UInt64 = 3_600_000

    /// Records that the notification `id` was pushed; does nothing if `id` is not listed.
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
        tokenField.mergeTogether(other.tokenField)
        registrationField.mergeTogether(other.registrationField)
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

    /// Adds viewings and keeps the latest `Viewing.countMax`.
    ///
    /// Keeping the latest elements of a union is a join, whatever was dropped before.
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

    /// Removes listed notifications that are acknowledged or forgotten, and old acknowledgements.
    ///
    /// The time of an acknowledgement is no earlier than the places of its entries. When an
    /// acknowledgement is forgotten, its entries are therefore forgotten, too, on every replica
    /// that still lists them.
    private mutating func normalize() {
        listed.removeAll(where: isOver)
        acknowledged.forget(upTo: forgottenThrough)
    }

    private func isOver(_ entry: ListedNotification) -> Bool {
        entry.place.time <= forgottenThrough
            || acknowledged.takesOff(entry.dot, at: entry.place.time)
    }

    /// Returns whether the message of an entry was already listed, acknowledged or skipped.
    func knows(_ entry: ListedNotification) -> Bool {
        isOver(entry) || acknowledged.contains(entry.dot, sentAt: entry.place.time)
            || listed.contains { $0.dot == entry.dot }
    }

    /// Whether the device is in the normal form that a merge produces.
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

    /// Marks the viewings with these stamps as leased; throws an error if a stamp has no viewing.
    private mutating func setLeased(_ stamps: [Stamp]) throws(WireError) {
        var left = stamps[...]
        for index in viewings.indices where viewings[index].stamp == left.first {
            viewings[index].isLeased = true
            left.removeFirst()
        }
        guard left.isEmpty else { throw .invalid("leased viewings that are there") }
    }

    /// Sets the kind of the last push of listed entries; throws an error if an entry is not listed.
    private mutating func setPushed(_ pushed: [PushedEntry]) throws(WireError) {
        var left = pushed[...]
        for index in listed.indices where listed[index].dot == left.first?.dot {
            listed[index].pushed = left.removeFirst().kind
        }
        guard left.isEmpty else { throw .invalid("pushed notifications that are listed") }
    }
}

/// The coding of a device for a node that requests it.
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
