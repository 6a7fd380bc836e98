import Wire

/// A receiver of a document's fields, which arrive in ascending order of their numbers.
protocol FieldSink: ~Copyable {
    mutating func set(_ number: UInt64, _ body: (inout ByteWriter) -> Void)
}

extension FieldSink where Self: ~Copyable {
    mutating func set(_ number: UInt64, to value: some WireValue) {
        set(number) { value.encode(into: &$0) }
    }

    /// Sets the field where there is a value.
    mutating func set(_ number: UInt64, to value: (some WireValue)?) {
        if let value { set(number) { value.encode(into: &$0) } }
    }

    /// Sets the field where the list has elements.
    mutating func set(_ number: UInt64, toList list: [some WireValue]) {
        if !list.isEmpty { set(number) { list.encode(into: &$0) } }
    }
}

/// A writer of fields as bytes, in the same form as `Fields`.
struct FieldWriter: FieldSink, ~Copyable {
    private var writer: ByteWriter
    private let start: Int
    private var count: UInt8 = 0

    init(appendingTo writer: consuming ByteWriter) {
        start = writer.count
        self.writer = writer
        self.writer.write(0 as UInt8)
    }

    mutating func set(_ number: UInt64, _ body: (inout ByteWriter) -> Void) {
        writer.write(varint: number)
        writer.writeCounted(body)
        count += 1
        precondition(count < 0x80, "a version knows few fields: their count is one byte")
        writer.replace(at: start, with: count)
    }

    consuming func finish() -> ByteWriter { writer }
}

/// The content of a document on disk and on the wire: values by field number, ascending.
///
/// A field whose number this version does not know is kept, sent on and digested. Of two values of
/// it, the merge keeps the greater in byte order. A later version therefore begins a new field with
/// its stamp in big-endian form, which makes it a last-writer-wins register; a field that needs a
/// richer merge raises the document's version instead.
public struct Fields: FieldSink, Hashable, Sendable {
    struct Field: Hashable, Sendable {
        let number: UInt64
        var bytes: [UInt8]
    }

    /// Ascending by number.
    private(set) var fields: [Field]

    init() { fields = [] }

    var isEmpty: Bool { fields.isEmpty }

    /// Removes a field that this version knows and returns its bytes; nil where it is absent.
    mutating func removeField(_ number: UInt64) -> [UInt8]? {
        guard let index = fields.firstIndex(where: { $0.number == number }) else { return nil }
        return fields.remove(at: index).bytes
    }

    /// Removes a field and decodes it; nil where it is absent.
    mutating func take<Value: WireValue>(_ number: UInt64) throws(WireError) -> Value? {
        guard let bytes = removeField(number) else { return nil }
        return try Value.decode(bytes)
    }

    /// Removes a field and decodes it; the empty value, which has no field, where it is absent.
    ///
    /// - Parameter name: what the value holds, for the error.
    /// - Throws: `WireError.invalid` where the field holds the empty value.
    mutating func take<Value: WireValue & Equatable>(
        _ number: UInt64, orEmpty empty: Value, _ name: String
    ) throws(WireError) -> Value {
        guard let value: Value = try take(number) else { return empty }
        guard value != empty else { throw .invalid(name) }
        return value
    }

    mutating func set(_ number: UInt64, _ body: (inout ByteWriter) -> Void) {
        var writer = ByteWriter()
        body(&writer)
        set(number, toBytes: writer.bytes)
    }

    mutating func set(_ number: UInt64, toBytes bytes: [UInt8]) {
        let index = fields.firstIndex { $0.number >= number } ?? fields.endIndex
        if index < fields.endIndex, fields[index].number == number {
            fields[index].bytes = bytes
        } else {
            fields.insert(Field(number: number, bytes: bytes), at: index)
        }
    }

    mutating func merge(_ other: Fields) {
        for field in other.fields {
            let mine = fields.first { $0.number == field.number }
            if let mine, !mine.bytes.lexicographicallyPrecedes(field.bytes) { continue }
            set(field.number, toBytes: field.bytes)
        }
    }
}

extension Fields: WireValue {
    /// The most fields of a document; versions to come add a few each.
    static let countMax = 256

    public func encode(into writer: inout ByteWriter) {
        fields.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        fields = try reader.readList(limit: Fields.countMax).ascending("fields", by: \.number)
    }
}

extension Fields.Field: WireValue {
    func encode(into writer: inout ByteWriter) {
        writer.write(varint: number)
        writer.write(bytes)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        number = try reader.readVarint()
        bytes = Array(try reader.readBytes())
    }
}
