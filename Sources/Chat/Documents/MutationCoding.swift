import CRDT
import Wire

/// The form in which a mutation is sent to the node that accepts it, with the bounds of a line.
extension Mutation: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(partition)
        writer.write(user)
        action.encode(into: &writer)
    }

    public convenience init(from reader: inout ByteReader) throws(WireError) {
        // The action determines the kind of the subject; every subject is a name.
        let name: UserID = try reader.readName()
        let user: UserID = try reader.readName()
        let action = try Action(from: &reader)
        let subject = action.subject(checked: name.text)
        guard subject.partition == name.text else { throw .invalid("a subject of the action") }
        self.init(action, of: subject, by: user)
        if case .user = subject, name != user { throw .invalid("what is the user's own") }
        guard case .conversation(let action as CreateConversation) = action else { return }
        guard action.participants.contains(user) else {
            throw .invalid("a creator among the users")
        }
    }
}

extension Mutation.Action: WireValue {
    public func encode(into writer: inout ByteWriter) {
        switch self {
        case .conversation(let action): write(action, to: &writer)
        case .message(let message, let action): write(action, of: message, to: &writer)
        case .participant(let action): write(action, to: &writer)
        case .profile(let action): write(action, to: &writer)
        case .item(let action): write(action, to: &writer)
        case .device(let device, let action): write(action, of: device, to: &writer)
        case .credentials(let action): write(action, to: &writer)
        case .signing(let action): write(action, to: &writer)
        case .blocks(let action): write(action, to: &writer)
        case .file(let file, let action): write(action, of: file, to: &writer)
        case .part(let part, let file, let action):
            writer.write(action.kind)
            writer.write(file)
            writer.write(part)
            action.encodeRest(into: &writer)
        }
    }

    private func write(_ action: some DocumentAction, to writer: inout ByteWriter) {
        writer.write(action.kind)
        action.encodeRest(into: &writer)
    }

    private func write(
        _ action: some DocumentAction, of name: some Name, to writer: inout ByteWriter
    ) {
        writer.write(action.kind)
        writer.write(name)
        action.encodeRest(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        let kind = try reader.readByte()
        if Message.actionKinds.contains(kind) {
            self = try .ofMessage(kind: kind, from: &reader)
        } else if kind == Device.Action.kind {
            self = .device(try reader.readName(), try Device.Action(from: &reader))
        } else if kind == File.Action.kind {
            let file = try Self.readFile(from: &reader)
            guard let action = try File.Action(kind: kind, from: &reader) else { throw .unknown }
            self = .file(file, action)
        } else if kind == FilePart.Action.kind {
            let file = try Self.readFile(from: &reader)
            let part: PartID = try reader.readName()
            guard FilePart.isName(part), let action = try FilePart.Action(kind: kind, from: &reader)
            else { throw .invalid("a part of a file") }
            self = .part(part, of: file, action)
        } else if let action = try Credentials.Action(kind: kind, from: &reader) {
            self = .credentials(action)
        } else if let action = try Signing.Action(kind: kind, from: &reader) {
            self = .signing(action)
        } else if let action = try ParticipantState.action(kind: kind, from: &reader) {
            self = .participant(action)
        } else if let action = try Conversation.action(kind: kind, from: &reader) {
            self = .conversation(action)
        } else if let action = try Item.Action(kind: kind, from: &reader) {
            self = .item(action)
        } else if let action = try Profile.Action(kind: kind, from: &reader) {
            self = .profile(action)
        } else if let action = try Blocks.Action(kind: kind, from: &reader) {
            self = .blocks(action)
        } else {
            throw .unknown
        }
    }

    private static func readFile(from reader: inout ByteReader) throws(WireError) -> FileID {
        let file: FileID = try reader.readName()
        guard file.text.utf8.count <= DocumentKey.fileNameBytesMax else {
            throw .invalid("the name of a file")
        }
        return file
    }

    private static func ofMessage(
        kind: UInt8, from reader: inout ByteReader
    ) throws(WireError) -> Mutation.Action {
        let message: MessageID = try reader.readName()
        return .message(message, try Message.action(kind: kind, from: &reader))
    }
}
