import CRDT
import Chat
import Wire

/// A writer of replies: data lines and status lines, appended to one buffer as UTF-8.
public struct ReplyWriter: Sendable {
    private var pairs: ReplyPairs

    public init(reserving capacity: Int = 0) {
        pairs = ReplyPairs()
        pairs.bytes.reserveCapacity(capacity)
    }

    public var bytes: [UInt8] { pairs.bytes }

    public var isEmpty: Bool { pairs.bytes.isEmpty }

    /// Whether the lines that follow show exact times.
    public var isExact: Bool {
        get { pairs.isExact }
        set { pairs.isExact = newValue }
    }

    public mutating func removeAll() { pairs.bytes.removeAll(keepingCapacity: true) }

    /// Returns the written bytes, and leaves the writer empty and without a buffer.
    public mutating func removeAll() -> [UInt8] {
        let bytes = pairs.bytes
        pairs.bytes = []
        return bytes
    }

    /// Writes a data line: a noun and `key=value` pairs.
    ///
    /// - Parameter noun: the first word of the line, in capitals; never `OK` or `ERR`, since
    ///   clients recognise the status line by these words.
    public mutating func line(_ noun: StaticString, _ body: (inout ReplyPairs) -> Void = { _ in }) {
        pairs.append(noun)
        body(&pairs)
        pairs.bytes.append(UInt8(ascii: "\n"))
    }

    /// Writes the status line of a success: `OK id=… at=…`.
    public mutating func ok(_ body: (inout ReplyPairs) -> Void = { _ in }) {
        line("OK", body)
    }

    /// Writes the status line with one word after `OK`: `OK pong`.
    public mutating func ok(word: StaticString) {
        line("OK") {
            $0.bytes.append(UInt8(ascii: " "))
            $0.append(word)
        }
    }

    /// Writes the `ERR` status line of a refusal or a failure.
    ///
    /// Control characters of the error's sentence are escaped, so no sentence breaks its line.
    public mutating func error(_ error: LineError) {
        pairs.append("ERR ")
        pairs.append(decimal: error.code)
        pairs.bytes.append(UInt8(ascii: " "))
        pairs.bytes.append(contentsOf: error.sentenceWithTime.printable.utf8)
        pairs.bytes.append(UInt8(ascii: "\n"))
    }

    /// Writes the lines of a `METRICS` reply, each with its LF, which are no data lines.
    public mutating func raw(_ lines: some Collection<UInt8>) {
        pairs.bytes.append(contentsOf: lines)
    }
}

/// The `key=value` pairs of one line, in the order in which they are written.
///
/// A missing value, an empty set and a flag that is false are left out.
public struct ReplyPairs: Sendable {
    var bytes: [UInt8] = []
    /// Whether times show the counter within the millisecond.
    public var isExact = false

    public mutating func pair(_ key: StaticString, _ value: String?) {
        guard let value else { return }
        begin(key)
        bytes.appendValue(value)
    }

    /// Writes a pair whose value is a name; names need no quotes.
    public mutating func pair(_ key: StaticString, name: String?) {
        guard let name else { return }
        begin(key)
        append(name)
    }

    public mutating func pair(_ key: StaticString, _ number: (some FixedWidthInteger)?) {
        guard let number else { return }
        begin(key)
        append(decimal: number)
    }

    /// Writes a number as 16 hexadecimal digits, whose order as text is the order of the numbers.
    public mutating func pair(_ key: StaticString, sequence number: UInt64?) {
        guard let number else { return }
        begin(key)
        append(hexadecimal: number)
    }

    /// - Parameter milliseconds: the time in milliseconds since 1970, UTC.
    public mutating func pair(_ key: StaticString, time milliseconds: Int64?) {
        guard let milliseconds else { return }
        begin(key)
        bytes.appendTime(milliseconds)
    }

    public mutating func pair(_ key: StaticString, moment: HybridTimestamp?) {
        guard let moment else { return }
        begin(key)
        if isExact { bytes.appendTime(moment) } else { bytes.appendTime(moment.lineTime) }
    }

    /// Writes a count and its total, as in `replicas=2/3`.
    public mutating func pair(_ key: StaticString, _ part: Int, of whole: Int) {
        pair(key, part)
        bytes.append(UInt8(ascii: "/"))
        append(decimal: whole)
    }

    /// Writes `key=true` for a true flag, and nothing for a false flag.
    public mutating func flag(_ key: StaticString, _ isTrue: Bool) {
        guard isTrue else { return }
        begin(key)
        append("true")
    }

    /// Writes names in the given order, with commas between them.
    public mutating func list(_ key: StaticString, _ names: some Sequence<some Name>) {
        var isFirst = true
        for name in names {
            if isFirst { begin(key) } else { bytes.append(UInt8(ascii: ",")) }
            append(name.text)
            isFirst = false
        }
    }

    /// Writes names in the given order, with commas between them.
    public mutating func list(_ key: StaticString, words: [String]) {
        guard !words.isEmpty else { return }
        begin(key)
        for (index, word) in words.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            append(word)
        }
    }

    private mutating func begin(_ key: StaticString) {
        bytes.append(UInt8(ascii: " "))
        append(key)
        bytes.append(UInt8(ascii: "="))
    }

    private mutating func append(_ name: String) {
        var name = name
        // The name is appended as one buffer, since a string's UTF-8 view is copied byte by byte.
        name.withUTF8 { bytes.append(contentsOf: $0) }
    }

    mutating func append(_ word: StaticString) {
        word.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    mutating func append(decimal number: some FixedWidthInteger) {
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        let start = bytes.count
        var rest = number.magnitude
        // Most numbers have one digit, which needs no loop.
        guard rest > 9 else { return bytes.append(UInt8(ascii: "0") + UInt8(rest)) }
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        bytes[start...].reverse()
    }

    private mutating func append(hexadecimal number: UInt64) {
        // All at once: sixteen digits that are appended one by one take as long as all else of a
        // message's line.
        var digits: (UInt64, UInt64) = (0, 0)
        withUnsafeMutableBytes(of: &digits) { digits in
            var rest = number
            var index = digits.count
            while index > 0 {
                index -= 1
                let digit = UInt8(truncatingIfNeeded: rest) & 0xF
                digits[index] = digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
                rest >>= 4
            }
            bytes.append(contentsOf: digits)
        }
    }
}
