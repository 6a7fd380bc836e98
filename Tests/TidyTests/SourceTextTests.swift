import Testing

@Suite struct SourceTextTests {
    private func read(_ text: String) -> SourceText {
        SourceText(path: "Sources/Wire/File.swift", text)
    }

    @Test func `comments are not code and code is no comment`() {
        let source = read("let a = 1  // one\n/* two /* nested */ */ let b = 2")
        #expect(source.codeLines[0].contains("let a = 1"))
        #expect(!source.code.contains("one"))
        #expect(!source.code.contains("nested"))
        #expect(source.codeLines[1].contains("let b = 2"))
        #expect(source.commentLines[0].contains("// one"))
        #expect(source.comments.contains("nested"))
        #expect(!source.comments.contains("let"))
    }

    @Test(arguments: [
        #"let a = "{ // no comment"; let end = 1"#,
        #"let a = "\" { "; let end = 1"#,
        ##"let a = #"" \ { "#; let end = 1"##,
        #"let a = "\(b + "{") {"; let end = 1"#,
        "let a = \"\"\"\n  \" { // \\\" \n  \"\"\"; let end = 1",
        "func `{ // }`() -> Int; let end = 1",
    ])
    func `what stands in quotes is neither code nor comment`(text: String) {
        let source = read(text)
        #expect(!source.code.contains("{"))
        #expect(source.code.contains("let end = 1"))
        #expect(source.comments.allSatisfy { $0.isWhitespace })
        #expect(source.codeLines.count == source.lines.count)
    }

    @Test func `an interpolation is code`() {
        #expect(read(#"let a = "x \(try! f(")")) y""#).code.contains("try! f("))
    }
}
