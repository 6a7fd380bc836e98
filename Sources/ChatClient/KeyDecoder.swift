/// Tells keys in the bytes that a terminal sends.
///
/// Bytes come in pieces; a sequence that is not whole waits for the rest, and a lone escape for the
/// end of the piece.
public struct KeyDecoder: Sendable {
    /// The most bytes of one paste, several times those of a message; what is beyond is left out.
    static let pasteBytesMax = 64 << 10

    private static let pasteStart = Array("\u{1B}[200~".utf8)
    private static let pasteEnd = Array("\u{1B}[201~".utf8)

    private var rest: [UInt8] = []
    /// What came of a paste that has not ended.
    private var pasted: [UInt8]?

    public init() {}

    public mutating func keys(in bytes: [UInt8]) -> [Keystroke] {
        rest += bytes
        var keys: [Keystroke] = []
        while !rest.isEmpty {
            if pasted != nil {
                guard let key = takePaste() else { break }
                keys.append(key)
            } else if rest[0] == 0x1B {
                guard takeSequence(&keys) else { break }
            } else if rest[0] < 0x20 || rest[0] == 0x7F {
                if let key = Self.control(rest.removeFirst()) { keys.append(key) }
            } else {
                guard takeText(&keys) else { break }
            }
        }
        return keys
    }

    private static func control(_ byte: UInt8) -> Keystroke? {
        switch byte {
        case 0x0D, 0x0A: .enter
        case 0x09: .tab
        case 0x08, 0x7F: .backspace
        case 0x01...0x1A: .control(Character(UnicodeScalar(byte + 0x60)))
        default: nil
        }
    }

    /// Everything up to the next control byte; false when only a part of a character is there.
    private mutating func takeText(_ keys: inout [Keystroke]) -> Bool {
        let end = rest.firstIndex { $0 < 0x20 || $0 == 0x7F } ?? rest.count
        let whole = end == rest.count ? Self.wholeCount(rest[..<end]) : end
        guard whole > 0 else { return false }
        keys += String(decoding: rest[..<whole], as: UTF8.self).map { .character($0) }
        rest.removeFirst(whole)
        return true
    }

    /// How many of these bytes are not the beginning of a character that ends later.
    private static func wholeCount(_ bytes: ArraySlice<UInt8>) -> Int {
        for back in 1...min(3, bytes.count) {
            let byte = bytes[bytes.endIndex - back]
            guard byte & 0xC0 != 0x80 else { continue }
            let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
            return length > back ? bytes.count - back : bytes.count
        }
        return bytes.count
    }

    private mutating func takePaste() -> Keystroke? {
        let end = Self.range(of: Self.pasteEnd, in: rest)
        // The end's first bytes may be the last that came.
        let taken = end?.lowerBound ?? max(0, rest.count - Self.pasteEnd.count + 1)
        let room = Self.pasteBytesMax - (pasted?.count ?? 0)
        pasted?.append(contentsOf: rest[..<min(taken, room)])
        rest.removeFirst(end?.upperBound ?? taken)
        guard end != nil else { return nil }
        let text = String(decoding: pasted ?? [], as: UTF8.self)
        pasted = nil
        return .paste(text)
    }

    /// An escape and what belongs to it; false when the rest of it has not come.
    private mutating func takeSequence(_ keys: inout [Keystroke]) -> Bool {
        if rest.starts(with: Self.pasteStart) {
            rest.removeFirst(Self.pasteStart.count)
            pasted = []
            return true
        }
        guard rest.count > 1, [UInt8(ascii: "["), UInt8(ascii: "O")].contains(rest[1]) else {
            keys.append(.escape)
            rest.removeFirst()
            return true
        }
        guard let final = rest[2...].firstIndex(where: { (0x40...0x7E).contains($0) }) else {
            return false
        }
        let sequence = String(decoding: rest[2...final], as: UTF8.self)
        rest.removeFirst(final + 1)
        if let key = Self.named[sequence] { keys.append(key) }
        return true
    }

    private static let named: [String: Keystroke] = [
        "A": .up, "B": .down, "C": .right, "D": .left, "H": .home, "F": .end,
        "1~": .home, "7~": .home, "4~": .end, "8~": .end, "3~": .delete,
        "5~": .pageUp, "6~": .pageDown,
    ]

    private static func range(of needle: [UInt8], in bytes: [UInt8]) -> Range<Int>? {
        guard bytes.count >= needle.count else { return nil }
        for start in 0...(bytes.count - needle.count)
        where bytes[start..<(start + needle.count)].elementsEqual(needle) {
            return start..<(start + needle.count)
        }
        return nil
    }
}
