/// A flag, then the value where there is one.
extension Optional: WireValue where Wrapped: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.writeOptional(self) { $1.encode(into: &$0) }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        self = try reader.readFlag() ? try Wrapped(from: &reader) : nil
    }
}

extension ByteWriter {
    /// Writes a flag, then the value, as `body` writes it, where there is one.
    public mutating func writeOptional<Value>(
        _ value: Value?, _ body: (inout ByteWriter, Value) -> Void
    ) {
        write(value != nil)
        if let value { body(&self, value) }
    }

    /// Writes a flag, then the text where there is one.
    public mutating func write(_ text: String?) { writeOptional(text) { $0.write($1) } }
}

extension ByteReader {
    /// Reads a flag, then a text of at most `limit` bytes where there is one.
    public mutating func readOptionalText(limit: Int = .max) throws(WireError) -> String? {
        try readFlag() ? try readText(limit: limit) : nil
    }
}
