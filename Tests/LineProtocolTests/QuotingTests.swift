import Testing

@testable import LineProtocol

@Suite struct QuotingTests {
    /// What does not stand for itself in a value without quotes, and how it is spelled in quotes.
    private static let special: [(text: String, spelled: String)] =
        [
            (" ", " "), ("=", "="), ("\"", #"\""#), ("\\", #"\\"#), ("\n", #"\n"#),
            ("\t", #"\t"#), ("\r", #"\r"#), ("\u{7F}", #"\u{7f}"#), ("\u{80}", #"\u{80}"#),
            ("\u{9F}", #"\u{9f}"#), ("\0", #"\u{0}"#), ("\u{1F}", #"\u{1f}"#),
        ]

    /// Texts are looked at eight bytes at a time: a special one may be at each place of them.
    @Test(arguments: 0..<20) func `a special character is found wherever it is`(place: Int) {
        for (text, spelled) in Self.special {
            for rest in [0, 1, 7, 8, 9, 20] {
                let (before, after) = (
                    String(repeating: "x", count: place), String(repeating: "y", count: rest)
                )
                #expect(spelledValue(before + text + after) == "\"\(before)\(spelled)\(after)\"")
            }
        }
    }

    @Test(arguments: 0..<20) func `what stands for itself is not quoted`(place: Int) {
        // Their bytes come next to those of special characters.
        for text in ["!", "#", "<", ">", "[", "]", "~", "\u{A0}", "\u{BF}", "Â", "é", "世", "🍇"] {
            let whole = String(repeating: "x", count: place) + text + "yyyyyyyyy"
            #expect(spelledValue(whole) == whole)
        }
        #expect(spelledValue("") == "\"\"")
    }
}
