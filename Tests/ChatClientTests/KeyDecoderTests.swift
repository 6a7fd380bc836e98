import Testing

@testable import ChatClient

@Suite struct KeyDecoderTests {
    private func keys(_ text: String) -> [Keystroke] { keys([Array(text.utf8)]) }

    private func keys(_ pieces: [[UInt8]]) -> [Keystroke] {
        var decoder = KeyDecoder()
        return pieces.flatMap { decoder.keys(in: $0) }
    }

    @Test func `letters, marks and emoji are characters`() {
        #expect(keys("aé👩‍👩‍👧") == [.character("a"), .character("é"), .character("👩‍👩‍👧")])
    }

    @Test func `a character that comes in two pieces is one`() {
        for cut in 1...3 {
            let bytes = Array("👍".utf8)
            #expect(keys([Array(bytes[..<cut])]) == [])
            #expect(keys([Array(bytes[..<cut]), Array(bytes[cut...])]) == [.character("👍")])
        }
    }

    @Test func `arrows and their like are keys, what is unknown is none`() {
        #expect(keys("\u{1B}[A\u{1B}OB\u{1B}[5~\u{1B}[3~") == [.up, .down, .pageUp, .delete])
        #expect(keys("\u{1B}[1;5Q\u{1B}[24~x") == [.character("x")])
        #expect(keys("\u{1B}") == [.escape])
    }

    @Test func `control bytes are keys of their own`() {
        #expect(keys("\r\n\t\u{7F}\u{03}") == [.enter, .enter, .tab, .backspace, .control("c")])
    }

    @Test func `a paste is one key, its line ends do not send`() {
        let bytes = Array("\u{1B}[200~one\ntwo\u{1B}[201~x".utf8)
        for cut in bytes.indices where !(1...5).contains(cut) {
            let found = keys([Array(bytes[..<cut]), Array(bytes[cut...])])
            #expect(found == [.paste("one\ntwo"), .character("x")], "cut at \(cut)")
        }
    }

    @Test func `bytes that are no UTF-8 end in characters, and not in a wait`() {
        #expect(keys([[0xFF, 0x41]]).contains(.character("A")))
        #expect(keys([[0x80, 0x80, 0x80, 0x80, 0x42]]).contains(.character("B")))
    }
}
