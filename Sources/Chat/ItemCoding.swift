import CRDT
import Wire

extension Item {
    private enum FieldNumber {
        static let header: UInt64 = 1
        static let handlings: UInt64 = 2
    }

    func write(to fields: inout some FieldSink & ~Copyable) {
        fields.set(FieldNumber.header, to: header)
        if !handlings.isEmpty { fields.set(FieldNumber.handlings, to: Handlings(list: handlings)) }
    }

    init(from fields: inout Fields) throws(WireError) {
        guard let header = fields.take(FieldNumber.header) else { throw .invalid("a header") }
        var handlings: [OwnerState] = []
        if let bytes = fields.take(FieldNumber.handlings) {
            handlings = try Handlings.decode(bytes).list
        }
        self.init(header: try Header.decode(header), handlings: handlings)
        guard isNormal else { throw .invalid("a deleted item without its title") }
    }
}

/// The wire form of the owners' states, ascending by owner.
private struct Handlings: WireValue {
    let list: [Item.OwnerState]

    init(list: [Item.OwnerState]) { self.list = list }

    func encode(into writer: inout ByteWriter) {
        writer.write(count: list.count)
        for handling in list { handling.encode(into: &writer) }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        var list: [Item.OwnerState] = []
        for _ in 0..<(try reader.readCount()) {
            let handling = try Item.OwnerState(from: &reader)
            guard list.last.map({ $0.owner < handling.owner }) ?? true else {
                throw .invalid("owners that ascend")
            }
            list.append(handling)
        }
        guard !list.isEmpty else { throw .invalid("what owners made of it") }
        self.list = list
    }
}

extension Item.Header: WireValue {
    public func encode(into writer: inout ByteWriter) {
        created.encode(into: &writer)
        writer.write(owner)
        writer.writeOptional(chat) { $0.write($1) }
        writer.writeOptional(message) { $0.write($1) }
        writer.writeOptional(due) { $1.encode(into: &$0) }
        writer.writeOptional(priority) { $1.encode(into: &$0) }
        title.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        created = try Stamp(from: &reader)
        owner = try reader.readName()
        chat = try reader.readFlag() ? try reader.readName() : nil
        message = try reader.readFlag() ? try reader.readName() : nil
        due = try reader.readFlag() ? try DueTime(from: &reader) : nil
        priority = try reader.readFlag() ? try ItemPriority(from: &reader) : nil
        title = try FieldText(from: &reader)
    }
}

extension Item.NewItem: WireValue {
    public func encode(into writer: inout ByteWriter) {
        title.encode(into: &writer)
        writer.writeOptional(due) { $1.encode(into: &$0) }
        writer.writeOptional(priority) { $1.encode(into: &$0) }
        writer.writeOptional(chat) { $0.write($1) }
        writer.writeOptional(message) { $0.write($1) }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        title = try FieldText(from: &reader)
        due = try reader.readFlag() ? try DueTime(from: &reader) : nil
        priority = try reader.readFlag() ? try ItemPriority(from: &reader) : nil
        chat = try reader.readFlag() ? try reader.readName() : nil
        message = try reader.readFlag() ? try reader.readName() : nil
    }
}

extension Item.Edit: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.writeOptional(title) { $1.encode(into: &$0) }
        writer.writeOptional(due) { $1.encode(into: &$0) }
        writer.writeOptional(priority) { $1.encode(into: &$0) }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        title = try reader.readFlag() ? try FieldText(from: &reader) : nil
        due = try reader.readFlag() ? try Clearable(from: &reader) : nil
        priority = try reader.readFlag() ? try Clearable(from: &reader) : nil
    }
}

extension DueTime: WireValue {
    /// Encodes the time so that the order of the bytes is the order of the times.
    public func encode(into writer: inout ByteWriter) {
        writer.write(fixed: UInt64(bitPattern: milliseconds) ^ (1 << 63))
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        let bits: UInt64 = try reader.readFixed()
        milliseconds = Int64(bitPattern: bits ^ (1 << 63))
    }
}

extension ItemPriority: WireValue {
    /// The priority's number on disk and on the wire.
    var number: UInt8 {
        switch self {
        case .low: 1
        case .medium: 2
        case .high: 3
        }
    }

    public func encode(into writer: inout ByteWriter) { writer.write(number) }

    public init(from reader: inout ByteReader) throws(WireError) {
        let number = try reader.readByte()
        guard let priority = ItemPriority.allCases.first(where: { $0.number == number }) else {
            throw .invalid("a priority")
        }
        self = priority
    }
}
