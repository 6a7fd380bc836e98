import Testing

@testable import ChatClient

@Suite struct CompletionTests {
    private var editor = LineEditor()
    private var completion = Completion()

    private mutating func step(_ words: String..., suffix: String = " ") -> String {
        _ = completion.step(&editor, words: words, suffix: suffix)
        return editor.text
    }

    @Test mutating func `a word is completed, and again: the next that fits`() {
        editor.set("hello b")
        let first = step("bob", "alice", "Berta", "bob")
        let second = step("bob", "alice", "Berta", "bob")
        let third = step("bob", "alice", "Berta", "bob")
        #expect([first, second, third] == ["hello bob ", "hello Berta ", "hello bob "])
    }

    @Test mutating func `what is typed in between begins anew, and an @ stays`() {
        editor.set("@b")
        let first = step("bob", suffix: ": ")
        #expect(first == "@bob: ")
        for character in "and c" { _ = editor.handleKey(.character(character)) }
        let second = step("carol")
        #expect(second == "@bob: and carol ")
    }

    @Test mutating func `where nothing fits the line stays`() {
        editor.set("x")
        let lines = [step("bob"), step()]
        #expect(lines == ["x", "x"])
    }
}
