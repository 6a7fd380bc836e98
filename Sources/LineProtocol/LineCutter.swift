/// Cuts the bytes of one connection into lines.
///
/// A line that lies whole in what was read is handed over where it lies; only the beginning of a
/// line whose end has not come is copied, so that an idle connection holds no buffer.
public struct LineCutter: Sendable {
    /// What stands between two line ends.
    public enum LineEvent {
        /// A line without its end; the bytes are valid during the call only.
        case line(UnsafeRawBufferPointer)
        /// A line beyond `LineLimits.lineBytesMax`, said once; its bytes are skipped.
        case tooLong
        /// The input ended within a line.
        case notEnded
    }

    /// The beginning of a line: at most `lineBytesMax` bytes and a CR that may belong to its end.
    private var tail: [UInt8] = []
    /// Whether the line at hand was refused already; then `tail` is empty.
    private var isSkipping = false

    public init() {}

    /// How many bytes are kept of a line whose end has not come.
    public var keptCount: Int { tail.count }

    /// Takes what was read and shows each cut, in order.
    public mutating func feed(_ bytes: UnsafeRawBufferPointer, _ visit: (LineEvent) -> Void) {
        _ = feed(bytes, while: { true }, visit)
    }

    /// The same for as long as more is wanted.
    ///
    /// - Returns: how many bytes were taken; the others are to be fed again.
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

    /// Gives up the line at hand, which is skipped to its end.
    public mutating func skip() {
        tail = []
        isSkipping = true
    }

    /// Takes the end of the input: `.notEnded` where it leaves a line that is not blank.
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

    /// The line without the CR before its end, unless that is too long.
    private static func cut(_ piece: UnsafeRawBufferPointer) -> LineEvent {
        let endsInReturn = piece.last == UInt8(ascii: "\r")
        let line = endsInReturn ? UnsafeRawBufferPointer(rebasing: piece.dropLast()) : piece
        return line.count > LineLimits.lineBytesMax ? .tooLong : .line(line)
    }
}

/// Where `byte` first stands at or after `start`: eight bytes a step.
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

/// The byte eight times.
@inline(__always)
func repeated(_ byte: UInt8) -> UInt64 { 0x0101_0101_0101_0101 &* UInt64(byte) }

/// Where any of the eight bytes is zero, that is not 0, and its lowest bit that is set is the high
/// bit of the first of them.
@inline(__always)
func zeros(in word: UInt64) -> UInt64 { (word &- repeated(1)) & ~word & repeated(0x80) }
