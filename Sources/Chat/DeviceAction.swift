import CRDT
import Wire

extension Device {
    /// A user's change of one of their devices, or the node's on their behalf.
    public enum Action: Hashable, Sendable {
        /// Adds the device, or replaces its token.
        case add(FieldText)
        case remove
        /// Removes the device if this is its token still.
        case removeToken(FieldText)
        /// Sets the conversation that the device shows, or none, until the next such action.
        case view(ConversationID?)
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
        case .remove:
            guard device != nil else { throw .deviceNotFound }
            return registered != nil
        case .removeToken(let token):
            guard let device else { throw .deviceNotFound }
            return haveSameBytes(device.token, token.text)
        case .view:
            guard registered != nil else { throw .deviceNotFound }
            return true
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
        guard var device = content else {
            guard case .add(let token) = self else {
                preconditionFailure("judge refuses what is not there")
            }
            return Device(token, at: author.stamp)
        }
        switch self {
        case .add(let token): device.add(token, at: author.stamp)
        case .remove, .removeToken: device.remove(at: author.stamp)
        case .view(let conversation): device.view(conversation, at: author.stamp)
        case .list(let entries, _, let time): device.list(entries, since: time)
        case .acknowledge(let id): device.acknowledge(id, alone: false)
        case .acknowledgeAlone(let id): device.acknowledge(id, alone: true)
        case .notePushed(let id, let kind): device.notePushed(id, as: kind)
        }
        return device
    }
}

extension Device.Action: DocumentAction {
    /// A removal overwrites all values.
    func stampsOverwritten(in content: Device) -> [Stamp?]? {
        switch self {
        case .add: [content.removed, content.tokenField?.stamp]
        case .remove, .removeToken:
            [
                content.removed, content.added, content.tokenField?.stamp,
                content.viewings.last?.stamp,
            ]
        case .view: [content.removed] + content.viewings.map(\.stamp)
        case .list, .acknowledge, .acknowledgeAlone, .notePushed: []
        }
    }

    func isRecorded(over content: Device, after time: HybridTimestamp) -> Bool {
        switch self {
        case .add, .remove, .removeToken, .view: overwritesOnlyEarly(in: content, time)
        case .list, .acknowledge, .acknowledgeAlone, .notePushed: false
        }
    }

    func nameBytes(by user: UserID) -> Int {
        switch self {
        case .add, .removeToken: ChatLimits.titleBytesMax
        case .list(let entries, _, _): entries.count * ListedNotification.bytesMax
        case .remove, .view, .acknowledge, .acknowledgeAlone, .notePushed: nameBytesMax
        }
    }

    var growth: ActionGrowth {
        switch self {
        case .add, .view, .list: .adds
        case .acknowledge, .acknowledgeAlone, .notePushed: .settles
        case .remove, .removeToken: .empties
        }
    }

    var roughBytes: Int {
        guard case .list(let entries, _, _) = self else { return 0 }
        return entries.count * ChatLimits.entryBytesAround
    }

    /// The device follows the kind, then the number of the action.
    static let kind: UInt8 = 30

    var kind: UInt8 { Device.Action.kind }

    func encodeRest(into writer: inout ByteWriter) { encode(into: &writer) }

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
        default: throw .unknown
        }
    }
}
