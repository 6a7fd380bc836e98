import CRDT
import Wire

extension Item {
    private enum FieldNumber {
        static let header: UInt64 = 1
        static let handlings: UInt64 = 2
    }

    func write(to fields: inout some FieldSink & ~Copyable) {
        fields.set(FieldNumber.header, to: header)
        fields.set(FieldNumber.handlings, toList: handlings)
    }

    init(from fields: inout Fields) throws(WireError) {
        guard let header = fields.removeField(FieldNumber.header) else {
            throw .invalid("a header")
        }
        let handlings: [OwnerState] = try fields.take(
            FieldNumber.handlings, orEmpty: [], "owners' states")
        self.init(
            header: try Header.decode(header),
            handlings: try handlings.ascending("owners", by: \.owner))
        guard isNormal else { throw .invalid("a deleted item without its title") }
    }
}

extension Item.Header: WireValue {
    public func encode(into writer: inout ByteWriter) {
        created.encode(into: &writer)
        writer.write(owner)
        chat.encode(into: &writer)
        message.encode(into: &writer)
        due.encode(into: &writer)
        priority.encode(into: &writer)
        title.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        created = try Stamp(from: &reader)
        owner = try reader.readName()
        chat = try Optional(from: &reader)
        message = try Optional(from: &reader)
        due = try Optional(from: &reader)
        priority = try Optional(from: &reader)
        title = try FieldText(from: &reader)
    }
}

extension Item.NewItem: WireValue {
    public func encode(into writer: inout ByteWriter) {
        title.encode(into: &writer)
        due.encode(into: &writer)
        priority.encode(into: &writer)
        chat.encode(into: &writer)
        message.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        title = try FieldText(from: &reader)
        due = try Optional(from: &reader)
        priority = try Optional(from: &reader)
        chat = try Optional(from: &reader)
        message = try Optional(from: &reader)
    }
}

extension Item.Edit: WireValue {
    public func encode(into writer: inout ByteWriter) {
        title.encode(into: &writer)
        due.encode(into: &writer)
        priority.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        title = try Optional(from: &reader)
        due = try Optional(from: &reader)
        priority = try Optional(from: &reader)
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

extension ItemPriority: NumberedChoice {
    public static var noun: String { "a priority" }

    public var number: UInt8 {
        switch self {
        case .low: 1
        case .medium: 2
        case .high: 3
        }
    }
}
