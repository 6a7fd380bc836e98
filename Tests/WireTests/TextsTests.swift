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
}
