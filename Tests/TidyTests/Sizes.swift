/// Limits on how much a reader has to keep in mind at once.
enum Limit {
    static let linesPerFile = 500
    static let linesPerTestFile = 600
    static let linesPerFunction = 70
    static let columnsPerLine = 100
}

func longLines(in source: SourceText) -> [Offence] {
    zip(1..., source.lines).filter { $1.count > Limit.columnsPerLine }.map { number, line in
        Offence(
            source.path, line: number, "\(line.count) columns, at most \(Limit.columnsPerLine)")
    }
}

func longFile(_ source: SourceText) -> [Offence] {
    // The line break at the end of a file begins no line.
    let count = source.lines.last == "" ? source.lines.count - 1 : source.lines.count
    let isShipped = source.path.hasPrefix("Sources/")
    let limit = isShipped ? Limit.linesPerFile : Limit.linesPerTestFile
    guard count > limit else { return [] }
    return [Offence(source.path, "\(count) lines, at most \(limit): split it")]
}

func longFunctions(in source: SourceText) -> [Offence] {
    functions(in: source).filter { $0.lines.count > Limit.linesPerFunction }.map { function in
        Offence(
            source.path, line: function.lines.lowerBound,
            "\(function.name) has \(function.lines.count) lines, "
                + "at most \(Limit.linesPerFunction): split it")
    }
}

/// Returns the functions, initialisers and subscripts that have a body, from the line of their
/// keyword to that of their closing brace.
func functions(in source: SourceText) -> [(name: String, lines: ClosedRange<Int>)] {
    let tokens = tokenize(source.code)
    var found: [(name: String, lines: ClosedRange<Int>)] = []
    for (index, token) in tokens.enumerated()
    where words("func init deinit subscript").contains(String(token.text)) {
        // `.init(…)` is a call.
        if index > 0, tokens[index - 1].text == "." { continue }
        guard let open = openingBrace(tokens, after: index) else { continue }
        guard let close = closingBrace(tokens, from: open) else { continue }
        let next = tokens[index + 1]
        let name = token.text == "func" && next.isWord ? next.text : token.text
        found.append((String(name), token.line...tokens[close].line))
    }
    return found
}

/// A word, or one byte of anything else but white space.
private struct Token {
    let text: Substring
    let line: Int
    let isWord: Bool
}

private func tokenize(_ code: String) -> [Token] {
    var tokens: [Token] = []
    var line = 1
    var rest = Substring(code).utf8
    while let first = rest.first {
        let run = rest.prefix(while: isOfWord)
        let text = run.isEmpty ? rest.prefix(1) : run
        if first == UInt8(ascii: "\n") { line += 1 }
        if first > UInt8(ascii: " ") {
            tokens.append(Token(text: Substring(text), line: line, isWord: !run.isEmpty))
        }
        rest = rest[text.endIndex...]
    }
    return tokens
}

/// Whether the byte belongs to a word: ASCII letters, digits, the underscore, and every byte of a
/// letter beyond ASCII.
private func isOfWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
        true
    default: false
    }
}

/// Returns the brace that opens a body; nil for a requirement of a protocol, which the next
/// declaration or the protocol's end follows.
private func openingBrace(_ tokens: [Token], after keyword: Int) -> Int? {
    let others = words(
        """
        func init deinit subscript var let case struct class enum actor protocol extension
        typealias associatedtype static mutating nonisolated public package private
        """)
    var depth = 0
    // The name itself may be one of the words, as in func `init`, or be blanked out.
    let isNamed = tokens.indices.contains(keyword + 1) && tokens[keyword + 1].isWord
    for index in tokens.indices.dropFirst(keyword + (isNamed ? 2 : 1)) {
        switch tokens[index].text {
        case "(", "[": depth += 1
        case ")", "]": depth -= 1
        case "{" where depth == 0: return index
        case "}" where depth == 0: return nil
        case let word where depth == 0 && others.contains(String(word)): return nil
        default: break
        }
    }
    return nil
}

private func closingBrace(_ tokens: [Token], from open: Int) -> Int? {
    var depth = 0
    for index in tokens.indices.dropFirst(open) {
        if tokens[index].text == "{" { depth += 1 }
        if tokens[index].text == "}" { depth -= 1 }
        if depth == 0 { return index }
    }
    return nil
}
