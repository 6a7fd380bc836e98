/// Returns the types that the glossary names and that no source declares, one offence for each.
func unknownTerms(inGlossary text: String, among sources: [SourceText]) throws -> [Offence] {
    let declaration =
        #/\b(?:struct|class|enum|actor|protocol|typealias)\s+([A-Z]\w*)/#
    var declared: Set<Substring> = []
    for source in sources where Place(path: source.path)?.tree == .sources {
        declared.formUnion(source.code.matches(of: declaration).map(\.output.1))
    }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    return lines.enumerated().flatMap { index, line in
        line.matches(of: #/`([A-Z]\w*)[.\w]*`/#).map(\.output.1)
            .filter { !declared.contains($0) }
            .map { Offence("Sources/Glossary.md", line: index + 1, "no type is named \($0)") }
    }
}
