import CRDT
import Wire

/// An action on the notifications of a device, which overwrites nothing.
public protocol NotificationAction: RegisteredDeviceAction {}

extension NotificationAction {
    public func stampsOverwritten(in content: Device) -> [Stamp?]? { [] }
}

/// An action that lists notifications as shown.
public struct ListNotifications: NotificationAction {
    /// 4 was a list without a time.
    public static let codes = [ActionCode(30, 6)]

    public let entries: [ListedNotification]
    /// The removal after which the life of the device began in which the notifications were found;
    /// nil for its first life.
    public let life: Stamp?
    /// The time of the addition that was known where the notifications were found.
    public let since: HybridTimestamp

    public init(_ entries: [ListedNotification], life: Stamp?, since: HybridTimestamp) {
        self.entries = entries
        self.life = life
        self.since = since
    }

    /// - Parameter device: the state of the device by which the notifications were found.
    public init(_ entries: [ListedNotification], foundBy device: Device) {
        self.init(entries, life: device.removed, since: device.added?.time ?? .zero)
    }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        entries = try reader.readList(limit: ListedNotification.countMax)
        life = try Optional(from: &reader)
        since = try HybridTimestamp(from: &reader)
    }

    public func encodeRest(into writer: inout ByteWriter) {
        entries.encode(into: &writer)
        life.encode(into: &writer)
        since.encode(into: &writer)
    }

    /// Notifications found for an earlier life of the device do not concern this one.
    public func changes(_ device: Device) -> Bool {
        device.removed == life && entries.contains { !device.knows($0) }
    }

    public func apply(to device: inout Device, at stamp: Stamp) {
        device.list(entries, since: since)
    }

    public func nameBytes(by user: UserID) -> Int { entries.count * ListedNotification.bytesMax }
    public var roughBytes: Int { entries.count * ChatLimits.entryBytesAround }
}

/// An action that acknowledges a notification of a device.
public protocol Acknowledgement: NotificationAction {
    /// Whether only this notification is acknowledged, and not those that are listed before it.
    static var isAlone: Bool { get }

    var id: NotificationID { get }

    init(_ id: NotificationID)
}

extension Acknowledgement {
    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        self.init(try reader.readName())
    }

    public func encodeRest(into writer: inout ByteWriter) { writer.write(id) }

    public func changes(_ device: Device) -> Bool { device.listed.contains { $0.place.id == id } }

    public func apply(to device: inout Device, at stamp: Stamp) {
        device.acknowledge(id, alone: Self.isAlone)
    }

    public var growth: ActionGrowth { .settles }
}

/// An action that acknowledges a notification and all that are listed before it.
public struct AcknowledgeThrough: Acknowledgement {
    public static let codes = [ActionCode(30, 5)]
    public static let isAlone = false

    public let id: NotificationID

    public init(_ id: NotificationID) { self.id = id }
}

/// An action that acknowledges a notification, and none that is listed less than a day before it.
public struct AcknowledgeAlone: Acknowledgement {
    public static let codes = [ActionCode(30, 7)]
    public static let isAlone = true

    public let id: NotificationID

    public init(_ id: NotificationID) { self.id = id }
}

/// An action that records that a notification was pushed; it stays listed.
public struct NotePushed: NotificationAction {
    public static let codes = [ActionCode(30, 9)]

    public let id: NotificationID
    public let kind: PushedKind

    public init(_ id: NotificationID, as kind: PushedKind) {
        self.id = id
        self.kind = kind
    }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        id = try reader.readName()
        kind = try PushedKind(from: &reader)
    }

    public func encodeRest(into writer: inout ByteWriter) {
        writer.write(id)
        kind.encode(into: &writer)
    }

    public func changes(_ device: Device) -> Bool {
        device.listed.contains {
            $0.place.id == id && $0.pushed.map { $0 < kind } ?? true
        }
    }

    public func apply(to device: inout Device, at stamp: Stamp) { device.notePushed(id, as: kind) }

    public var growth: ActionGrowth { .settles }
}
