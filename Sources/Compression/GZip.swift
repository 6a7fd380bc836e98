import CZlib

/// The compressed form of bytes that browsers and `curl --compressed` read (RFC 1952).
public enum GZip {
    /// The time that is spent to find repetitions, as zlib numbers it.
    public enum Effort: Int32, Sendable {
        /// For answers: texts of JSON become a third to a tenth of their size.
        case least = 1
        /// For what is compressed once and sent often.
        case most = 9
    }

    /// The greatest window, and 16 for the form of gzip.
    private static let windowBits: Int32 = 15 + 16
    /// zlib's default.
    private static let memoryLevel: Int32 = 8

    /// Returns the compressed form of all pieces, one after the other; nil where the memory for it
    /// is missing.
    public static func compress(_ pieces: [[UInt8]], effort: Effort = .least) -> [UInt8]? {
        var stream = z_stream()
        let began = deflateInit2_(
            &stream, effort.rawValue, Z_DEFLATED, windowBits, memoryLevel, Z_DEFAULT_STRATEGY,
            ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard began == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        let size = pieces.reduce(0) { $0 + $1.count }
        let bound = Int(deflateBound(&stream, UInt(size)))
        var isWhole = true
        let compressed = [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
            stream.next_out = buffer.baseAddress
            stream.avail_out = UInt32(bound)
            for piece in pieces {
                isWhole = isWhole && append(piece, to: &stream, Z_NO_FLUSH) == Z_OK
            }
            isWhole = isWhole && append([], to: &stream, Z_FINISH) == Z_STREAM_END
            count = bound - Int(stream.avail_out)
        }
        return isWhole ? compressed : nil
    }

    private static func append(
        _ bytes: [UInt8], to stream: inout z_stream, _ flush: Int32
    ) -> Int32 {
        bytes.withUnsafeBufferPointer { buffer in
            // zlib only reads what its header declares without const.
            stream.next_in = UnsafeMutablePointer(mutating: buffer.baseAddress)
            stream.avail_in = UInt32(buffer.count)
            defer { stream.next_in = nil }
            return deflate(&stream, flush)
        }
    }
}
