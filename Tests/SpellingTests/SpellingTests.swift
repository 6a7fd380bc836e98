import Spelling
import Testing

@Suite struct SpellingTests {
    @Test(arguments: [
        ("", ""), ("Al", "al"), ("Straße", "strasse"), ("E\u{301}", "é"), ("ΣΊΣΥΦΟΣ", "σίσυφοσ"),
        ("İ", "i\u{307}"), ("ﬁ", "fi"), ("日本", "日本"),
    ])
    func `case and normal form are folded`(_ text: String, _ folded: String) {
        #expect(Spelling.folded(text).map { Array($0.utf8) } == Array(folded.utf8))
        #expect(Spelling.folded(folded).map { Array($0.utf8) } == Array(folded.utf8))
    }

    @Test(arguments: [
        ("B.org", "b.org"), ("b.org.", "b.org"), ("b.org。", "b.org"),
        ("BÜCHER.example", "xn--bcher-kva.example"),
        ("XN--BCHER-KVA.example", "xn--bcher-kva.example"), ("faß.de", "xn--fa-hia.de"),
        ("日本。jp", "xn--wgv71a.jp"), ("[127.0.0.1]", "[127.0.0.1]"),
    ])
    func `a domain has one form`(_ domain: String, _ ascii: String) {
        #expect(Spelling.asciiDomain(domain) == ascii)
    }

    @Test(arguments: [
        "a\u{FFFD}.org", "ü..org", "b.org..", "b.org。。", "ex＠ample.org", "℀.org", ".",
        String(repeating: "ü", count: 80) + ".org",
    ])
    func `what can be no domain has none`(_ domain: String) {
        #expect(Spelling.asciiDomain(domain) == nil)
    }

    @Test func `what cannot be seen is told from letters`() {
        let unseen: [UInt32] = [
            0, 0x7F, 0xA0, 0xAD, 0x34F, 0x115F, 0x200B, 0x200E, 0x202E, 0x2066, 0xFE0F, 0xFEFF,
            0xE000,
        ]
        #expect(unseen.compactMap(Unicode.Scalar.init).allSatisfy(Spelling.isUnseen))
        #expect(!"aé日+._-ß\u{301}".unicodeScalars.contains(where: Spelling.isUnseen))
    }
}
