/// The base64url encoding without padding: letters, digits, `-` and `_`.
///
/// Source: RFC 4648, section 5. Each byte string has exactly one text: unused bits have to be zero.
public enum Base64 {
    private static let digits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// Returns the number of characters for so many bytes.
    public static func characters(of bytes: Int) -> Int { (bytes * 8 + 5) / 6 }

    public static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(characters(of: bytes.count))
        var (bits, width): (UInt32, UInt32) = (0, 0)
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            width += 8
            while width >= 6 {
                width -= 6
                text.append(digits[Int(bits >> width & 0x3F)])
            }
        }
        if width > 0 { text.append(digits[Int(bits << (6 - width) & 0x3F)]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the bytes of a text that `encode` wrote; nil for any other text.
    public static func decode(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var (bits, width): (UInt32, UInt32) = (0, 0)
        for character in text.utf8 {
            guard let value = value(of: character) else { return nil }
            bits = bits << 6 | value
            width += 6
            guard width >= 8 else { continue }
            width -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> width))
        }
        guard width < 6, bits & (1 << width - 1) == 0 else { return nil }
        return bytes
    }

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
