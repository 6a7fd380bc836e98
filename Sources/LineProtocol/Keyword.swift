/// A verb or an option's name, packed into one integer, so that a lookup compares integers only.
struct Keyword: Hashable, Sendable {
    static let bytesMax = 16

    private let bits: UInt128

    /// Packs the word in capitals; returns nil for a word that is not 1–16 ASCII letters.
    ///
    /// Only letters are accepted: words that differ in leading zero bytes would get the same
    /// integer.
    init?(_ word: UnsafeRawBufferPointer) {
        guard (1...Self.bytesMax).contains(word.count) else { return nil }
        var bits: UInt128 = 0
        for byte in word {
            let capital = byte & ~0x20
            guard capital >= UInt8(ascii: "A"), capital <= UInt8(ascii: "Z") else { return nil }
            bits = bits << 8 | UInt128(capital)
        }
        self.bits = bits
    }

    init?(_ word: some StringProtocol) {
        let keyword = Array(word.utf8).withUnsafeBytes { Keyword($0) }
        guard let keyword else { return nil }
        self = keyword
    }

    /// Packs a word of the verb table; the word must be valid.
    init(literal word: some StringProtocol) {
        guard let keyword = Keyword(word) else {
            preconditionFailure("\(word) is not 1-\(Self.bytesMax) letters")
        }
        self = keyword
    }
}
