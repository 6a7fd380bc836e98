/// The ASCII characters that have a meaning in the syntax of an HTTP request.
extension UInt8 {
    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20
    static let percent: UInt8 = 0x25
    static let ampersand: UInt8 = 0x26
    static let plus: UInt8 = 0x2B
    static let comma: UInt8 = 0x2C
    static let slash: UInt8 = 0x2F
    static let colon: UInt8 = 0x3A
    static let semicolon: UInt8 = 0x3B
    static let equals: UInt8 = 0x3D
    static let questionMark: UInt8 = 0x3F

    var isDigit: Bool { (0x30...0x39).contains(self) }

    var hexadecimalValue: UInt8? {
        if isDigit { return self - 0x30 }
        let letter = self & 0xDF
        return (0x41...0x46).contains(letter) ? letter - 0x41 + 10 : nil
    }

    /// Whether the byte may be part of an HTTP token (RFC 9110, section 5.6.2).
    var isTokenCharacter: Bool { UInt8.tokenTable[Int(self)] }

    /// Whether the byte may occur unescaped in a URL path or query (RFC 3986, section 3.3).
    var mayBeInTarget: Bool {
        // This runs for each byte of each path, so comparisons are used and no table in memory.
        switch self {
        // & ' ( ) * + , - . / 0-9 : ; and then ? @ A-Z
        case 0x26...0x3B, 0x3F...0x5A, UInt8(ascii: "a")...UInt8(ascii: "z"): true
        case UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "="): true
        case UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: false
        }
    }

    /// Whether the byte may be part of a URL's host and port; a user name is not allowed there.
    var mayBeInAuthority: Bool { UInt8.authorityTable[Int(self)] }

    /// Whether the byte may be part of a header field's value: no control character except a tab.
    var isValueCharacter: Bool { self >= 0x20 ? self != 0x7F : self == .tab }

    private static let tokenTable = table(ofLettersDigitsAnd: "!#$%&'*+-.^_`|~")
    private static let authorityTable = table(ofLettersDigitsAnd: "-._:[]")

    private static func table(ofLettersDigitsAnd marks: String) -> [Bool] {
        (UInt8.min...UInt8.max).map { byte in
            byte.isDigit || (0x41...0x5A).contains(byte & 0xDF) || marks.utf8.contains(byte)
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the index of the first line feed from an index on; nil if there is none.
    func lineEnd(from start: Int) -> Int? {
        // A loop over the bytes costs a third of `firstIndex` of a slice.
        var index = start
        while index < count {
            if self[index] == .lineFeed { return index }
            index += 1
        }
        return nil
    }
}
