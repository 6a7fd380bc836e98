import CRDT
import Wire

/// A whole document as nodes send it: its key and its canonical bytes, opaque to this module.
public struct EncodedDocument: Hashable, Sendable {
    public let key: [UInt8]
    public let bytes: [UInt8]
    /// Earlier changes of this document that were not sent separately because this version contains
    /// them; the document itself names only the last change of each replica id.
    public let superseded: Vector

    public init(key: [UInt8], bytes: [UInt8], superseded: Vector = Vector()) {
        self.key = key
        self.bytes = bytes
        self.superseded = superseded
    }

    /// The approximate size in a frame, in bytes.
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
