/// Returns the imports of a source that the table does not allow.
func undeclaredImports(in source: SourceText, house: House) -> [Offence] {
    guard let place = Place(path: source.path) else {
        return [Offence(source.path, "lies in no target: move it into a folder of one")]
    }
    guard let allowed = house.allowedImports(of: place) else { return [] }
    return imports(of: source).filter { !allowed.contains($0.module) }.map { found in
        Offence(
            source.path, line: found.line,
            "\(place.target) may not import \(found.module), only "
                + (allowed.isEmpty ? "Swift itself" : allowed.sorted().joined(separator: " ")))
    }
}

/// Returns the folders of sources that are not in the table, and those of tests without a module.
func unknownTargets(sources: [String], tests: [String], house: House) -> [Offence] {
    let strangers = sources.filter { house[$0] == nil }.map {
        Offence("Sources/\($0)", "is in no table: add the room to House.swift with its imports")
    }
    let orphans = tests.filter { name in
        // Scripts that query real nodes, drive browsers or compare programs; no targets.
        let isExempt =
            [
                "TidyTests", "Proof", "rows", "differential", "apps", "browser", "client", "web",
            ].contains(name)
            || house.supports.contains { $0.name == name }
        guard !isExempt else { return false }
        guard let tested = Place(path: "Tests/\(name)/-")?.testedRoom else { return true }
        return !sources.contains(tested)
    }
    return strangers
        + orphans.map { Offence("Tests/\($0)", "mirrors no folder of Sources: name it after one") }
}

/// Returns the module of each import, whatever precedes or follows its name.
func imports(of source: SourceText) -> [(module: String, line: Int)] {
    var found: [(module: String, line: Int)] = []
    let kinds = words("typealias struct class enum protocol let var func actor")
    for (index, line) in source.codeLines.enumerated() {
        let parts = line.split { $0.isWhitespace || $0 == ";" }
        for (position, part) in parts.enumerated() where part == "import" {
            guard parts[..<position].allSatisfy(mayPrecedeImport) else { continue }
            let rest = parts[(position + 1)...].drop { kinds.contains(String($0)) }
            guard let module = rest.first?.split(separator: ".").first else { continue }
            found.append((String(module), index + 1))
        }
    }
    return found
}

private func mayPrecedeImport(_ word: Substring) -> Bool {
    word.hasPrefix("@")
        || words("public package internal private fileprivate").contains(String(word))
}
