import CRDT
import Wire

/// The form in which a mutation is sent to the node that accepts it, with the bounds of a line.
extension Mutation: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(partition)
        writer.write(user)
        writer.write(action.code.kind)
        key.encodeNames(into: &writer)
        if let number = action.code.number { writer.write(number) }
        action.encodeRest(into: &writer)
    }

    public convenience init(from reader: inout ByteReader) throws(WireError) {
        // The kind of the action determines what the partition's name stands for.
        let partition: UserID = try reader.readName()
        let user: UserID = try reader.readName()
        let kind = try reader.readByte()
        guard let entry = ActionTable.standard[kind] else { throw .unknown }
        let key = try DocumentKey(
            namesOf: entry.document, in: partition.text, of: user, from: &reader)
        let action = try entry.readAction(kind: kind, from: &reader)
        guard key.kind != .signing || key.partition == DocumentKey.signingPartition else {
            throw .invalid("a subject of the action")
        }
        guard !key.kind.isOfUser || key.partition == user.text else {
            throw .invalid("what is the user's own")
        }
        self.init(action, at: key, by: user)
        guard key.kind == .conversation, let creation = action as? CreateConversation else {
            return
        }
        guard creation.participants.contains(user) else {
            throw .invalid("a creator among the users")
        }
    }
}

extension DocumentKey {
    /// Writes the names that the partition and the user do not determine.
    func encodeNames(into writer: inout ByteWriter) {
        switch kind {
        case .message, .device, .file: writer.write(id)
        case .filePart:
            guard let (file, part) = partOfFile else { preconditionFailure("the key of a part") }
            writer.write(file)
            writer.write(part)
        default: break
        }
    }

    /// Reads these names.
    init(
        namesOf kind: Kind, in partition: String, of user: UserID, from reader: inout ByteReader
    ) throws(WireError) {
        let id =
            switch kind {
            case .message, .device: try reader.readName(MessageID.self).text
            case .participantState, .item: user.text
            case .file: try DocumentKey.readFile(from: &reader)
            case .filePart: try DocumentKey.readPart(from: &reader)
            default: ""
            }
        self.init(checked: kind, partition: partition, id: id)
    }

    private static func readFile(from reader: inout ByteReader) throws(WireError) -> String {
        let file: FileID = try reader.readName()
        guard file.text.utf8.count <= DocumentKey.fileNameBytesMax else {
            throw .invalid("the name of a file")
        }
        return file.text
    }

    private static func readPart(from reader: inout ByteReader) throws(WireError) -> String {
        let file = try readFile(from: &reader)
        let part: PartID = try reader.readName()
        guard FilePart.isName(part) else { throw .invalid("a part of a file") }
        return "\(file).\(part)"
    }
}
