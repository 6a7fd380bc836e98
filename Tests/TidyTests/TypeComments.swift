/// Returns the types of a source whose doc comment does not begin with a noun phrase, one offence
/// for each.
///
/// A comment is taken to do so if its first word is an article or another determiner, a number, or
/// a word in backticks; or a noun that needs none, which is then in `bareNouns`.
func typeCommentsWithoutNoun(in source: SourceText) -> [Offence] {
    let lines = source.lines
    return lines.indices.compactMap { index in
        guard declaresType(lines[index]), let first = firstLine(ofCommentAbove: index, in: lines)
        else { return nil }
        let word = first.split(separator: " ").first ?? ""
        guard !beginsNounPhrase(word) else { return nil }
        return Offence(
            source.path, line: index + 1,
            "a type's comment begins with a noun phrase, not with \"\(word)\"")
    }
}

private let determiners: Set<Substring> = [
    "A", "An", "The", "One", "Two", "Several", "All", "Each", "Every", "Many", "What",
]

/// Words with which a noun phrase without a determiner begins: plural and mass nouns, and what
/// stands before them.
private let bareNouns: Set<Substring> = [
    "Bytes", "Counters", "Counts", "Damage", "Lines", "Messages", "Read", "Real", "Seeds", "Sends",
    "Times", "Work",
]

private func beginsNounPhrase(_ word: Substring) -> Bool {
    determiners.contains(word) || bareNouns.contains(word) || word.hasPrefix("`")
        || word.allSatisfy(\.isNumber)
}

private func declaresType(_ line: Substring) -> Bool {
    var words = line.split(separator: " ")[...]
    let modifiers: Set<Substring> = ["public", "package", "private", "final", "indirect"]
    while let word = words.first, modifiers.contains(word) || word.hasPrefix("@") {
        words.removeFirst()
    }
    let kinds: Set<Substring> = ["struct", "class", "enum", "actor", "protocol", "typealias"]
    return words.first.map(kinds.contains) ?? false
}

/// Returns the first line of the doc comment above a declaration, without `///`; nil for none.
private func firstLine(ofCommentAbove index: Int, in lines: [Substring]) -> Substring? {
    func trimmed(_ index: Int) -> Substring { lines[index].drop { $0 == " " } }
    var above = index - 1
    while above >= 0, trimmed(above).hasPrefix("@") { above -= 1 }
    var first: Substring?
    while above >= 0, trimmed(above).hasPrefix("///") {
        first = trimmed(above).dropFirst(3)
        above -= 1
    }
    return first
}
