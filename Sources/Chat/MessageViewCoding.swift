import CRDT
import Wire

/// The form in which a view is sent from the node that made it to the node that requested it.
extension MessageView: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(id)
        writer.write(from)
        sentAt.encode(into: &writer)
        writer.write(type.number)
        writer.write(text)
        writer.writeOptional(item) { $0.write($1) }
        writer.writeOptional(editedAt) { $1.encode(into: &$0) }
        writer.writeOptional(pinnedBy) { $0.write($1) }
        writer.writeOptional(pinnedAt) { $1.encode(into: &$0) }
        writer.write(isDeletedForEveryone)
        for users in [deletedBy, deliveredTo, readBy] { writer.write(users: users) }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.readName()
        from = try reader.readName()
        sentAt = try HybridTimestamp(from: &reader)
        type = try MessageType(number: reader.readByte())
        text = try reader.readText(limit: ChatLimits.textBytesMax)
        item = try reader.readFlag() ? try reader.readName() : nil
        editedAt = try reader.readFlag() ? try HybridTimestamp(from: &reader) : nil
        pinnedBy = try reader.readFlag() ? try reader.readName() : nil
        pinnedAt = try reader.readFlag() ? try HybridTimestamp(from: &reader) : nil
        isDeletedForEveryone = try reader.readFlag()
        deletedBy = try reader.readUsers()
        deliveredTo = try reader.readUsers()
        readBy = try reader.readUsers()
    }
}

extension MessageType: WireValue {
    public func encode(into writer: inout ByteWriter) { writer.write(number) }

    public init(from reader: inout ByteReader) throws(WireError) {
        try self.init(number: reader.readByte())
    }
}

extension Refusal: WireValue {
    public func encode(into writer: inout ByteWriter) { writer.write(rawValue) }

    public init(from reader: inout ByteReader) throws(WireError) {
        guard let refusal = Refusal(rawValue: try reader.readByte()) else {
            throw .invalid("a refusal")
        }
        self = refusal
    }
}

extension ByteWriter {
    /// Writes a flag, then the value where there is one.
    public mutating func writeOptional<Value>(
        _ value: Value?, _ body: (inout ByteWriter, Value) -> Void
    ) {
        write(value != nil)
        if let value { body(&self, value) }
    }

    /// Writes a set of users, ascending.
    public mutating func write(users: [UserID]) {
        write(count: users.count)
        for user in users { write(user) }
    }
}

extension ByteReader {
    /// Reads a set of users, ascending.
    ///
    /// Only the bytes limit the count: the users who ever deleted a message may outnumber the
    /// participants of its conversation.
    public mutating func readUsers() throws(WireError) -> [UserID] {
        var users: [UserID] = []
        for _ in 0..<(try readCount()) {
            let user: UserID = try readName()
            guard users.last.map({ $0 < user }) ?? true else { throw .invalid("users that ascend") }
            users.append(user)
        }
        return users
    }
}
