import Testing
import Wire

struct TextsTests {
    private static let ascending = [nil, "", "\u{0}", "a", "cafe\u{301}", "caf\u{E9}", "\u{FEFF}a"]

    @Test func `texts are ordered by their bytes, none before any, and look-alikes differ`() {
        let texts = TextsTests.ascending
        for (index, left) in texts.enumerated() {
            for (other, right) in texts.enumerated() {
                #expect(haveSameBytes(left, right) == (index == other))
                #expect(precedesInBytes(left, right) == (index < other))
            }
        }
    }

    @Test func `what a terminal would act on is spelled out, and all else is kept`() {
        #expect("plain, Grüße, 👨‍👩‍👧 عربى".printable == "plain, Grüße, 👨‍👩‍👧 عربى")
        #expect("a\u{1b}[2J\nb\r\tc".printable == #"a\u{1b}[2J\nb\r\tc"#)
        #expect("\u{0}\u{7f}\u{9b}\u{85}".printable == #"\u{0}\u{7f}\u{9b}\u{85}"#)
        #expect("\u{2028}\u{202e}\u{2066}".printable == #"\u{2028}\u{202e}\u{2066}"#)
    }
}
