import CIDN2
import CUnistring

/// The forms in which texts are compared that people type, where several spellings look alike.
public enum Spelling {
    /// Returns the text with the full case folding of Unicode, in normal form C: "Straße" and
    /// "STRASSE" have one form, and so have both ways to write "é".
    ///
    /// - Returns: nil where memory is short.
    public static func folded(_ text: String) -> String? { map(text, by: cunistring_fold) }

    /// Returns a password in normal form KC, with each space of Unicode as the one of ASCII, as
    /// RFC 8265 maps it: two keyboards that write one password differently sign in alike.
    ///
    /// - Returns: nil where memory is short.
    public static func ofPassword(_ password: String) -> String? {
        guard !password.utf8.allSatisfy({ $0 < 0x80 }) else { return password }
        let spaced = String(
            String.UnicodeScalarView(
                password.unicodeScalars.map {
                    $0.properties.generalCategory == .spaceSeparator ? " " : $0
                }))
        return map(spaced, by: cunistring_compose)
    }

    /// Returns a domain as the domain name system asks for it, in lower case: "bücher.example" is
    /// "xn--bcher-kva.example" (IDNA 2008, with the mapping of UTS 46).
    ///
    /// - Returns: nil for what can be no domain.
    public static func asciiDomain(_ domain: String) -> String? {
        let isASCII = domain.utf8.allSatisfy { $0 < 0x80 }
        guard var ascii = isASCII ? domain.lowercased() : mapped(domain) else { return nil }
        // After the mapping, which makes full stops of other characters.
        if ascii.hasSuffix(".") { ascii.removeLast() }
        let labels = ascii.split(separator: ".", omittingEmptySubsequences: false)
        return labels.allSatisfy { !$0.isEmpty } ? ascii : nil
    }

    /// Returns the ASCII form of an international domain; nil where it has none of letters, digits,
    /// hyphens and full stops.
    private static func mapped(_ domain: String) -> String? {
        var result: UnsafeMutablePointer<UInt8>?
        let flags = CInt(IDN2_NONTRANSITIONAL.rawValue | IDN2_NFC_INPUT.rawValue)
        let code = idn2_lookup_u8(Array(domain.utf8) + [0], &result, flags)
        guard code == CInt(IDN2_OK.rawValue), let result else { return nil }
        defer { idn2_free(result) }
        let ascii = String(cString: result)
        let isDomain = ascii.utf8.allSatisfy { byte in
            switch byte {
            case 0x61...0x7A, 0x30...0x39, 0x2D, 0x2E: true
            default: false
            }
        }
        return isDomain ? ascii : nil
    }

    /// Whether a character cannot be seen, or changes how others are shown: controls, spaces, marks
    /// of direction, what is ignored by default, and what Unicode has not assigned.
    public static func isUnseen(_ character: Unicode.Scalar) -> Bool {
        let properties = character.properties
        if properties.isWhitespace || properties.isDefaultIgnorableCodePoint { return true }
        switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
            .paragraphSeparator, .spaceSeparator:
            return true
        default: return false
        }
    }

    /// Returns what a function of libunistring makes of a text; nil where memory is short.
    private static func map(
        _ text: String,
        by function: (
            UnsafePointer<UInt8>?, Int, UnsafeMutablePointer<Int>?
        ) -> UnsafeMutablePointer<UInt8>?
    ) -> String? {
        var count = 0
        let bytes = Array(text.utf8)
        guard let result = function(bytes, bytes.count, &count) else { return nil }
        defer { free(result) }
        return String(decoding: UnsafeBufferPointer(start: result, count: count), as: UTF8.self)
    }
}
