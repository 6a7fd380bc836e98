/// A writer of one JSON text, as UTF-8 without white space.
///
/// The writer inserts the commas. The caller has to end each object and list, and to name each
/// member.
public struct JSONWriter: Sendable {
    public private(set) var bytes: [UInt8] = []
    /// Whether a comma must precede the next value or name.
    private var needsComma = false

    public init(reserving capacity: Int = 0) { bytes.reserveCapacity(capacity) }

    /// Returns the bytes written so far and removes them, in the middle of the JSON text.
    ///
    /// The result is a copy of the right size; the larger buffer is kept for the bytes that follow.
    public mutating func removeBytes() -> [UInt8] {
        defer { bytes.removeAll(keepingCapacity: true) }
        return bytes.withUnsafeBytes { [UInt8]($0) }
    }

    // MARK: Values

    public mutating func write(_ text: String) {
        beginValue()
        append(text: text)
    }

    /// Writes a string that needs no JSON escapes, such as an ID.
    public mutating func write(spelt text: String) {
        beginValue()
        var text = text
        bytes.append(UInt8(ascii: "\""))
        // The bytes are appended at once, because appending a string's UTF-8 view copies byte by
        // byte.
        text.withUTF8 { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
    }

    public mutating func write(_ number: some FixedWidthInteger) {
        beginValue()
        bytes.append(contentsOf: String(number).utf8)
    }

    public mutating func write(_ flag: Bool) { write(raw: flag ? "true" : "false") }

    public mutating func writeNull() { write(raw: "null") }

    /// Writes a value that is already encoded as JSON.
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

    /// Begins an object or a list, which `end` closes.
    public mutating func begin(_ bracket: Unicode.Scalar) {
        beginValue()
        bytes.append(UInt8(ascii: bracket))
        needsComma = false
    }

    public mutating func end(_ bracket: Unicode.Scalar) {
        bytes.append(UInt8(ascii: bracket))
        needsComma = true
    }

    /// Writes the name of an object's member, whose value is written next.
    public mutating func name(_ name: String) {
        beginValue()
        append(text: name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes the name of an object's member that needs no JSON escapes.
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

    /// Writes a member of an object whose value is again an object.
    public mutating func object(_ name: String, _ body: (inout JSONWriter) -> Void) {
        self.name(name)
        object(body)
    }

    /// Writes a member of an object whose value is a list.
    public mutating func list(_ name: String, _ body: (inout JSONWriter) -> Void) {
        self.name(name)
        list(body)
    }

    private mutating func beginValue() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    // MARK: Texts

    /// Appends a string in quotes, with the escapes that RFC 8259, section 7, requires.
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
