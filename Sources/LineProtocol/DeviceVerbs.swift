import CRDT
import Chat
import Wire

/// The verbs of a user's devices and their notifications.
extension Verb {
    static let devices: [Verb] = [
        Verb(
            "DEVICE ADD", .writes, ["<user>", "<device>"], options: [.token, .deviceSignIn],
            example: "DEVICE ADD bob phone token=t1",
            about: "Adds a device of a user's, or replaces its token; it ends with the sign-in.",
            endpoints: [
                HTTPEndpoint(.put, "devices/{device}", "registerDevice", in: .devices)
            ]
        ) { words throws(LineError) in
            let (user, device) = try words.userAndDevice()
            let token = FieldText(try words.field(.token) ?? "")
            let registration = DeviceRegistration(signIn: try words.deviceSignIn())
            return .write(Mutation(RegisterDevice(token, registration), on: device, by: user))
        },
        Verb(
            "DEVICE REMOVE", .writes, ["<user>", "<device>"],
            options: [.presentToken, .presentSignIn],
            example: "DEVICE REMOVE bob phone",
            about: "Removes a device, with token= or signin= only while it has that; its next life "
                + "is empty.",
            endpoints: [
                HTTPEndpoint(.delete, "devices/{device}", "removeDevice", in: .devices)
            ]
        ) { words throws(LineError) in
            let (user, device) = try words.userAndDevice()
            if let signIn = try words.presentSignIn() {
                return .write(Mutation(RemoveSignedOut(signIn), on: device, by: user))
            }
            let token = try words.field(.presentToken).map(FieldText.init)
            let action: any DeviceAction = token.map { RemoveToken($0) } ?? RemoveDevice()
            return .write(Mutation(action, on: device, by: user))
        },
        Verb(
            "DEVICE HOLDERS", .reads, options: [.token], example: "DEVICE HOLDERS token=t1",
            about: "Lists the devices that were registered with a token, the latest last."
        ) { words throws(LineError) in
            let token = FieldText(try words.field(.token) ?? "")
            return .read(HoldersQuery(ofToken: token), of: Mutation.cluster)
        },
        Verb(
            "DEVICES", .reads, ["<user>"], options: .ofLists, example: "DEVICES bob",
            about: "Lists a user's devices by id.",
            endpoints: [
                HTTPEndpoint(
                    .get, "devices", "listDevices", in: .devices,
                    .list("devices", View<DeviceView>.device, ["next"]))
            ]
        ) {
            words throws(LineError) in
            let user = try words.name(0, as: UserID.self)
            return .list(DevicesQuery(of: user), of: user, try words.page())
        },
        Verb(
            "VIEWING", .writes, ["<user>", "<device>"], optional: ["<conversation>"],
            options: [.lease, .upTo], example: "VIEWING bob phone old",
            about: "Tells which conversation a device shows, or that it shows none; with "
                + "lease=true for ten minutes.",
            endpoints: [
                // An app may stop without notice, so the conversation expires unless the app renews
                // it.
                HTTPEndpoint(
                    .put, "devices/{device}/viewing", "setViewing", in: .devices,
                    adding: .always(.lease, "true"))
            ]
        ) { words throws(LineError) in
            let (user, device) = try words.userAndDevice()
            return .write(Mutation(try words.viewing(), on: device, by: user))
        },
        Verb(
            "NOTIFICATIONS", .reads, ["<user>", "<device>"], options: .ofLists,
            example: "NOTIFICATIONS bob phone",
            about: "Lists what a device is to be notified of, the oldest first.",
            endpoints: [
                HTTPEndpoint(
                    .get, "devices/{device}/notifications", "listNotifications", in: .devices,
                    .list("notifications", View<NotificationView>.notification, ["next"]))
            ]
        ) { words throws(LineError) in
            let (user, device) = try words.userAndDevice()
            return .notifications(device, of: user, try words.page())
        },
        Verb(
            "NOTIFIED", .writes, ["<user>", "<device>", "<id>"], options: [.only, .pushed],
            example: "NOTIFIED bob phone n1",
            about: "Takes a notification off a device's list, and without only=true all before it.",
            endpoints: [
                HTTPEndpoint(
                    .delete, "devices/{device}/notifications/{id}", "deleteNotification",
                    in: .devices, hasOptions: false, adding: .unless("upTo", .only, "true"))
            ]
        ) { words throws(LineError) in
            let (user, device) = try words.userAndDevice()
            let id: NotificationID = try words.name(2)
            let isAlone = try words.choice(.only, of: Truth.self) == .yes
            if let kind = try words.choice(.pushed, of: PushedKind.self) {
                return .write(Mutation(NotePushed(id, as: kind), on: device, by: user))
            }
            let action: any DeviceAction = isAlone ? AcknowledgeAlone(id) : AcknowledgeThrough(id)
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

    /// Returns the action on a device that a `VIEWING` request specifies.
    func viewing() throws(LineError) -> any DeviceAction {
        let conversation: ConversationID? = try optionalName(2)
        let isLeased = try choice(.lease, of: Truth.self) == .yes
        guard let bound = try value(.upTo) else {
            guard isLeased, let conversation else { return ViewConversation(conversation) }
            return LeaseView(conversation)
        }
        guard conversation == nil, !isLeased, let time = UInt64(bound) else {
            throw refusedOption("upto= is a stamp, without a conversation")
        }
        return EndLeasedView(upTo: HybridTimestamp(bits: time))
    }

    /// Returns the sign-in that registers a device, written as `<address>,<signin>,<began>`.
    func deviceSignIn() throws(LineError) -> DeviceSignIn? {
        guard let value = try value(.deviceSignIn) else { return nil }
        let parts = value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let address = AddressID(parts[0]), let id = SignInID(parts[1]),
            let began = UInt64(parts[2])
        else { throw refusedOption("signin= is \(Option.deviceSignIn.placeholder)") }
        return DeviceSignIn(address: address, id: id, began: HybridTimestamp(bits: began))
    }

    /// Returns the sign-in that a device must belong to in order to be removed.
    ///
    /// The inner nil means any sign-in; the outer nil means that the device is removed in any case.
    func presentSignIn() throws(LineError) -> SignInID?? {
        guard let value = try value(.presentSignIn) else { return nil }
        guard value != "*" else { return .some(nil) }
        guard let id = SignInID(value) else {
            throw refusedOption("signin= is \(Option.presentSignIn.placeholder)")
        }
        return id
    }
}

extension Option {
    static let deviceSignIn = Option("signin", "<address>,<signin>,<began>", isOfNodes: true)
    static let lease = Option("lease", choices(of: Truth.self), isOfNodes: true)
    static let upTo = Option("upto", "<stamp>", isOfNodes: true)
    static let presentSignIn = Option("signin", "<signin>|*", isOfNodes: true)
}
