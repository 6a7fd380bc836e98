import Wire

/// The words that texts have to contain, in any order and without regard to case.
public struct WordSearch: Hashable, Sendable {
    /// As the client wrote them; at most `ChatLimits.titleBytesMax` bytes.
    private let text: String
    /// At least one.
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

    /// Whether each word is a part of one of the texts.
    ///
    /// The time is linear in the bytes of the texts, for each word.
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

/// A word without its differences of case, prepared for a search.
private struct FoldedWord: Hashable, Sendable {
    private let bytes: Pattern<UInt8>
    private let characters: Pattern<Character>

    init(_ word: Substring) {
        let text = folded(word)
        bytes = Pattern(Array(text.utf8))
        characters = Pattern(Array(text))
    }

    /// Whether the word is a part of an ASCII text; most texts, and all names, are.
    func isIn(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.isIn(text) { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }
    }

    /// Whether the word is a part of a folded text, by characters: they are equal however their
    /// accents are spelled.
    func isIn(_ text: String) -> Bool { characters.isIn(text) { $0 } }
}

/// A sequence that is looked for in others, in linear time (Knuth, Morris and Pratt, "Fast Pattern
/// Matching in Strings", 1977).
private struct Pattern<Element: Hashable & Sendable>: Hashable, Sendable {
    private let elements: [Element]
    /// For each length of a beginning of the pattern, the length of the longest shorter beginning
    /// with which it ends.
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

/// Returns a text in which only differences that are no differences of case are left.
///
/// Upper and then lower case for each scalar, which is full case folding but for a few letters of
/// Cherokee and Turkish ("The Unicode Standard", 3.13, "Default Case Folding").
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
