import CRDT
import Wire

/// A whole document as it travels: its key and its canonical bytes, neither looked into here.
public struct EncodedDocument: Hashable, Sendable {
    public let key: [UInt8]
    public let bytes: [UInt8]
    /// Changes of this document that no encoded document had of its own, since this one holds them,
    /// too: a document names the last change of a replica alone.
    public let superseded: Vector

    public init(key: [UInt8], bytes: [UInt8], superseded: Vector = Vector()) {
        self.key = key
        self.bytes = bytes
        self.superseded = superseded
    }

    /// Roughly what it takes in a frame.
    public var size: Int { key.count + bytes.count + 8 }
}

extension EncodedDocument: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(key)
        writer.write(bytes)
        superseded.encodeShared(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        key = Array(try reader.readBytes(limit: 1 << 10))
        bytes = Array(try reader.readBytes(limit: Frame.documentBytesMax))
        superseded = try Vector(sharedFrom: &reader)
    }
}
