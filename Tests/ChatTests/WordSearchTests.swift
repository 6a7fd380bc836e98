import Testing

@testable import Chat

@Suite struct WordSearchTests {
    private func matches(_ words: String, _ texts: String...) -> Bool {
        WordSearch(words)?.matches(texts) ?? false
    }

    @Test func aWordIsFoundInsideATextWhateverItsCase() {
        #expect(matches("OMES", "Who comes?"))
        #expect(!matches("omes", "Who came?", "Nobody"))
        #expect(matches("STRASSE", "Lange Straße"))
        #expect(matches("café", "Cafe\u{301} au lait"))
    }

    @Test func allWordsHaveToBeFoundThoughInDifferentTexts() {
        #expect(matches("b carol", "bob", "carol"))
        #expect(!matches("bc", "b", "c"))
        #expect(WordSearch(" \t") == nil)
    }

    @Test(arguments: ["aab", "abab", "aaa", "abcabd", "ab"])
    func anASCIIWordIsFoundWhereStringsFindIt(_ word: String) {
        var state: UInt64 = 1
        for _ in 0..<2_000 {
            var text = ""
            for _ in 0..<12 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                text += ["a", "b", "c", "d", "A", "B"][Int(state >> 33) % 6]
            }
            let isFound = text.lowercased().contains(word)
            #expect(matches(word, text) == isFound, "\(word) in \(text)")
            #expect(matches(word, "é" + text) == isFound, "\(word) in é\(text)")
        }
    }
}
