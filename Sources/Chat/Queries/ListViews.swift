import CRDT
import Wire

/// The name that a user goes by.
public struct NameView: Hashable, Sendable {
    public let user: UserID
    public let name: String
}

/// A profile, and since when it is as it is.
public struct DatedProfile: Hashable, Sendable {
    public let view: ProfileView
    public let at: HybridTimestamp

    public init(view: ProfileView, at: HybridTimestamp) {
        self.view = view
        self.at = at
    }
}

/// A device in its user's list.
public struct DeviceView: Hashable, Sendable {
    public let id: DeviceID
    public let token: String?
    public let viewing: ConversationID?
}

/// A device as whoever pushes to it knows it.
public struct RegisteredDevice: Hashable, Sendable {
    public let user: UserID
    public let id: DeviceID
    public let token: String
    /// When the device was registered with this token.
    public let registered: HybridTimestamp
}

extension Profile {
    /// Returns the name that the user goes by; nil if none was given.
    public func nameView(of user: UserID) -> NameView? {
        name.map { NameView(user: user, name: $0) }
    }
}

extension Device {
    /// - Parameter milliseconds: the wall time at which it is seen.
    public func view(as id: DeviceID, at milliseconds: UInt64) -> DeviceView {
        let now = HybridTimestamp(milliseconds: milliseconds)
        return DeviceView(id: id, token: token, viewing: viewed(at: now))
    }

    /// Returns the device of a user as whoever pushes to it knows it; nil where it is removed.
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
