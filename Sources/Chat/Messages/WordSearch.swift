import Wire

/// The words that texts have to contain, in any order and without regard to case.
public struct WordSearch: Hashable, Sendable {
    /// The words as the client wrote them; at most `ChatLimits.titleBytesMax` bytes.
    private let text: String
    /// The folded words, at least one.
    private let words: [FoldedWord]

    /// Returns nil if the text contains no word.
    ///
    /// - Parameter text: words, separated by white space; at most `ChatLimits.titleBytesMax` bytes.
    public init?(_ text: String) {
        let words = text.split(whereSeparator: \.isWhitespace).map { FoldedWord($0) }
        guard !words.isEmpty else { return nil }
        self.text = text
        self.words = words
    }

    /// Returns whether each word occurs in at least one of the texts.
    ///
    /// The search for each word takes time linear in the bytes of the texts.
    public func matches(_ texts: [String]) -> Bool {
        var missing = words
        for var text in texts {
            let isPlain = text.withUTF8 { bytes in
                guard isASCII(UnsafeRawBufferPointer(bytes)) else { return false }
                missing.removeAll { $0.isIn(bytes) }
                return true
            }
            if !isPlain {
                let text = folded(text[...])
                missing.removeAll { $0.isIn(text) }
            }
            if missing.isEmpty { return true }
        }
        return false
    }
}

/// A case-folded word, prepared for a search.
private struct FoldedWord: Hashable, Sendable {
    private let bytes: Pattern<UInt8>
    private let characters: Pattern<Character>

    init(_ word: Substring) {
        let text = folded(word)
        bytes = Pattern(Array(text.utf8))
        characters = Pattern(Array(text))
    }

    /// Whether the word occurs in an ASCII text; all names and most texts are ASCII.
    func isIn(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.isIn(text) { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }
    }

    /// Whether the word occurs in a folded text; characters are compared by canonical equivalence,
    /// so the encoding of accents does not matter.
    func isIn(_ text: String) -> Bool { characters.isIn(text) { $0 } }
}

/// A sequence prepared for a search in another sequence in linear time (Knuth, Morris and Pratt,
/// "Fast Pattern Matching in Strings", 1977).
private struct Pattern<Element: Hashable & Sendable>: Hashable, Sendable {
    private let elements: [Element]
    /// For each length of a prefix: the length of its longest proper prefix that is also its
    /// suffix.
    private let borders: [Int]

    init(_ elements: [Element]) {
        self.elements = elements
        var borders = [0, 0]
        for index in elements.indices.dropFirst() {
            var border = borders[index]
            while border > 0, elements[border] != elements[index] { border = borders[border] }
            borders.append(elements[border] == elements[index] ? border + 1 : 0)
        }
        self.borders = borders
    }

    @inline(__always)
    func isIn(_ text: some Sequence<Element>, by fold: (Element) -> Element) -> Bool {
        var found = 0
        for element in text {
            let element = fold(element)
            while found > 0, elements[found] != element { found = borders[found] }
            if elements[found] == element { found += 1 }
            if found == elements.count { return true }
        }
        return false
    }
}

/// Returns a text without differences of case.
///
/// Each scalar is mapped to upper and then to lower case; that is full case folding except for a
/// few letters of Cherokee and Turkish ("The Unicode Standard", 3.13, "Default Case Folding").
private func folded(_ text: Substring) -> String {
    var folded = ""
    for scalar in text.unicodeScalars {
        for upper in scalar.properties.uppercaseMapping.unicodeScalars {
            folded += upper.properties.lowercaseMapping
        }
    }
    return folded
}

extension WordSearch: WireValue {
    public func encode(into writer: inout ByteWriter) { writer.write(text) }

    public init(from reader: inout ByteReader) throws(WireError) {
        guard let search = WordSearch(try reader.readText(limit: ChatLimits.titleBytesMax)) else {
            throw .invalid("words to find")
        }
        self = search
    }
}
