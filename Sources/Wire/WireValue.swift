/// A value with exactly one encoding, the same on every node.
public protocol WireValue {
    func encode(into writer: inout ByteWriter)

    /// - Throws: `WireError` for any bytes that `encode` does not write.
    init(from reader: inout ByteReader) throws(WireError)
}

extension WireValue {
    /// The encoded bytes of this value alone.
    public var encoded: [UInt8] {
        var writer = ByteWriter()
        encode(into: &writer)
        return writer.bytes
    }

    /// Decodes a value from bytes that contain nothing else.
    ///
    /// - Throws: `WireError`, also for bytes that are left over.
    public static func decode(_ bytes: some Collection<UInt8>) throws(WireError) -> Self {
        var reader = ByteReader(Array(bytes))
        let value = try Self(from: &reader)
        try reader.finish()
        return value
    }
}

extension WireValue where Self: Name {
    public func encode(into writer: inout ByteWriter) { writer.write(self) }

    public init(from reader: inout ByteReader) throws(WireError) { self = try reader.readName() }
}

extension ShardID: WireValue {
    public func encode(into writer: inout ByteWriter) { writer.write(self) }

    public init(from reader: inout ByteReader) throws(WireError) { self = try reader.readShard() }
}
