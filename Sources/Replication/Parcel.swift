import Wire

/// A whole document as it travels: its key and its canonical bytes, neither looked into here.
public struct Parcel: Hashable, Sendable {
    public let key: [UInt8]
    public let bytes: [UInt8]

    public init(key: [UInt8], bytes: [UInt8]) {
        self.key = key
        self.bytes = bytes
    }

    /// Roughly what it takes in a frame.
    public var size: Int { key.count + bytes.count + 8 }
}

extension Parcel: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(key)
        writer.write(bytes)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        key = Array(try reader.readBytes(limit: 1 << 10))
        bytes = Array(try reader.readBytes(limit: Frame.bytesMax))
    }
}
