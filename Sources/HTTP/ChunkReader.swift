/// The parser of a chunked HTTP body (RFC 9112, section 7.1).
///
/// Chunk extensions and trailers are refused, since clients do not send them and parsers disagree
/// on them.
struct ChunkReader: Sendable {
    private enum State: Sendable {
        /// The line with a chunk's size: the number of digits that have arrived, and their value.
        case size(digits: Int, UInt64)
        /// The line feed after the size of a chunk.
        case sizeEnd(UInt64)
        /// The number of bytes of a chunk that have not arrived yet.
        case data(UInt64)
        /// The number of bytes of `\r\n` after a chunk, or after the last one, that have arrived.
        case dataEnd(Int, isLast: Bool)
        case end
    }

    private var state = State.size(digits: 0, 0)

    var isAtEnd: Bool {
        if case .end = state { true } else { false }
    }

    /// Returns the next bytes of the body, and removes the parsed bytes from `bytes`; nil if more
    /// bytes are needed, or if the body is complete.
    mutating func next(
        _ bytes: inout Slice<UnsafeRawBufferPointer>
    ) throws(HTTPError) -> Slice<UnsafeRawBufferPointer>? {
        while let byte = bytes.first {
            switch state {
            case .data(let rest):
                let part = bytes.prefix(Int(clamping: rest))
                bytes = bytes.dropFirst(part.count)
                let left = rest - UInt64(part.count)
                state = left > 0 ? .data(left) : .dataEnd(0, isLast: false)
                return part
            case .size(let digits, let size): state = try afterSize(digits, size, byte)
            case .sizeEnd(let size):
                guard byte == .lineFeed else { throw ChunkReader.badSize }
                state = size > 0 ? .data(size) : .dataEnd(0, isLast: true)
            case .dataEnd(let count, let isLast):
                guard byte == (count == 0 ? .carriageReturn : .lineFeed) else {
                    throw HTTPError(
                        .badRequest,
                        isLast
                            ? "Trailers are not supported"
                            : "A chunk has to have the size that it states")
                }
                state =
                    count == 0
                    ? .dataEnd(1, isLast: isLast)
                    : isLast ? .end : .size(digits: 0, 0)
            case .end: return nil
            }
            bytes = bytes.dropFirst()
        }
        return nil
    }

    private func afterSize(_ digits: Int, _ size: UInt64, _ byte: UInt8) throws(HTTPError) -> State
    {
        if byte == .carriageReturn, digits > 0 { return .sizeEnd(size) }
        guard let value = byte.hexadecimalValue, digits < HTTPLimits.chunkSizeDigitsMax else {
            throw ChunkReader.badSize
        }
        return .size(digits: digits + 1, size << 4 | UInt64(value))
    }

    private static let badSize = HTTPError(
        .badRequest,
        "A chunk begins with its size, 1 to \(HTTPLimits.chunkSizeDigitsMax) hexadecimal digits")
}
