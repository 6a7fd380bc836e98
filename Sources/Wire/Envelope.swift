/// The framing of a payload on a connection between nodes.
///
/// Four bytes of length, eight bytes of XXH3-64 over the payload, then the payload.
public enum Envelope {
    /// The number of bytes before the payload.
    public static let headBytes = 12
    /// The greatest size of a payload with a document, in bytes: the largest document and its
    /// surroundings.
    public static let payloadBytesMax = 49 << 20
    /// The greatest size of any other payload, in bytes: 4 MiB and its surroundings.
    public static let plainBytesMax = (4 << 20) + 1_024
}

extension ByteWriter {
    /// Writes the bytes that `body` writes as a payload in an envelope.
    public mutating func writeEnvelope(_ body: (inout ByteWriter) -> Void) {
        let start = count
        write(fixed: UInt32(0))
        write(fixed: UInt64(0))
        body(&self)
        let payload = start + Envelope.headBytes
        let length = UInt32(count - payload)
        let sum = withUnsafeBytes { checksum(UnsafeRawBufferPointer(rebasing: $0[payload...])) }
        replace(at: start, with: length)
        replace(at: start + 4, with: sum)
    }
}

/// A parser that cuts a stream of bytes into the payloads of its envelopes.
public struct EnvelopeCutter: Sendable {
    /// The bytes that have not been cut yet; at most one envelope and one read.
    private var bytes: [UInt8] = []
    private var start = 0
    /// The greatest size of a payload that is accepted on this stream, in bytes.
    public var payloadBytesMax: Int

    public init(payloadBytesMax: Int = Envelope.payloadBytesMax) {
        self.payloadBytesMax = payloadBytesMax
    }

    /// The number of bytes that have not been cut yet.
    public var keptCount: Int { bytes.count - start }

    public mutating func append(_ more: UnsafeRawBufferPointer) {
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: bytes.capacity <= 1 << 16)
        } else if start > 0 {
            // The unfinished envelope moves to the front. Here nobody holds a payload, so that the
            // buffer need not be copied.
            bytes.removeSubrange(..<start)
        }
        start = 0
        bytes.append(contentsOf: more)
    }

    /// Returns the next whole payload; nil until more bytes have arrived.
    ///
    /// - Throws: `tooLong` or `checksum`; the rest of the stream cannot be trusted then.
    public mutating func next() throws(WireError) -> ArraySlice<UInt8>? {
        let available = bytes.count - start
        guard available >= Envelope.headBytes else { return nil }
        var head = ByteReader(bytes[start..<(start + Envelope.headBytes)])
        let length: UInt32 = try head.readFixed()
        let sum: UInt64 = try head.readFixed()
        guard length <= payloadBytesMax else {
            throw .tooLong(count: UInt64(length), limit: payloadBytesMax)
        }
        let end = start + Envelope.headBytes + Int(length)
        guard bytes.count >= end else { return nil }
        let payload = bytes[(start + Envelope.headBytes)..<end]
        start = end
        guard payload.withUnsafeBytes({ checksum($0) }) == sum else { throw .checksum }
        return payload
    }
}
