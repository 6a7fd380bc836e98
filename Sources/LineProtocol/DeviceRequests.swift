import Chat
import Wire

/// Requests that concern a user's devices.
extension Request {
    public struct DeviceAdd: Hashable, Sendable {
        public var user: UserID
        public var device: DeviceID
        /// Not empty.
        public var token: String

        public init(user: UserID, device: DeviceID, token: String) {
            self.user = user
            self.device = device
            self.token = token
        }
    }

    /// The arguments of a verb that takes only a device.
    public struct OfDevice: Hashable, Sendable {
        public var user: UserID
        public var device: DeviceID

        public init(user: UserID, device: DeviceID) {
            self.user = user
            self.device = device
        }
    }

    public struct Viewing: Hashable, Sendable {
        public var user: UserID
        public var device: DeviceID
        /// Nil where the device shows none.
        public var conversation: ConversationID?

        public init(user: UserID, device: DeviceID, conversation: ConversationID?) {
            self.user = user
            self.device = device
            self.conversation = conversation
        }
    }

    public struct Notified: Hashable, Sendable {
        public var user: UserID
        public var device: DeviceID
        public var notification: NotificationID

        public init(user: UserID, device: DeviceID, notification: NotificationID) {
            self.user = user
            self.device = device
            self.notification = notification
        }
    }
}

extension Request.DeviceAdd {
    init(_ words: borrowing ParsedLine) throws(LineError) {
        user = try words.name(0)
        device = try words.name(1)
        token = try words.field(.token) ?? ""
    }
}

extension Request.OfDevice {
    init(_ words: borrowing ParsedLine) throws(LineError) {
        user = try words.name(0)
        device = try words.name(1)
    }
}

extension Request.Viewing {
    init(_ words: borrowing ParsedLine) throws(LineError) {
        user = try words.name(0)
        device = try words.name(1)
        conversation = words.argumentCount > 2 ? try words.name(2) : nil
    }
}

extension Request.Notified {
    init(_ words: borrowing ParsedLine) throws(LineError) {
        user = try words.name(0)
        device = try words.name(1)
        notification = try words.name(2)
    }
}

extension Verb {
    static let devices: [Verb] = [
        Verb(
            "DEVICE ADD", ["<user>", "<device>"], options: [.token],
            about: "Adds a device of a user's, or replaces its token."
        ) { words throws(LineError) in .deviceAdd(try Request.DeviceAdd(words)) },
        Verb(
            "DEVICE REMOVE", ["<user>", "<device>"],
            about: "Removes a device; added again, it begins with nothing."
        ) { words throws(LineError) in .deviceRemove(try Request.OfDevice(words)) },
        Verb("DEVICES", ["<user>"], about: "Lists a user's devices by id.") {
            words throws(LineError) in .devices(try words.name(0))
        },
        Verb(
            "VIEWING", ["<user>", "<device>"], optional: ["<conversation>"],
            about: "Tells which conversation a device shows, or that it shows none."
        ) { words throws(LineError) in .viewing(try Request.Viewing(words)) },
        Verb(
            "NOTIFICATIONS", ["<user>", "<device>"],
            about: "Lists what a device is to be notified of, the oldest first."
        ) { words throws(LineError) in .notifications(try Request.OfDevice(words)) },
        Verb(
            "NOTIFIED", ["<user>", "<device>", "<id>"],
            about: "Takes a notification, and all listed before it, off a device's list."
        ) { words throws(LineError) in .notified(try Request.Notified(words)) },
    ]
}
