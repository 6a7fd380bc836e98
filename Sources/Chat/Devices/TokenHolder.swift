import CRDT
import Wire

/// A device that is registered with a given push token; other devices may have the same token.
public struct TokenHolder: Hashable, Sendable {
    public let user: UserID
    public let device: DeviceID
    public let registered: Stamp

    public init(user: UserID, device: DeviceID, registered: Stamp) {
        self.user = user
        self.device = device
        self.registered = registered
    }
}

extension TokenHolder: Comparable {
    /// Orders holders by the stamp of their registration; pushes go only to the user of the
    /// greatest holder of a token.
    public static func < (left: TokenHolder, right: TokenHolder) -> Bool {
        (left.registered, left.user, left.device) < (right.registered, right.user, right.device)
    }
}

extension Device {
    /// Returns the holder for this device if it has the token; otherwise nil.
    public func holder(
        of token: String, as device: DeviceID, of user: UserID
    ) -> TokenHolder? {
        guard let tokenField, haveSameBytes(tokenField.value.text, token) else { return nil }
        return TokenHolder(user: user, device: device, registered: tokenField.stamp)
    }
}

extension TokenHolder: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(user)
        writer.write(device)
        registered.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.readName()
        device = try reader.readName()
        registered = try Stamp(from: &reader)
    }
}
