import Testing

/// Each check finds an offence made for it, and lets a similar text pass.
@Suite struct CheckTests {
    private func read(_ path: String, _ text: String) -> SourceText {
        SourceText(path: path, text)
    }

    // MARK: Imports

    @Test(arguments: [
        ("Sources/Wire/A.swift", "import Glibc"),
        ("Sources/CRDT/A.swift", "import Chat"),
        ("Sources/Chat/A.swift", "public import Foundation"),
        ("Sources/Replication/A.swift", "import Synchronization"),
        ("Sources/Node/A.swift", "import Dispatch"),
        ("Sources/NetworkIO/A.swift", "import Wire"),
        ("Sources/Storage/A.swift", "@preconcurrency import Foundation"),
        ("Tests/Proof/Simulator/A.swift", "import struct Storage.Database"),
        ("Sources/grapevine/A.swift", "#if os(Linux)\nimport Storage\n#endif"),
        ("Tests/WireTests/A.swift", "@testable import Chat"),
        ("Tests/TidyTests/A.swift", "import Wire"),
    ])
    func `an import that is not in the table is an offence`(path: String, text: String) {
        #expect(undeclaredImports(in: read(path, text), house: .grapevine).count == 1)
    }

    @Test(arguments: [
        ("Sources/Wire/A.swift", "import CXXHash"),
        ("Sources/Storage/A.swift", "import CSQLite\nimport Glibc\nimport Chat"),
        ("Sources/Wire/A.swift", "// import Glibc\nlet a = \"import Glibc\""),
        ("Sources/Wire/A.swift", "let isImported = imports.import"),
        ("Tests/ChatTests/A.swift", "import Testing\nimport Wire\n@testable import Chat"),
        ("Tests/SimulatorTests/A.swift", "import Simulator\nimport Storage\nimport Foundation"),
    ])
    func `an import of the table is none`(path: String, text: String) {
        #expect(undeclaredImports(in: read(path, text), house: .grapevine).isEmpty)
    }

    @Test func `a source outside every target is an offence`() {
        #expect(
            undeclaredImports(in: read("Sources/A.swift", ""), house: .grapevine).count == 1)
    }

    @Test func `an unknown target and a test of nothing are offences`() {
        let offences = unknownTargets(
            sources: ["Wire", "Extras"],
            tests: ["WireTests", "TidyTests", "ChatTests", "Fixtures"],
            house: .grapevine)
        #expect(offences.map(\.path) == ["Sources/Extras", "Tests/ChatTests", "Tests/Fixtures"])
    }

    @Test func `no room is reachable from itself, and every import is a room`() {
        let house = House.grapevine
        for room in house.rooms {
            #expect(!house.below(room).contains(room.name))
            #expect(house.below(room).allSatisfy { house[$0] != nil })
        }
    }

    // MARK: The glossary

    @Test func `a type that only the glossary names is an offence`() throws {
        let sources = [read("Sources/Wire/A.swift", "struct Known {}\ntypealias Alias = Known")]
        let text = "# Glossary\n- **A term** (`Known`, `Alias.member`): is there.\n- `Gone`: not."
        let offences = try unknownTerms(inGlossary: text, among: sources)
        #expect(offences.map(\.line) == [3])
    }

    // MARK: Comments

    @Test(arguments: [
        ("/// A shard.\nstruct A {}", true), ("/// Whether it serves.\nenum A {}", false),
        ("/// Returns it.\n@MainActor\npublic final class A {}", false),
        ("/// Bytes that wait.\n/// Returns.\nprivate struct A {}", true),
        ("struct A {}", true), ("/// Returns it.\nfunc a() {}", true),
        ("/// `grapevine ask`: asks.\nenum A {}", true),
    ])
    func `a type's comment begins with a noun phrase`(text: String, isFine: Bool) {
        #expect(typeCommentsWithoutNoun(in: read("Sources/Wire/A.swift", text)).isEmpty == isFine)
    }

    // MARK: Sizes

    @Test func `a line, a file and a function over their limits are offences`() {
        let path = "Sources/Wire/A.swift"
        let columns = String(repeating: "é", count: 100)
        #expect(longLines(in: read(path, columns)).isEmpty)
        #expect(longLines(in: read(path, "\n" + columns + "!")).map(\.line) == [2])

        let file = String(repeating: "\n", count: 500)
        #expect(longFile(read(path, file)).isEmpty)
        #expect(longFile(read(path, file + "\n")).count == 1)

        let body = String(repeating: "\n", count: 69)
        #expect(longFunctions(in: read(path, "func f() {\(body)}")).isEmpty)
        #expect(longFunctions(in: read(path, "\nfunc f() {\(body)\n}")).map(\.line) == [2])
    }

    @Test(arguments: [
        ("func f(_ a: Int = { 1 }()) -> @Sendable () -> Void {\n}", "f"),
        ("@Test func `a name`() throws {\nx {\n} }", "func"),
        ("init?(a: [Int]) {\n}", "init"),
        ("subscript(a: Int) -> Int {\n}", "subscript"),
        ("static func < (a: Int, b: Int) -> Bool {\n}", "func"),
        ("func f<T>(_ a: T)\nwhere T: A {\n}", "f"),
        ("protocol P {\nfunc a()\nfunc b() -> Int\n}\nextension P { func c() {\n} }", "c"),
        ("let a = A.init(b)\nif a {\n}\ndeinit {}", "deinit"),
    ])
    func `a function is found with its whole body`(text: String, name: String) {
        let found = functions(in: read("Sources/Wire/A.swift", text))
        #expect(found.map(\.name) == [name])
        let last = text.split(separator: "\n", omittingEmptySubsequences: false).count
        #expect(found.first?.lines.upperBound == last)
    }

    // MARK: Words

    @Test(arguments: [
        ("Sources/Chat/A.swift", "Task { await f() }"),
        ("Sources/Chat/A.swift", "Task(priority: .low) { }"),
        ("Sources/Node/A.swift", "Task.detached { }"),
        ("Sources/Node/A.swift", "Task<Void, Never> { }"),
        ("Sources/Node/A.swift", "await Task.sleep(for: .seconds(1))"),
        ("Sources/Wire/A.swift", "let clock = ContinuousClock()"),
        ("Sources/CRDT/A.swift", "var generator = SystemRandomNumberGenerator()"),
        ("Sources/CRDT/A.swift", "let a = Int.random(in: 0..<2)"),
        ("Sources/CRDT/A.swift", "let a = all.shuffled()"),
        ("Sources/Server/A.swift", "fileprivate let a = 1"),
        ("Sources/Server/A.swift", "let a = try! f()"),
        ("Sources/Server/A.swift", "let a = try? f()"),
        ("Sources/Server/A.swift", "let a = b as! Int"),
        ("Sources/Server/A.swift", "import Foundation"),
        ("Sources/GrapevineClient/A.swift", "#if os(Linux)\n#endif"),
        ("Sources/Server/A.swift", "struct ConnectionManager {}"),
        ("Sources/Server/A.swift", "enum StringUtils {}"),
        ("Sources/Server/A.swift", "// It was previously a list."),
        ("Sources/Server/A.swift", "/// No longer a list."),
        ("Sources/Server/A.swift", "f()  // TODO: g()"),
        ("Tests/WireTests/A.swift", "let a = try! f()"),
        ("Tests/TidyTests/A.swift", "struct Helpers {}"),
        ("Sources/Node/A.swift", "func onLevel() {}"),
        ("Tests/NodeTests/A.swift", "let seats: [Int] = []"),
    ])
    func `a banned word is an offence`(path: String, text: String) throws {
        #expect(try bannedWords(in: read(path, text), house: .grapevine).count == 1)
    }

    @Test(arguments: [
        ("Sources/Server/A.swift", "Task { await f() }"),
        ("Sources/Chat/A.swift", "let a = \"Task { try! }\"  // no Task { and no try! here"),
        ("Sources/Chat/A.swift", "struct Subtask {}; let a = Subtask(1)"),
        ("Sources/Chat/A.swift", "let a = all.shuffled(using: &random)"),
        ("Sources/Server/A.swift", "struct Commons {}; let manager = Utilization()"),
        ("Sources/Server/A.swift", "// A new list is sent now.\nlet previously = 1"),
        ("Sources/Server/A.swift", "// A name is no longer than 64 bytes."),
        ("Tests/WireTests/A.swift", "let a = try? f()"),
        ("Sources/Node/A.swift", "let logLevel = level(of: seat)"),
    ])
    func `what only looks like a banned word is none`(path: String, text: String) throws {
        #expect(try bannedWords(in: read(path, text), house: .grapevine).isEmpty)
    }

    @Test func `a retired name in a module of the pages is an offence`() throws {
        let text = "import { keeper } from './a.js'\nconst doorkeeper = 1\nfunction isLevelled() {}"
        let offences = try retiredNames(inScript: "Sources/Web/chat/a.js", text)
        #expect(offences.map(\.line) == [2, 3])
    }

    @Test func `a vague file or folder name is an offence`() throws {
        #expect(try vagueFileName("Sources/Wire/Utils/A.swift").count == 1)
        #expect(try vagueFileName("Sources/Wire/ByteHelpers.swift").count == 1)
        #expect(try vagueFileName("Sources/Wire/Common.swift").count == 1)
        #expect(try vagueFileName("Sources/Wire/Utility.swift").isEmpty)
    }

    @Test func `an unchecked promise needs an edge and a reason`() {
        let promise = "final class A: @unchecked Sendable {}"
        let reason = "// SAFETY: owned by the loop's thread,\n// which alone calls it.\n"
        func offences(_ target: String, _ text: String) -> Int {
            uncheckedSendables(in: read("Sources/\(target)/A.swift", text)).count
        }
        #expect(offences("Node", reason + promise) == 1)
        #expect(offences("Storage", promise) == 1)
        #expect(offences("Storage", "// A class.\n" + promise) == 1)
        #expect(offences("Storage", reason + "\n" + promise) == 1)
        #expect(offences("Storage", reason + promise) == 0)
        #expect(offences("NetworkIO", "/// A class.\n///\n" + reason + promise) == 0)
    }

    // MARK: The top level

    @Test func `a stranger at the top level is an offence`() {
        let names = ["Package.swift", ".ci", ".build", "docs", "Makefile", "cluster"]
        #expect(strangersAtTheTop(names).map(\.path) == ["docs", "Makefile"])
    }

    // MARK: The table

    @Test func `the table counts lines, what a node holds, and places`() {
        let node = """
            actor Node {
                let a = 1
                private var b: [Int] = []
                var c: Int { 2 }
                func run() {
                    let local = 3
                }
            }
            """
        let files = [
            ("Sources/Node/Node.swift", node),
            ("Sources/Node/More.swift", "extension Node {\n    func go() {}\n}\n"),
            ("Sources/Chat/A.swift", "case hideChat\n// HIDECHAT\n"),
            ("Tests/Proof/Simulator/A.swift", "case hideChat\n"),
        ]
        let table = SizeTable(
            of: files.map { read($0.0, $0.1) },
            files.map { CountedFile(path: $0.0, lines: $0.1.count { $0 == "\n" }) })
        let values = Dictionary(uniqueKeysWithValues: table.rows.map { ($0.name, $0.value) })
        #expect(values["core"] == "2 lines")
        #expect(values["proof"] == "1 lines")
        #expect(values["stored properties of Node"] == "2")
        #expect(values["extensions of Node"] == "1 files, 3 lines, 1 functions")
        #expect(values["places for HIDECHAT"] == "2 lines in 1 files")
    }
}
