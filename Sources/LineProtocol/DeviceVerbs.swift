import Chat
import Wire

/// The verbs of a user's devices and their notifications.
extension Verb {
    static let devices: [Verb] = [
        Verb(
            "DEVICE ADD", .writes, ["<user>", "<device>"], options: [.token],
            example: "DEVICE ADD bob phone token=t1",
            about: "Adds a device of a user's, or replaces its token."
        ) { words throws(LineError) in
            let (user, device) = try words.userAndDevice()
            let token = FieldText(try words.field(.token) ?? "")
            return .write(Mutation(.add(token), on: device, by: user))
        },
        Verb(
            "DEVICE REMOVE", .writes, ["<user>", "<device>"], options: [.presentToken],
            example: "DEVICE REMOVE bob phone",
            about: "Removes a device, with token= only while it has that; its next life is empty."
        ) { words throws(LineError) in
            let (user, device) = try words.userAndDevice()
            let token = try words.field(.presentToken).map(FieldText.init)
            let action = token.map { Device.Action.removeToken($0) } ?? .remove
            return .write(Mutation(action, on: device, by: user))
        },
        Verb(
            "DEVICES", .reads, ["<user>"], example: "DEVICES bob",
            about: "Lists a user's devices by id."
        ) {
            words throws(LineError) in
            let user = try words.name(0, as: UserID.self)
            return .read(.devices(of: user), of: user)
        },
        Verb(
            "VIEWING", .writes, ["<user>", "<device>"], optional: ["<conversation>"],
            example: "VIEWING bob phone old",
            about: "Tells which conversation a device shows, or that it shows none."
        ) { words throws(LineError) in
            let (user, device) = try words.userAndDevice()
            return .write(Mutation(.view(try words.optionalName(2)), on: device, by: user))
        },
        Verb(
            "NOTIFICATIONS", .reads, ["<user>", "<device>"],
            example: "NOTIFICATIONS bob phone",
            about: "Lists what a device is to be notified of, the oldest first."
        ) { words throws(LineError) in
            let (user, device) = try words.userAndDevice()
            return .notifications(device, of: user)
        },
        Verb(
            "NOTIFIED", .writes, ["<user>", "<device>", "<id>"], options: [.only, .pushed],
            example: "NOTIFIED bob phone n1",
            about: "Takes a notification off a device's list, and without only=true all before it."
        ) { words throws(LineError) in
            let (user, device) = try words.userAndDevice()
            let id: NotificationID = try words.name(2)
            let isAlone = try words.choice(.only, of: Truth.self) == .yes
            if let kind = try words.choice(.pushed, of: PushedKind.self) {
                return .write(Mutation(.notePushed(id, as: kind), on: device, by: user))
            }
            let action: Device.Action = isAlone ? .acknowledgeAlone(id) : .acknowledge(id)
            return .write(Mutation(action, on: device, by: user))
        },
        Verb(
            "SUBSCRIBERS", .operates, ["<shard>"], example: "SUBSCRIBERS 0",
            about: "Lists the devices of users whose shard is held here, for who notifies them."
        ) { words throws(LineError) in .subscribers(try words.shard(0)) },
    ]
}

extension ParsedLine {
    func userAndDevice() throws(LineError) -> (UserID, DeviceID) { (try name(0), try name(1)) }
}
