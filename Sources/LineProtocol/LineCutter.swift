/// The splitter of one connection's bytes into lines.
///
/// A line that is complete within the received bytes is passed on without a copy. Only the
/// beginning of an incomplete line is copied, so an idle connection needs no buffer.
public struct LineCutter: Sendable {
    /// A line, or the reason why a line cannot be read.
    public enum LineEvent {
        /// A line without its line end; the bytes are valid only during the call.
        case line(UnsafeRawBufferPointer)
        /// A line above `LineLimits.lineBytesMax` bytes, reported once; its other bytes are
        /// skipped.
        case tooLong
        /// The client closed its side of the connection before the last line ended.
        case notEnded
    }

    /// The beginning of an incomplete line: at most `lineBytesMax` bytes, and perhaps a CR.
    private var tail: [UInt8] = []
    /// Whether the current line was already refused; `tail` is then empty.
    private var isSkipping = false

    public init() {}

    /// The number of bytes stored of an incomplete line.
    public var keptCount: Int { tail.count }

    /// Splits the received bytes and passes each line or error to `visit`, in order.
    public mutating func feed(_ bytes: UnsafeRawBufferPointer, _ visit: (LineEvent) -> Void) {
        _ = feed(bytes, while: { true }, visit)
    }

    /// Splits the received bytes for as long as `goesOn` returns true.
    ///
    /// - Returns: the number of bytes that were consumed; the caller feeds the other bytes again.
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

    /// Drops the stored beginning of the current line and skips the line's other bytes.
    public mutating func skip() {
        tail = []
        isSkipping = true
    }

    /// Ends the input; returns `.notEnded` if an incomplete line is left that is not only spaces.
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

    /// Returns the line without a CR at its end, or `.tooLong` for a line above the limit.
    private static func cut(_ piece: UnsafeRawBufferPointer) -> LineEvent {
        let endsInReturn = piece.last == UInt8(ascii: "\r")
        let line = endsInReturn ? UnsafeRawBufferPointer(rebasing: piece.dropLast()) : piece
        return line.count > LineLimits.lineBytesMax ? .tooLong : .line(line)
    }
}

/// Returns the index of the first `byte` at or after `start`, comparing eight bytes at a time.
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

/// Returns a word whose eight bytes are all equal to `byte`.
@inline(__always)
func repeated(_ byte: UInt8) -> UInt64 { 0x0101_0101_0101_0101 &* UInt64(byte) }

/// Returns a word that is 0 if none of the eight bytes is zero; otherwise its lowest set bit is the
/// high bit of the first zero byte.
@inline(__always)
func zeros(in word: UInt64) -> UInt64 { (word &- repeated(1)) & ~word & repeated(0x80) }
