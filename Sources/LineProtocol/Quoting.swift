import Wire

/// The escapes and quotes of values in data lines and options, and of texts in requests.

/// Returns a value as a line contains it: in quotes if the value needs quotes.
public func spelledValue(_ text: String) -> String {
    var bytes: [UInt8] = []
    bytes.appendValue(text)
    return String(decoding: bytes, as: UTF8.self)
}

extension [UInt8] {
    /// Appends a value, in quotes if the value needs quotes.
    public mutating func appendValue(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            let bytes = UnsafeRawBufferPointer(utf8)
            guard bytes.isEmpty || firstSpecial(in: bytes, from: 0, quoted: false) < bytes.count
            else {
                return append(contentsOf: bytes)
            }
            append(UInt8(ascii: "\""))
            appendEscaped(bytes)
            append(UInt8(ascii: "\""))
        }
    }

    /// Appends a text in the form that follows `-- ` in a request: line breaks and `\` are escaped.
    public mutating func appendText(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            var start = 0
            for index in utf8.indices {
                let escape: StaticString
                switch utf8[index] {
                case UInt8(ascii: "\n"): escape = #"\n"#
                case UInt8(ascii: "\r"): escape = #"\r"#
                case UInt8(ascii: "\\"): escape = #"\\"#
                default: continue
                }
                append(contentsOf: utf8[start..<index])
                escape.withUTF8Buffer { append(contentsOf: $0) }
                start = index + 1
            }
            append(contentsOf: utf8[start...])
        }
    }

    private mutating func appendEscaped(_ bytes: UnsafeRawBufferPointer) {
        var index = 0
        while index < bytes.count {
            let special = firstSpecial(in: bytes, from: index, quoted: true)
            append(contentsOf: bytes[index..<special])
            guard special < bytes.count else { return }
            index = special + 1
            switch bytes[special] {
            case UInt8(ascii: "\n"): append(contentsOf: #"\n"#.utf8)
            case UInt8(ascii: "\r"): append(contentsOf: #"\r"#.utf8)
            case UInt8(ascii: "\t"): append(contentsOf: #"\t"#.utf8)
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                append(UInt8(ascii: "\\"))
                append(bytes[special])
            case 0xC2:
                // The second UTF-8 byte of a character in U+0080…U+009F is the character's number.
                appendNumbered(bytes[index])
                index += 1
            default: appendNumbered(bytes[special])
            }
        }
    }

    private mutating func appendNumbered(_ control: UInt8) {
        append(contentsOf: #"\u{"#.utf8)
        append(contentsOf: String(control, radix: 16).utf8)
        append(UInt8(ascii: "}"))
    }
}

/// Returns the index of the first byte of a value that needs an escape or quotes, or `bytes.count`.
///
/// - Parameter isQuoted: whether the value is in quotes, where spaces and `=` need no escape.
private func firstSpecial(
    in bytes: UnsafeRawBufferPointer, from start: Int, quoted isQuoted: Bool
) -> Int {
    var index = start
    while index < bytes.count {
        let end = min(index + 8, bytes.count)
        // Eight bytes are examined at a time, since bytes that need an escape are rare.
        let areOrdinary =
            end - index == 8
            && !mayHaveSpecial(
                bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self), quoted: isQuoted)
        if areOrdinary {
            index = end
            continue
        }
        while index < end {
            if isSpecial(bytes, at: index, quoted: isQuoted) { return index }
            index += 1
        }
    }
    return index
}

/// Whether one of eight bytes might need an escape or quotes; false positives are possible.
private func mayHaveSpecial(_ word: UInt64, quoted isQuoted: Bool) -> Bool {
    // The high bit is set for each byte below 0x20; a borrow can also set it for the byte above
    // such a byte.
    var special = (word &- repeated(0x20)) & ~word & repeated(0x80)
    special |= zeros(in: word ^ repeated(UInt8(ascii: "\"")))
    special |= zeros(in: word ^ repeated(UInt8(ascii: "\\")))
    special |= zeros(in: word ^ repeated(0x7F)) | zeros(in: word ^ repeated(0xC2))
    if !isQuoted {
        special |= zeros(in: word ^ repeated(UInt8(ascii: " ")))
        special |= zeros(in: word ^ repeated(UInt8(ascii: "=")))
    }
    return special != 0
}

private func isSpecial(
    _ bytes: UnsafeRawBufferPointer, at index: Int, quoted isQuoted: Bool
) -> Bool {
    switch bytes[index] {
    case 0..<0x20, UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x7F: true
    case UInt8(ascii: " "), UInt8(ascii: "="): !isQuoted
    case 0xC2: index + 1 < bytes.count && (0x80...0x9F).contains(bytes[index + 1])
    default: false
    }
}

/// Returns the index after the closing quote of a value; nil if the closing quote is missing.
///
/// - Parameter open: the index of the value's opening quote.
func endOfQuoted(in bytes: UnsafeRawBufferPointer, open: Int) -> Int? {
    var index = open + 1
    while index < bytes.count {
        switch bytes[index] {
        case UInt8(ascii: "\""): return index + 1
        case UInt8(ascii: "\\"): index += 2
        default: index += 1
        }
    }
    return nil
}

/// Returns the content of a quoted value, with its escapes replaced.
///
/// The result is nil for an unknown escape and for bytes that are not UTF-8.
func unquoted(_ inside: UnsafeRawBufferPointer) -> String? {
    guard firstIndex(of: UInt8(ascii: "\\"), in: inside, from: 0) != nil else {
        return String(utf8: inside)
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(inside.count)
    var index = 0
    while index < inside.count {
        guard inside[index] == UInt8(ascii: "\\") else {
            bytes.append(inside[index])
            index += 1
            continue
        }
        guard index + 1 < inside.count else { return nil }
        let letter = inside[index + 1]
        index += 2
        if letter == UInt8(ascii: "\"") {
            bytes.append(letter)
        } else if let character = unescaped(letter) {
            bytes.append(character)
        } else if letter == UInt8(ascii: "u"), let scalar = numbered(inside, at: &index) {
            bytes.append(contentsOf: String(Character(scalar)).utf8)
        } else {
            return nil
        }
    }
    return bytes.withUnsafeBytes { String(utf8: $0) }
}

/// Reads the character between the braces of `\u{…}`: 1–6 hexadecimal digits.
private func numbered(_ bytes: UnsafeRawBufferPointer, at index: inout Int) -> Unicode.Scalar? {
    guard index < bytes.count, bytes[index] == UInt8(ascii: "{") else { return nil }
    var number: UInt32 = 0
    var digits = 0
    index += 1
    while index < bytes.count, digits <= 6 {
        let byte = bytes[index]
        index += 1
        if byte == UInt8(ascii: "}") { return digits > 0 ? Unicode.Scalar(number) : nil }
        guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
            return nil
        }
        number = number << 4 | UInt32(digit)
        digits += 1
    }
    return nil
}

/// Returns the byte that the escape of `\` and this letter represents; nil for an unknown escape.
private func unescaped(_ letter: UInt8) -> UInt8? {
    switch letter {
    case UInt8(ascii: "n"): UInt8(ascii: "\n")
    case UInt8(ascii: "r"): UInt8(ascii: "\r")
    case UInt8(ascii: "t"): UInt8(ascii: "\t")
    case UInt8(ascii: "\\"): letter
    default: nil
    }
}

/// Returns the bytes of a request's text with its escapes replaced; unknown escapes are kept.
func unescapedText(_ raw: UnsafeRawBufferPointer) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(raw.count)
    var index = 0
    while index < raw.count {
        let byte = raw[index]
        index += 1
        if byte == UInt8(ascii: "\\"), index < raw.count, let character = unescaped(raw[index]) {
            bytes.append(character)
            index += 1
        } else {
            bytes.append(byte)
        }
    }
    return bytes
}

/// Whether a text needs no conversion: ASCII without NUL and backslash, as nearly every text is.
func isPlain(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let backslashes = repeated(UInt8(ascii: "\\"))
    var index = 0
    while index + 8 <= bytes.count {
        let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        let isOdd = (word & repeated(0x80)) | zeros(in: word) | zeros(in: word ^ backslashes)
        guard isOdd == 0 else { return false }
        index += 8
    }
    while index < bytes.count {
        let byte = bytes[index]
        guard byte > 0, byte < 0x80, byte != UInt8(ascii: "\\") else { return false }
        index += 1
    }
    return true
}

extension String {
    /// The string in the form of a value in an option or a data line, in quotes if necessary.
    public var asLineValue: String {
        var bytes: [UInt8] = []
        bytes.appendValue(self)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The string in the form of a request's text after `-- `, a mark that keeps words of the text
    /// from being parsed as options.
    public var asLineText: String {
        var bytes: [UInt8] = []
        bytes.appendText(self)
        return String(decoding: bytes, as: UTF8.self)
    }
}
