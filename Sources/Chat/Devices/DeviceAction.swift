import CRDT
import Wire

extension Device {
    /// A user's change of one of their devices, or the node's on their behalf.
    public enum Action: Hashable, Sendable {
        /// Adds the device, or replaces its token.
        case add(FieldText)
        /// Adds the device, or replaces its token, for a sign-in or for none.
        case register(FieldText, DeviceRegistration)
        case remove
        /// Removes the device if it belongs to this sign-in still; nil stands for any sign-in.
        case removeSignedOut(SignInID?)
        /// Removes the device if this is its token still.
        case removeToken(FieldText)
        /// Sets the conversation that the device shows, or none, until the next such action.
        case view(ConversationID?)
        /// Sets the conversation that the device shows, for ten minutes or until the next such
        /// action.
        case viewLeased(ConversationID)
        /// Ends such a viewing, unless it began after a time.
        case endView(upTo: HybridTimestamp)
        /// Lists notifications as shown, in the life that began with the removal `life`; they were
        /// found where the addition at the time `since` was known.
        case list([ListedNotification], life: Stamp?, since: HybridTimestamp)
        /// Acknowledges this notification and all that are listed before it.
        case acknowledge(NotificationID)
        /// Acknowledges this notification, and none that is listed less than a day before it.
        case acknowledgeAlone(NotificationID)
        /// Records that this notification was pushed; it stays listed.
        case notePushed(NotificationID, as: PushedKind)

        /// Lists notifications that were found by a state of the device.
        public static func list(
            _ entries: [ListedNotification], foundBy device: Device
        ) -> Device.Action {
            .list(entries, life: device.removed, since: device.added?.time ?? .zero)
        }
    }
}

extension Device.Action {
    /// Returns whether the action changes anything; throws where it is refused.
    ///
    /// A view of the conversation that the device shows already is written all the same: on the
    /// other side of a network partition an earlier action may have set another one, which would
    /// win.
    func judge(_ device: Device?) throws(Refusal) -> Bool {
        let registered = device.flatMap { $0.isRegistered ? $0 : nil }
        switch self {
        case .add(let token):
            return registered.map { !haveSameBytes($0.token, token.text) } ?? true
        case .register(let token, let registration):
            return registered.map {
                !haveSameBytes($0.token, token.text) || $0.registration != registration
            } ?? true
        case .removeSignedOut(let id):
            guard let device else { throw .deviceNotFound }
            return device.signIn.map { id == nil || $0.id == id } ?? false
        case .remove:
            guard device != nil else { throw .deviceNotFound }
            return registered != nil
        case .removeToken(let token):
            guard let device else { throw .deviceNotFound }
            return haveSameBytes(device.token, token.text)
        case .view, .viewLeased:
            guard registered != nil else { throw .deviceNotFound }
            return true
        case .endView(let time):
            guard let registered else { throw .deviceNotFound }
            return registered.viewings.last.map { $0.isLeased && $0.stamp.time <= time } ?? false
        case .list(let entries, let life, _):
            guard let registered else { throw .deviceNotFound }
            // Notifications found for an earlier life do not concern this one.
            return registered.removed == life && entries.contains { !registered.knows($0) }
        case .acknowledge(let id), .acknowledgeAlone(let id):
            guard let registered else { throw .deviceNotFound }
            return registered.listed.contains { $0.place.id == id }
        case .notePushed(let id, let kind):
            guard let registered else { throw .deviceNotFound }
            return registered.listed.contains {
                $0.place.id == id && $0.pushed.map { $0 < kind } ?? true
            }
        }
    }

    func applied(to content: Device?, _ author: Authorship) -> Device {
        precondition(content != nil || isAddition, "judge refuses what is not there")
        var device = content ?? Device()
        switch self {
        case .add(let token): device.add(token, at: author.stamp)
        case .register(let token, let registration):
            device.register(token, registration, at: author.stamp)
        case .remove, .removeToken, .removeSignedOut: device.remove(at: author.stamp)
        case .view(let conversation): device.view(conversation, at: author.stamp)
        case .viewLeased(let conversation):
            device.view(conversation, isLeased: true, at: author.stamp)
        case .endView: device.view(nil, at: author.stamp)
        case .list(let entries, _, let time): device.list(entries, since: time)
        case .acknowledge(let id): device.acknowledge(id, alone: false)
        case .acknowledgeAlone(let id): device.acknowledge(id, alone: true)
        case .notePushed(let id, let kind): device.notePushed(id, as: kind)
        }
        return device
    }
}

extension Device.Action {
    /// Whether a device is there afterwards that may not have been before.
    public var isAddition: Bool {
        switch self {
        case .add, .register: true
        case .remove, .removeToken, .removeSignedOut, .view, .viewLeased, .endView, .list,
            .acknowledge, .acknowledgeAlone, .notePushed:
            false
        }
    }
}

extension Device.Action: DocumentAction {
    /// A removal overwrites all values.
    public func stampsOverwritten(in content: Device) -> [Stamp?]? {
        switch self {
        case .add, .register: [content.removed, content.tokenField?.stamp]
        case .remove, .removeToken, .removeSignedOut:
            [
                content.removed, content.added, content.tokenField?.stamp,
                content.viewings.last?.stamp,
            ]
        case .view, .viewLeased, .endView: [content.removed] + content.viewings.map(\.stamp)
        case .list, .acknowledge, .acknowledgeAlone, .notePushed: []
        }
    }

    public func isRecorded(over content: Device, after time: HybridTimestamp) -> Bool {
        switch self {
        case .add, .register, .remove, .removeToken, .removeSignedOut, .view,
            .viewLeased, .endView:
            overwritesOnlyEarly(in: content, time)
        case .list, .acknowledge, .acknowledgeAlone, .notePushed: false
        }
    }

    public func nameBytes(by user: UserID) -> Int {
        switch self {
        case .add, .removeToken: ChatLimits.titleBytesMax
        case .register: ChatLimits.titleBytesMax + 2 * nameBytesMax
        case .list(let entries, _, _): entries.count * ListedNotification.bytesMax
        case .remove, .removeSignedOut, .view, .viewLeased, .endView, .acknowledge,
            .acknowledgeAlone, .notePushed:
            nameBytesMax
        }
    }

    public var growth: ActionGrowth {
        switch self {
        case .add, .register, .view, .viewLeased, .list: .adds
        case .endView, .acknowledge, .acknowledgeAlone, .notePushed: .settles
        case .remove, .removeToken, .removeSignedOut: .empties
        }
    }

    public var roughBytes: Int {
        guard case .list(let entries, _, _) = self else { return 0 }
        return entries.count * ChatLimits.entryBytesAround
    }

    /// The device follows the kind, then the number of the action.
    static let kind: UInt8 = 30

    public var kind: UInt8 { Device.Action.kind }

    public func encodeRest(into writer: inout ByteWriter) { encode(into: &writer) }

    init?(kind: UInt8, from reader: inout ByteReader) throws(WireError) {
        guard kind == Device.Action.kind else { return nil }
        try self.init(from: &reader)
    }
}

extension Device.Action: WireValue {
    public func encode(into writer: inout ByteWriter) {
        switch self {
        case .add(let token):
            writer.write(1)
            token.encode(into: &writer)
        case .remove: writer.write(2)
        case .view(let conversation):
            writer.write(3)
            conversation.encode(into: &writer)
        case .acknowledge(let id):
            writer.write(5)
            writer.write(id)
        case .list(let entries, let life, let time):
            // 4 was a list without a time.
            writer.write(6)
            entries.encode(into: &writer)
            life.encode(into: &writer)
            time.encode(into: &writer)
        case .acknowledgeAlone(let id):
            writer.write(7)
            writer.write(id)
        case .removeToken(let token):
            writer.write(8)
            token.encode(into: &writer)
        case .notePushed(let id, let kind):
            writer.write(9)
            writer.write(id)
            kind.encode(into: &writer)
        case .register(let token, let registration):
            writer.write(10)
            token.encode(into: &writer)
            registration.encode(into: &writer)
        case .viewLeased(let conversation):
            writer.write(12)
            writer.write(conversation)
        case .endView(let time):
            writer.write(13)
            time.encode(into: &writer)
        case .removeSignedOut(let id):
            writer.write(11)
            id.encode(into: &writer)
        }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        switch try reader.readByte() {
        case 1: self = .add(try FieldText(from: &reader))
        case 2: self = .remove
        case 3: self = .view(try Optional(from: &reader))
        case 5: self = .acknowledge(try reader.readName())
        case 6:
            self = .list(
                try reader.readList(limit: ListedNotification.countMax),
                life: try Optional(from: &reader), since: try HybridTimestamp(from: &reader))
        case 7: self = .acknowledgeAlone(try reader.readName())
        case 8: self = .removeToken(try FieldText(from: &reader))
        case 9:
            self = .notePushed(try reader.readName(), as: try PushedKind(from: &reader))
        case 10:
            self = .register(
                try FieldText(from: &reader), try DeviceRegistration(from: &reader))
        case 11: self = .removeSignedOut(try Optional(from: &reader))
        case 12: self = .viewLeased(try reader.readName())
        case 13: self = .endView(upTo: try HybridTimestamp(from: &reader))
        default: throw .unknown
        }
    }
}
