import Testing

@testable import ChatClient

@Suite struct ColumnsTests {
    private let columns = Columns.terminal

    @Test(arguments: [
        ("a", 1), ("é", 1), ("e\u{301}", 1), ("日", 2), ("👍", 2), ("👩‍👩‍👧", 6), ("❤\u{FE0F}", 1),
        ("한", 2),
        ("\u{301}", 0),
    ])
    func `a character takes as many columns as ncurses gives it`(text: String, width: Int) {
        #expect(columns.count(text) == width)
    }

    @Test func `what is cut says so, and never takes more than it may`() {
        #expect(columns.cut("hello", to: 5) == "hello")
        #expect(columns.cut("hello", to: 4) == "hel…")
        for width in 0...12 {
            #expect(columns.count(columns.cut("日本a語b👍", to: width)) <= width)
            #expect(columns.count(columns.fit("日本a語b👍", to: width)) == width)
        }
    }

    @Test func `lines are broken at spaces, words only where they must be`() {
        #expect(columns.wrap("one two three", to: 8) == ["one two", "three"])
        #expect(columns.wrap("one two", to: 3) == ["one", "two"])
        #expect(columns.wrap("abcdefgh", to: 3) == ["abc", "def", "gh"])
        #expect(columns.wrap("a\n\nb", to: 9) == ["a", "", "b"])
        #expect(columns.wrap("日本語", to: 3) == ["日", "本", "語"])
    }

    @Test func `nothing but spaces is lost by breaking, and no line is too long`() {
        let text = "The  quick 日本語 brown fox👍 jumps overthelazydogsandmore then  stops "
        for width in 2...40 {
            let lines = columns.wrap(text, to: width)
            #expect(lines.allSatisfy { columns.count($0) <= width })
            #expect(lines.joined().filter { $0 != " " } == text.filter { $0 != " " })
        }
    }

    @Test func `a text cannot command the terminal`() {
        #expect(Columns.harmless("a\u{1B}[2J\u{9B}b\tc\n") == "a·[2J·b    c\n")
        #expect(Columns.harmless("a\u{202E}b") == "ab")
    }
}
