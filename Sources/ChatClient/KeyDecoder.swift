/// A decoder of the inputs of a terminal library into keys.
///
/// Alt arrives as an escape before the letter, and an escape alone is a key, too: an escape at the
/// end of the inputs waits for the next input, or for `flush`.
public struct KeyDecoder: Sendable {
    /// The limit of one paste in bytes, several times that of a message; the rest is dropped.
    static let pasteBytesMax = 64 << 10

    private static let escape: Unicode.Scalar = "\u{1B}"

    private var hasEscape = false
    /// The text of a paste that has not ended; nil outside of one.
    private var pasted: String?

    public init() {}

    public mutating func keys(in inputs: [KeyInput]) -> [Keystroke] {
        var keys: [Keystroke] = []
        // Combining marks belong to the character before them, so whole texts are cut into
        // characters.
        var text = String.UnicodeScalarView()
        for input in inputs {
            if case .scalar(let scalar) = input, pasted == nil, !hasEscape, !scalar.isControl {
                text.append(scalar)
                continue
            }
            keys += String(text).map { .character($0) }
            text = String.UnicodeScalarView()
            if let key = decode(input) { keys.append(key) }
        }
        return keys + String(text).map { .character($0) }
    }

    /// Returns the waiting escape as a key, since no further input belongs to it.
    public mutating func flush() -> [Keystroke] {
        defer { hasEscape = false }
        return hasEscape ? [.escape] : []
    }

    private mutating func decode(_ input: KeyInput) -> Keystroke? {
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
            return decodeScalar(scalar)
        }
    }

    private mutating func decodeScalar(_ scalar: Unicode.Scalar) -> Keystroke? {
        if hasEscape {
            // Of two escapes, the first is a key, and the second waits.
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
