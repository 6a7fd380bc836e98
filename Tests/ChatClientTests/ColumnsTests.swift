import Testing

@testable import ChatClient

@Suite struct ColumnsTests {
    @Test(arguments: [
        ("a", 1), ("é", 1), ("e\u{301}", 1), ("日", 2), ("👍", 2), ("👩‍👩‍👧", 2), ("❤\u{FE0F}", 2),
        ("한", 2),
        ("\u{301}", 0),
    ])
    func `a character takes as many columns as a terminal gives it`(text: String, columns: Int) {
        #expect(Columns.count(text) == columns)
    }

    @Test func `what is cut says so, and never takes more than it may`() {
        #expect(Columns.cut("hello", to: 5) == "hello")
        #expect(Columns.cut("hello", to: 4) == "hel…")
        for columns in 0...12 {
            #expect(Columns.count(Columns.cut("日本a語b👍", to: columns)) <= columns)
            #expect(Columns.count(Columns.fit("日本a語b👍", to: columns)) == columns)
        }
    }

    @Test func `lines are broken at spaces, words only where they must be`() {
        #expect(Columns.wrap("one two three", to: 8) == ["one two", "three"])
        #expect(Columns.wrap("one two", to: 3) == ["one", "two"])
        #expect(Columns.wrap("abcdefgh", to: 3) == ["abc", "def", "gh"])
        #expect(Columns.wrap("a\n\nb", to: 9) == ["a", "", "b"])
        #expect(Columns.wrap("日本語", to: 3) == ["日", "本", "語"])
    }

    @Test func `nothing but spaces is lost by breaking, and no line is too long`() {
        let text = "The  quick 日本語 brown fox👍 jumps overthelazydogsandmore then  stops "
        for columns in 2...40 {
            let lines = Columns.wrap(text, to: columns)
            #expect(lines.allSatisfy { Columns.count($0) <= columns })
            #expect(lines.joined().filter { $0 != " " } == text.filter { $0 != " " })
        }
    }

    @Test func `a text cannot command the terminal`() {
        #expect(Columns.harmless("a\u{1B}[2J\u{9B}b\tc\n") == "a·[2J·b    c\n")
        #expect(Columns.harmless("a\u{202E}b") == "ab")
    }
}
