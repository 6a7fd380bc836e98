import CRDT
import Wire

/// A change of a device.
public enum DeviceAction: Hashable, Sendable {
    /// Adds the device, or replaces its token.
    case add(FieldText)
    case remove
    /// Sets the conversation that the device shows, or none, until the next such action.
    case view(ConversationID?)
    /// Lists notifications as shown, in the life that began with the removal `life`.
    case list([ListedNotification], life: Stamp?)
    /// Acknowledges this notification and all that are listed before it.
    case acknowledge(NotificationID)
}

extension Mutation {
    public init(_ action: DeviceAction, on device: DeviceID, by user: UserID) {
        self.init(.device(device, action), of: .user(user), by: user)
    }

    /// The device that the mutation changes, if any.
    public var device: DeviceID? {
        guard case .device(let device, _) = action else { return nil }
        return device
    }

    func change(_ device: inout Device, by author: Authorship) {
        guard case .device(_, let action) = action else {
            preconditionFailure("its key is not a device's")
        }
        switch action {
        case .add(let token): device.add(token, at: author.stamp)
        case .remove: device.remove(at: author.stamp)
        case .view(let conversation): device.view(conversation, at: author.stamp)
        case .list(let entries, _): device.list(entries)
        case .acknowledge(let id): device.acknowledge(id)
        }
    }
}

extension DeviceAction {
    /// Returns whether the action changes anything; throws where it is refused.
    ///
    /// A view of the conversation that the device shows already is written all the same: on the
    /// other side of a network partition an earlier action may have set another one, which would
    /// win.
    func judge(_ device: Device?) throws(Refusal) -> Bool {
        if case .add(let token) = self {
            guard let device, device.isRegistered else { return true }
            return !haveSameBytes(device.token, token.text)
        }
        guard let device else { throw .deviceNotFound }
        if self == .remove { return device.isRegistered }
        guard device.isRegistered else { throw .deviceNotFound }
        switch self {
        case .view: return true
        case .list(let entries, let life):
            // Notifications found for an earlier life do not concern this one.
            return device.removed == life && entries.contains { !device.knows($0.dot) }
        case .acknowledge(let id): return device.listed.contains { $0.place.id == id }
        case .add, .remove: preconditionFailure("judged before")
        }
    }
}

extension Device {
    /// Whether the message that `dot` sent was listed, acknowledged or passed over.
    func knows(_ dot: Dot) -> Bool {
        acknowledged.contains(dot) || listed.contains { $0.dot == dot }
    }
}

extension DeviceAction: WireValue {
    public func encode(into writer: inout ByteWriter) {
        switch self {
        case .add(let token):
            writer.write(1)
            token.encode(into: &writer)
        case .remove: writer.write(2)
        case .view(let conversation):
            writer.write(3)
            conversation.encode(into: &writer)
        case .list(let entries, let life):
            writer.write(4)
            entries.encode(into: &writer)
            life.encode(into: &writer)
        case .acknowledge(let id):
            writer.write(5)
            writer.write(id)
        }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        switch try reader.readByte() {
        case 1: self = .add(try FieldText(from: &reader))
        case 2: self = .remove
        case 3: self = .view(try Optional(from: &reader))
        case 4:
            self = .list(
                try reader.readList(limit: ListedNotification.countMax),
                life: try Optional(from: &reader))
        case 5: self = .acknowledge(try reader.readName())
        default: throw .unknown
        }
    }
}
