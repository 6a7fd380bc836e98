import Foundation
import Testing

/// Every check, over the repository itself.
@Suite struct RepositoryTests {
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test func `every import is in the table of the house`() throws {
        try expectNone { undeclaredImports(in: $0, house: .grapevine) }
    }

    @Test func `every target has a room, and every test target a tested one`() throws {
        let offences = unknownTargets(
            sources: try folders("Sources") + folders(Place.proof), tests: try folders("Tests"),
            house: .grapevine)
        #expect(offences.isEmpty, "\(report(offences))")
    }

    @Test func `no file, line or function is too long`() throws {
        try expectNone { longFile($0) + longLines(in: $0) + longFunctions(in: $0) }
    }

    @Test func `no banned word stands anywhere`() throws {
        try expectNone { source in
            try bannedWords(in: source, house: .grapevine) + vagueFileName(source.path)
        }
    }

    @Test func `no retired name stands in a module of the pages`() throws {
        let scripts = try FileManager.default.subpathsOfDirectory(
            atPath: Self.root.appending(path: "Sources/Web").path
        )
        .filter { $0.hasSuffix(".js") }.map { "Sources/Web/\($0)" }
        try #require(scripts.contains("Sources/Web/chat/main.js"))
        let offences = try scripts.flatMap { path in
            let url = Self.root.appending(path: path)
            return try retiredNames(inScript: path, try String(contentsOf: url, encoding: .utf8))
        }
        #expect(offences.isEmpty, "\(report(offences))")
    }

    @Test func `the comment of every type begins with a noun phrase`() throws {
        try expectNone {
            Place(path: $0.path)?.tree == .sources ? typeCommentsWithoutNoun(in: $0) : []
        }
    }

    @Test func `every unchecked promise is at an edge and says why it is safe`() throws {
        try expectNone(uncheckedSendables)
    }

    @Test func `the glossary names no type that is not there`() throws {
        let glossary = Self.root.appending(path: "Sources/Glossary.md")
        let offences = try unknownTerms(
            inGlossary: try String(contentsOf: glossary, encoding: .utf8),
            among: try Self.sources.get())
        #expect(offences.isEmpty, "\(report(offences))")
    }

    @Test func `the top level holds what the design says`() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.root.path)
        let offences = strangersAtTheTop(names)
        #expect(offences.isEmpty, "\(report(offences))")
    }

    @Test func `the first app of the documentation is the one that is compiled`() throws {
        let app = try text(of: "Tests/client/Example/main.swift")
        let article = try text(of: "Sources/GrapevineClient/GrapevineClient.docc/FirstApp.md")
        #expect(article.contains("```swift\n" + app + "```\n"))
        #expect(app.split(separator: "\n", omittingEmptySubsequences: false).count <= 101)
    }

    @Test func `each row of the library for phones has a test that exists`() throws {
        let folder = "Tests/GrapevineClientTests"
        let tests = try FileManager.default.subpathsOfDirectory(
            atPath: Self.root.appending(path: folder).path
        )
        .filter { $0.hasSuffix(".swift") }.map { try text(of: "\(folder)/\($0)") }.joined()
        let table = try text(of: "Tests/GrapevineClientTests/Rows/README.md")
        let rows = table.split(separator: "\n").map { $0.split(separator: " | ") }
            .filter { $0.count == 2 && $0[0].wholeMatch(of: /\| [A-Z]-\d\d/) != nil }
        #expect(Set(rows.map { $0[0] }).count == rows.count && rows.count == 113)
        for row in rows {
            let test = row[1].dropLast(2)
            let isElsewhere = test.hasPrefix("cluster/test ") || test.hasPrefix("open: ")
            #expect(isElsewhere || tests.contains("func `\(test)`"), "\(row[0]) \(test)")
        }
        let open = rows.filter { $0[1].hasPrefix("open: ") }
        #expect(open.count <= 3)
    }

    private func text(of path: String) throws -> String {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    /// Prints the table, so that a change of the structure can be judged by its figures.
    @Test func `the sizes of the parts can be counted`() throws {
        let table = SizeTable(of: try Self.sources.get(), try countedFiles())
        print(table.text)
        #expect(table.rows.allSatisfy { !$0.value.hasPrefix("0 lines") })
    }

    /// Returns what people write, with the number of its lines.
    private func countedFiles() throws -> [CountedFile] {
        let kinds = [".swift", ".js", ".css", ".html", ".py", ".sh", ".c", ".h"]
        return try ["Sources", "Tests", "cluster"].flatMap { tree in
            try FileManager.default.subpathsOfDirectory(
                atPath: Self.root.appending(path: tree).path
            )
            .filter { path in kinds.contains { path.hasSuffix($0) } }
            .map { path in
                let bytes = try Data(contentsOf: Self.root.appending(path: "\(tree)/\(path)"))
                return CountedFile(
                    path: "\(tree)/\(path)", lines: bytes.count { $0 == UInt8(ascii: "\n") })
            }
        }
    }

    private func expectNone(
        _ check: (SourceText) throws -> [Offence],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let offences = try Self.sources.get().flatMap(check)
        #expect(offences.isEmpty, "\(report(offences))", sourceLocation: sourceLocation)
    }

    private func report(_ offences: [Offence]) -> String {
        "\n" + offences.map(\.description).joined(separator: "\n")
    }

    private func folders(_ tree: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(
            at: Self.root.appending(path: tree), includingPropertiesForKeys: [.isDirectoryKey]
        )
        .filter { try $0.resourceValues(forKeys: [.isDirectoryKey]).isDirectory == true }
        .map(\.lastPathComponent).sorted()
    }

    /// Read and scanned once for all checks.
    private static let sources = Result { () throws -> [SourceText] in
        let found = try ["Sources", "Tests"].flatMap { tree in
            try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: tree).path)
                .filter { $0.hasSuffix(".swift") }
                .map { "\(tree)/\($0)" }
        }
        // An empty list would pass every check.
        try #require(found.contains("Tests/TidyTests/RepositoryTests.swift"))
        return try found.sorted().map { path in
            SourceText(
                path: path, try String(contentsOf: root.appending(path: path), encoding: .utf8))
        }
    }
}
