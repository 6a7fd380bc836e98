/// A writer of one JSON text, as UTF-8 without white space.
///
/// It sets the commas; that objects and lists are ended, and that each member has a name, is the
/// caller's part.
public struct JSONWriter: Sendable {
    public private(set) var bytes: [UInt8] = []
    /// Whether a comma has to stand before the next value or name.
    private var needsComma = false

    public init(reserving capacity: Int = 0) { bytes.reserveCapacity(capacity) }

    /// Returns the bytes written so far, and leaves the writer in the middle of its text without
    /// them.
    ///
    /// They are copied: what has grown to them may have twice their memory, which is kept for the
    /// next.
    public mutating func removeBytes() -> [UInt8] {
        defer { bytes.removeAll(keepingCapacity: true) }
        return bytes.withUnsafeBytes { [UInt8]($0) }
    }

    // MARK: Values

    public mutating func write(_ text: String) {
        beginValue()
        append(text: text)
    }

    /// Writes a text that is spelt as JSON spells it, such as a name.
    public mutating func write(spelt text: String) {
        beginValue()
        var text = text
        bytes.append(UInt8(ascii: "\""))
        // In one piece: a view of a string is copied byte by byte.
        text.withUTF8 { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
    }

    public mutating func write(_ number: some FixedWidthInteger) {
        beginValue()
        bytes.append(contentsOf: String(number).utf8)
    }

    public mutating func write(_ flag: Bool) { write(raw: flag ? "true" : "false") }

    public mutating func writeNull() { write(raw: "null") }

    /// Writes a value that is JSON already.
    public mutating func write(raw json: some Collection<UInt8>) {
        beginValue()
        bytes.append(contentsOf: json)
    }

    public mutating func write(_ value: JSONValue) {
        switch value {
        case .null: writeNull()
        case .flag(let flag): write(flag)
        case .integer(let number): write(number)
        // JSON has no infinity and no NaN.
        case .real(let number): write(raw: number.isFinite ? "\(number)" : "null")
        case .text(let text): write(text)
        case .list(let values): list { for value in values { $0.write(value) } }
        case .object(let members):
            object { for member in members { $0.pair(member.name, member.value) } }
        }
    }

    private mutating func write(raw word: String) { write(raw: word.utf8) }

    // MARK: Objects and lists

    public mutating func object(_ body: (inout JSONWriter) -> Void) {
        begin("{")
        body(&self)
        end("}")
    }

    public mutating func list(_ body: (inout JSONWriter) -> Void) {
        begin("[")
        body(&self)
        end("]")
    }

    /// Begins an object, or a list, that `end` ends.
    public mutating func begin(_ bracket: Unicode.Scalar) {
        beginValue()
        bytes.append(UInt8(ascii: bracket))
        needsComma = false
    }

    public mutating func end(_ bracket: Unicode.Scalar) {
        bytes.append(UInt8(ascii: bracket))
        needsComma = true
    }

    /// Writes the name of a member, whose value follows.
    public mutating func name(_ name: String) {
        beginValue()
        append(text: name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a name that is spelt as JSON spells it.
    public mutating func name(_ name: StaticString) {
        beginValue()
        bytes.append(UInt8(ascii: "\""))
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    public mutating func pair(_ name: String, _ value: String) {
        self.name(name)
        write(value)
    }

    public mutating func pair(_ name: String, _ value: some FixedWidthInteger) {
        self.name(name)
        write(value)
    }

    public mutating func pair(_ name: String, _ value: Bool) {
        self.name(name)
        write(value)
    }

    public mutating func pair(_ name: String, _ value: JSONValue) {
        self.name(name)
        write(value)
    }

    /// Writes a member whose value is an object.
    public mutating func object(_ name: String, _ body: (inout JSONWriter) -> Void) {
        self.name(name)
        object(body)
    }

    /// Writes a member whose value is a list.
    public mutating func list(_ name: String, _ body: (inout JSONWriter) -> Void) {
        self.name(name)
        list(body)
    }

    private mutating func beginValue() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    // MARK: Texts

    /// Appends a text in quotes, with the escapes that RFC 8259 requires (section 7).
    private mutating func append(text: String) {
        var text = text
        bytes.append(UInt8(ascii: "\""))
        text.withUTF8 { utf8 in
            var start = 0
            for (index, byte) in utf8.enumerated()
            where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                bytes.append(contentsOf: utf8[start..<index])
                appendEscaped(byte)
                start = index + 1
            }
            bytes.append(contentsOf: utf8[start...])
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func appendEscaped(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\n"): bytes.append(contentsOf: #"\n"#.utf8)
        case UInt8(ascii: "\r"): bytes.append(contentsOf: #"\r"#.utf8)
        case UInt8(ascii: "\t"): bytes.append(contentsOf: #"\t"#.utf8)
        case 0..<0x20:
            let digits = String(byte, radix: 16)
            bytes.append(contentsOf: (digits.utf8.count < 2 ? #"\u000"# : #"\u00"#).utf8)
            bytes.append(contentsOf: digits.utf8)
        default:
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(byte)
        }
    }
}
