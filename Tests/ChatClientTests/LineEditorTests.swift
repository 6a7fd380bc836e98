import Testing

@testable import ChatClient

@Suite struct LineEditorTests {
    private func edited(_ text: String, _ keys: Keystroke...) -> LineEditor {
        var editor = LineEditor()
        for key in text.map({ Keystroke.character($0) }) + keys {
            let isTaken = editor.handleKey(key)
            #expect(isTaken)
        }
        return editor
    }

    @Test func `keys change the line where the cursor is`() {
        #expect(edited("abc", .left, .character("x")).text == "abxc")
        #expect(edited("abc", .home, .delete).text == "bc")
        #expect(edited("abc", .left, .backspace).text == "ac")
        #expect(edited("one two  ", .control("w")).text == "one ")
        #expect(edited("one two", .left, .left, .left, .control("u")).text == "two")
        #expect(edited("one two", .home, .right, .control("k")).text == "o")
        #expect(edited("one two", .alt("b"), .character("x")).text == "one xtwo")
        #expect(edited("one two", .home, .alt("f"), .character("x")).text == "onex two")
        #expect(edited("one two", .home, .alt("d")).text == " two")
        #expect(edited("one two", .altBackspace).text == "one ")
        #expect(edited("one two", .controlLeft, .controlLeft, .controlRight).cursor == 3)
        #expect(edited("", .backspace, .delete, .left, .right).isEmpty)
    }

    @Test func `a mark joins the character before it`() {
        let editor = edited("e", .character("\u{301}"))
        #expect(editor.characters.count == 1)
        #expect(editor.cursor == 1)
    }

    @Test func `past lines are called back, and what was being typed is kept`() {
        var editor = edited("one")
        let first = editor.removeText()
        editor.set("two")
        let second = editor.removeText()
        #expect([first, second] == ["one", "two"])
        editor.set("half")
        for text in ["two", "one", "one"] {
            _ = editor.handleKey(.up)
            #expect(editor.text == text)
        }
        for text in ["two", "half", "half"] {
            _ = editor.handleKey(.down)
            #expect(editor.text == text)
        }
    }

    @Test func `a line that was refused later is called back first`() {
        var editor = edited("one")
        _ = editor.removeText()
        editor.set("two")
        _ = editor.removeText()
        editor.keep("one")
        _ = editor.handleKey(.up)
        #expect(editor.text == "one")
        // A user who is recalling lines continues from the line that is shown.
        editor.keep("two")
        _ = editor.handleKey(.down)
        #expect(editor.text == "two")
    }

    @Test func `what is shown holds the cursor, however long the line is`() {
        var editor = edited("日本語 and a longer text", .left)
        for columns in 4...40 {
            let shown = editor.shown(in: columns, .terminal)
            #expect(Columns.terminal.count(shown.text) <= columns)
            #expect(shown.cursor < columns)
        }
        editor.set("a\nb")
        #expect(editor.shown(in: 10, .terminal).text == "a⏎b")
    }
}
