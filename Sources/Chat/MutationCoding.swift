import CRDT
import Wire

/// The form in which a mutation is sent to the node that accepts it, with the bounds of a line.
extension Mutation: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(partition)
        writer.write(user)
        action.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        // The action determines the kind of the subject; every subject is a name.
        let name: UserID = try reader.readName()
        user = try reader.readName()
        action = try Action(from: &reader)
        subject = action.subject(checked: name.text)
        key = action.key(of: subject, by: user)
        if case .user = subject, name != user { throw .invalid("what is the user's own") }
        guard case .create(let participants, _) = action else { return }
        guard participants.contains(user) else { throw .invalid("a creator among the users") }
    }
}

extension Mutation.Action: WireValue {
    private enum Kind {
        static let create: UInt8 = 1
        static let send: UInt8 = 2
        static let edit: UInt8 = 3
        static let hide: UInt8 = 4
        static let retract: UInt8 = 5
        static let restore: UInt8 = 6
        static let pin: UInt8 = 7
        static let unpin: UInt8 = 8
        static let invite: UInt8 = 9
        static let leave: UInt8 = 10
        static let archive: UInt8 = 11
        static let unarchive: UInt8 = 12
        static let read: UInt8 = 13
        static let deliver: UInt8 = 14
        static let setProfile: UInt8 = 15
        static let addItem: UInt8 = 16
        static let editItem: UInt8 = 17
        static let finishItem: UInt8 = 18
        static let deleteItem: UInt8 = 19
        static let hideChat: UInt8 = 20
        static let seed: UInt8 = 21
        static let seedProfile: UInt8 = 22
        static let device: UInt8 = 30
    }

    public func encode(into writer: inout ByteWriter) {
        switch self {
        case .create(let participants, let title):
            writer.write(Kind.create)
            participants.encode(into: &writer)
            writer.write(title)
        case .send(let message, let type, let item, let text):
            writer.write(Kind.send)
            writer.write(message)
            writer.write(type.number)
            item.encode(into: &writer)
            writer.write(text)
        case .edit(let message, let text):
            writer.write(Kind.edit)
            writer.write(message)
            writer.write(text)
        case .hide(let message): write(Kind.hide, message, to: &writer)
        case .retract(let message): write(Kind.retract, message, to: &writer)
        case .restore(let message): write(Kind.restore, message, to: &writer)
        case .pin(let message): write(Kind.pin, message, to: &writer)
        case .unpin(let message): write(Kind.unpin, message, to: &writer)
        case .invite(let user): write(Kind.invite, user, to: &writer)
        case .leave: writer.write(Kind.leave)
        case .archive: writer.write(Kind.archive)
        case .unarchive: writer.write(Kind.unarchive)
        case .read(let message): write(Kind.read, optional: message, to: &writer)
        case .deliver(let message): write(Kind.deliver, optional: message, to: &writer)
        case .setProfile(let edit): write(Kind.setProfile, value: edit, to: &writer)
        case .addItem(let newItem): write(Kind.addItem, value: newItem, to: &writer)
        case .editItem(let edit): write(Kind.editItem, value: edit, to: &writer)
        case .finishItem(let isDone):
            writer.write(Kind.finishItem)
            writer.write(isDone)
        case .deleteItem: writer.write(Kind.deleteItem)
        case .hideChat: writer.write(Kind.hideChat)
        case .seed(let message, let text):
            write(Kind.seed, message, to: &writer)
            writer.write(text)
        case .seedProfile(let edit): write(Kind.seedProfile, value: edit, to: &writer)
        case .device(let device, let action):
            writer.write(Kind.device)
            writer.write(device)
            action.encode(into: &writer)
        }
    }

    private func write(_ kind: UInt8, value: some WireValue, to writer: inout ByteWriter) {
        writer.write(kind)
        value.encode(into: &writer)
    }

    private func write(_ kind: UInt8, _ name: some Name, to writer: inout ByteWriter) {
        writer.write(kind)
        writer.write(name)
    }

    private func write(_ kind: UInt8, optional name: MessageID?, to writer: inout ByteWriter) {
        writer.write(kind)
        name.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        switch try reader.readByte() {
        case Kind.create: self = try .creation(from: &reader)
        case Kind.send:
            self = .send(
                try reader.readName(), type: try MessageType(number: reader.readByte()),
                item: try Optional(from: &reader),
                text: try reader.readText(limit: ChatLimits.textBytesMax))
        case Kind.edit:
            self = .edit(
                try reader.readName(), text: try reader.readText(limit: ChatLimits.textBytesMax))
        case Kind.hide: self = .hide(try reader.readName())
        case Kind.retract: self = .retract(try reader.readName())
        case Kind.restore: self = .restore(try reader.readName())
        case Kind.pin: self = .pin(try reader.readName())
        case Kind.unpin: self = .unpin(try reader.readName())
        case Kind.invite: self = .invite(try reader.readName())
        case Kind.leave: self = .leave
        case Kind.archive: self = .archive
        case Kind.unarchive: self = .unarchive
        case Kind.read: self = .read(try Optional(from: &reader))
        case Kind.deliver: self = .deliver(try Optional(from: &reader))
        case Kind.setProfile: self = .setProfile(try Profile.Edit(from: &reader))
        case Kind.addItem: self = .addItem(try Item.NewItem(from: &reader))
        case Kind.editItem: self = .editItem(try Item.Edit(from: &reader))
        case Kind.finishItem: self = .finishItem(try reader.readFlag())
        case Kind.deleteItem: self = .deleteItem
        case Kind.hideChat: self = .hideChat
        case Kind.seed:
            self = .seed(
                try reader.readName(), text: try reader.readText(limit: ChatLimits.textBytesMax))
        case Kind.seedProfile: self = .seedProfile(try Profile.Edit(from: &reader))
        case Kind.device:
            self = .device(try reader.readName(), try DeviceAction(from: &reader))
        default: throw .unknown
        }
    }

    private static func creation(
        from reader: inout ByteReader
    ) throws(WireError) -> Mutation.Action {
        let participants = try reader.readUsers()
        guard participants.count <= ChatLimits.participantsMax else {
            throw .tooLong(
                count: UInt64(participants.count), limit: ChatLimits.participantsMax)
        }
        let title =
            try reader.readOptionalText(limit: ChatLimits.titleBytesMax)
        return .create(participants: participants, title: title)
    }
}
