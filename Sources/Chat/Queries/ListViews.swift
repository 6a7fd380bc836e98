import CRDT
import Wire

/// The name that a user has given in the profile.
public struct NameView: Hashable, Sendable {
    public let user: UserID
    public let name: String
}

/// A profile, with the time of its last change.
public struct DatedProfile: Hashable, Sendable {
    public internal(set) var view: ProfileView
    public let at: HybridTimestamp

    public init(view: ProfileView, at: HybridTimestamp) {
        self.view = view
        self.at = at
    }
}

/// A device in the form in which its user's list shows it.
public struct DeviceView: Hashable, Sendable {
    public let id: DeviceID
    public let token: String?
    public let viewing: ConversationID?
}

/// A registered device with the data that a sender of push notifications needs.
public struct RegisteredDevice: Hashable, Sendable {
    public let user: UserID
    public let id: DeviceID
    public let token: String
    /// The time at which the device was registered with this token.
    public let registered: HybridTimestamp
}

extension Profile {
    /// Returns the name that the user has given; nil if the profile contains no name.
    public func nameView(of user: UserID) -> NameView? {
        name.map { NameView(user: user, name: $0) }
    }
}

extension Device {
    /// - Parameter milliseconds: the wall time for which the view is made, in milliseconds.
    public func view(as id: DeviceID, at milliseconds: UInt64) -> DeviceView {
        let now = HybridTimestamp(milliseconds: milliseconds)
        return DeviceView(id: id, token: token, viewing: viewed(at: now))
    }

    /// Returns a user's device with the data for pushing to the device; nil for a removed device.
    public func registered(as id: DeviceID, of user: UserID) -> RegisteredDevice? {
        tokenField.map {
            RegisteredDevice(
                user: user, id: id, token: $0.value.text, registered: $0.stamp.time)
        }
    }
}

extension DatedProfile: WireValue {
    public func encode(into writer: inout ByteWriter) {
        view.encode(into: &writer)
        at.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        view = try ProfileView(from: &reader)
        at = try HybridTimestamp(from: &reader)
    }
}

extension NameView: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(user)
        writer.write(name)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.readName()
        name = try reader.readText(limit: ChatLimits.titleBytesMax)
    }
}

extension DeviceView: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(id)
        writer.write(token)
        viewing.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.readName()
        token = try reader.readOptionalText(limit: ChatLimits.titleBytesMax)
        viewing = try Optional(from: &reader)
    }
}
