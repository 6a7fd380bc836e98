import Wire

/// The words that texts have to contain, in any order and without regard to case.
public struct WordSearch: Hashable, Sendable {
    /// As the client wrote them; at most `ChatLimits.titleBytesMax` bytes.
    private let text: String
    /// Folded; at least one.
    private let words: [String]

    /// Returns nil if the text contains no word.
    ///
    /// - Parameter text: words, separated by white space; at most `ChatLimits.titleBytesMax` bytes.
    public init?(_ text: String) {
        let words = text.split(whereSeparator: \.isWhitespace).map { folded($0) }
        guard !words.isEmpty else { return nil }
        self.text = text
        self.words = words
    }

    /// Whether each word is a part of one of the texts.
    public func matches(_ texts: [String]) -> Bool {
        let texts = texts.map { folded($0[...]) }
        return words.allSatisfy { word in texts.contains { $0.contains(word) } }
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
