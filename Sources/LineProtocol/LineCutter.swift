/// The splitter of one connection's bytes into lines.
///
/// A line that lies completely in the bytes that were read is passed on in place; only the
/// beginning of an incomplete line is copied, so an idle connection holds no buffer.
public struct LineCutter: Sendable {
    /// A line, or the error in its place.
    public enum LineEvent {
        /// A line without its end; the bytes are valid during the call only.
        case line(UnsafeRawBufferPointer)
        /// A line beyond `LineLimits.lineBytesMax`, reported once; its bytes are skipped.
        case tooLong
        /// The input ended within a line.
        case notEnded
    }

    /// The beginning of a line: at most `lineBytesMax` bytes and a CR that may belong to its end.
    private var tail: [UInt8] = []
    /// Whether the current line was refused already; `tail` is then empty.
    private var isSkipping = false

    public init() {}

    /// The number of bytes kept of an incomplete line.
    public var keptCount: Int { tail.count }

    /// Splits the bytes that were read and passes each line or error to `visit`, in order.
    public mutating func feed(_ bytes: UnsafeRawBufferPointer, _ visit: (LineEvent) -> Void) {
        _ = feed(bytes, while: { true }, visit)
    }

    /// Splits the bytes for as long as `goesOn` returns true.
    ///
    /// - Returns: the number of bytes that were used; the others are to be fed again.
    public mutating func feed(
        _ bytes: UnsafeRawBufferPointer, while goesOn: () -> Bool, _ visit: (LineEvent) -> Void
    ) -> Int {
        var start = 0
        while start < bytes.count {
            guard goesOn() else { return start }
            let end = firstIndex(of: UInt8(ascii: "\n"), in: bytes, from: start)
            let piece = UnsafeRawBufferPointer(rebasing: bytes[start..<(end ?? bytes.count)])
            guard let end else {
                keep(piece, visit)
                return bytes.count
            }
            close(piece, visit)
            start = end + 1
        }
        return start
    }

    /// Drops the current line; the rest of it is skipped.
    public mutating func skip() {
        tail = []
        isSkipping = true
    }

    /// Ends the input; returns `.notEnded` where an incomplete line is left that is not blank.
    public mutating func finish() -> LineEvent? {
        let rest = tail.last == UInt8(ascii: "\r") ? tail.dropLast() : tail[...]
        let isBlank = rest.allSatisfy { $0 == UInt8(ascii: " ") }
        tail = []
        isSkipping = false
        return isBlank ? nil : .notEnded
    }

    private mutating func close(_ piece: UnsafeRawBufferPointer, _ visit: (LineEvent) -> Void) {
        if isSkipping {
            isSkipping = false
        } else if tail.isEmpty {
            visit(Self.cut(piece))
        } else if tail.count + piece.count > LineLimits.lineBytesMax + 1 {
            tail = []
            visit(.tooLong)
        } else {
            tail.append(contentsOf: piece)
            tail.withUnsafeBytes { visit(Self.cut($0)) }
            tail = []
        }
    }

    private mutating func keep(_ piece: UnsafeRawBufferPointer, _ visit: (LineEvent) -> Void) {
        guard !isSkipping else { return }
        let count = tail.count + piece.count
        let excess = count - LineLimits.lineBytesMax
        guard excess <= 0 || (excess == 1 && piece.last == UInt8(ascii: "\r")) else {
            tail = []
            isSkipping = true
            return visit(.tooLong)
        }
        tail.append(contentsOf: piece)
    }

    /// Returns the line without a CR at its end, or `.tooLong`.
    private static func cut(_ piece: UnsafeRawBufferPointer) -> LineEvent {
        let endsInReturn = piece.last == UInt8(ascii: "\r")
        let line = endsInReturn ? UnsafeRawBufferPointer(rebasing: piece.dropLast()) : piece
        return line.count > LineLimits.lineBytesMax ? .tooLong : .line(line)
    }
}

/// Returns the index of the first `byte` at or after `start`; reads eight bytes at a time.
func firstIndex(of byte: UInt8, in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
    let pattern = repeated(byte)
    var index = start
    while index + 8 <= bytes.count {
        let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        let zeros = zeros(in: UInt64(littleEndian: word) ^ pattern)
        if zeros != 0 { return index + zeros.trailingZeroBitCount / 8 }
        index += 8
    }
    while index < bytes.count {
        if bytes[index] == byte { return index }
        index += 1
    }
    return nil
}

/// Returns a word of eight times this byte.
@inline(__always)
func repeated(_ byte: UInt8) -> UInt64 { 0x0101_0101_0101_0101 &* UInt64(byte) }

/// Returns a word that is 0 if none of the eight bytes is zero; otherwise its lowest set bit is the
/// high bit of the first zero byte.
@inline(__always)
func zeros(in word: UInt64) -> UInt64 { (word &- repeated(1)) & ~word & repeated(0x80) }
