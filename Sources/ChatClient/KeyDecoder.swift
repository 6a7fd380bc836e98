/// The keys in what a terminal library reads.
///
/// Alt comes as an escape before the letter, and an escape alone is a key of its own: one at the
/// end of what has come waits until the next piece, or `flush`.
public struct KeyDecoder: Sendable {
    /// The most bytes of one paste, several times those of a message; what is beyond is left out.
    static let pasteBytesMax = 64 << 10

    private static let escape: Unicode.Scalar = "\u{1B}"

    private var hasEscape = false
    /// What came of a paste that has not ended.
    private var pasted: String?

    public init() {}

    public mutating func keys(in inputs: [KeyInput]) -> [Keystroke] {
        var keys: [Keystroke] = []
        // Marks combine with what is before them, so texts are cut into characters whole.
        var text = String.UnicodeScalarView()
        for input in inputs {
            if case .scalar(let scalar) = input, pasted == nil, !hasEscape, !scalar.isControl {
                text.append(scalar)
                continue
            }
            keys += String(text).map { .character($0) }
            text = String.UnicodeScalarView()
            if let key = take(input) { keys.append(key) }
        }
        return keys + String(text).map { .character($0) }
    }

    /// Nothing more belongs to an escape that waits.
    public mutating func flush() -> [Keystroke] {
        defer { hasEscape = false }
        return hasEscape ? [.escape] : []
    }

    private mutating func take(_ input: KeyInput) -> Keystroke? {
        switch input {
        case .pasteBegins:
            hasEscape = false
            pasted = ""
            return nil
        case .pasteEnds:
            defer { pasted = nil }
            return pasted.map { .paste($0) }
        case .named(let key):
            guard pasted == nil else { return nil }
            defer { hasEscape = false }
            return hasEscape ? Self.withAlt[key] ?? key : key
        case .scalar(let scalar):
            if let text = pasted {
                if text.utf8.count < Self.pasteBytesMax { pasted?.unicodeScalars.append(scalar) }
                return nil
            }
            return take(scalar)
        }
    }

    private mutating func take(_ scalar: Unicode.Scalar) -> Keystroke? {
        if hasEscape {
            // Two escapes are one, and the second waits again.
            if scalar == Self.escape { return .escape }
            hasEscape = false
            switch scalar.value {
            case 0x08, 0x7F: return .altBackspace
            case 0x21...0x7E: return .alt(Character(scalar))
            default: return nil
            }
        }
        switch scalar.value {
        case 0x1B:
            hasEscape = true
            return nil
        case 0x0D, 0x0A: return .enter
        case 0x09: return .tab
        case 0x08, 0x7F: return .backspace
        case 0x01...0x1A:
            return .control(Character(Unicode.Scalar(UInt8(scalar.value) + 0x60)))
        default: return nil
        }
    }

    private static let withAlt: [Keystroke: Keystroke] = [
        .up: .altUp, .down: .altDown, .left: .controlLeft, .right: .controlRight,
        .backspace: .altBackspace,
    ]
}

extension Unicode.Scalar {
    var isControl: Bool { value < 0x20 || (0x7F...0x9F).contains(value) }
}
