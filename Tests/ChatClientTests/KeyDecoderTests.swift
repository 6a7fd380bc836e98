import Testing

@testable import ChatClient

@Suite struct KeyDecoderTests {
    private func inputs(_ text: String) -> [KeyInput] { text.unicodeScalars.map { .scalar($0) } }

    private func keys(_ pieces: [KeyInput]...) -> [Keystroke] {
        var decoder = KeyDecoder()
        return pieces.flatMap { decoder.keys(in: $0) } + decoder.flush()
    }

    @Test func `letters, marks and emoji are characters`() {
        #expect(
            keys(inputs("aé👩‍👩‍👧e\u{301}"))
                == [.character("a"), .character("é"), .character("👩‍👩‍👧"), .character("e\u{301}")])
    }

    @Test func `named keys are themselves`() {
        #expect(
            keys([.named(.up), .scalar("x"), .named(.pageUp)]) == [.up, .character("x"), .pageUp])
    }

    @Test func `a letter behind an escape has Alt held, in one piece or two, and types nothing`() {
        #expect(keys(inputs("\u{1B}b")) == [.alt("b")])
        #expect(keys(inputs("\u{1B}"), inputs("bx")) == [.alt("b"), .character("x")])
        #expect(keys(inputs("\u{1B}\u{7F}\u{1B}é")) == [.altBackspace])
        #expect(keys(inputs("\u{1B}") + [.named(.up)]) == [.altUp])
    }

    @Test func `an escape alone is a key, as soon as nothing follows`() {
        var decoder = KeyDecoder()
        #expect(decoder.keys(in: inputs("a\u{1B}")) == [.character("a")])
        #expect(decoder.flush() == [.escape])
        #expect(decoder.flush() == [])
        #expect(keys(inputs("\u{1B}\u{1B}")) == [.escape, .escape])
    }

    @Test func `control characters are keys of their own`() {
        #expect(
            keys(inputs("\r"), inputs("\n\t\u{7F}\u{03}\u{0}"))
                == [.enter, .enter, .tab, .backspace, .control("c")])
    }

    @Test func `a paste is one key, its line ends do not send`() {
        let pasted = [.pasteBegins] + inputs("one\n\u{1B}two") + [.named(.up), .pasteEnds]
        for cut in pasted.indices {
            let found = keys(Array(pasted[..<cut]), Array(pasted[cut...]) + inputs("x"))
            #expect(found == [.paste("one\n\u{1B}two"), .character("x")], "cut at \(cut)")
        }
    }

    @Test func `a paste beyond the limit is cut`() {
        let long = String(repeating: "é", count: KeyDecoder.pasteBytesMax)
        let found = keys([.pasteBegins] + inputs(long) + [.pasteEnds])
        guard case .paste(let text) = found.first else {
            Issue.record("no paste")
            return
        }
        #expect(text.utf8.count == KeyDecoder.pasteBytesMax)
    }
}
