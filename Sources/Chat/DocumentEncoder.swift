import Wire

/// Makes documents' canonical bytes and their digests, in one buffer that it keeps.
///
/// A digest is over a key and the bytes behind it: written once, both are there to be hashed.
public struct DocumentEncoder: Sendable {
    /// More memory than this is not kept, in bytes: each shard has an encoder, and most messages
    /// are short.
    private static let keptBytesMax = 4 << 10

    private var writer = ByteWriter()

    public init() {}

    /// - Returns: `encoded` of the document, and `Document.digest` of those bytes.
    public mutating func encode(_ document: Document) -> (bytes: [UInt8], digest: Hash128) {
        document.key.encode(into: &writer)
        let start = writer.count
        document.encode(into: &writer)
        let digest = Hash128(of: writer.bytes)
        let bytes = Array(writer.bytes[start...])
        if writer.count > Self.keptBytesMax { writer = ByteWriter() } else { writer.removeAll() }
        return (bytes, digest)
    }
}
