import Foundation
import Testing

@testable import LineClient

/// The table of options in `cluster/README.md`, compared with what
/// `grapevine ask --help` and `grapevine chat --help` print.
@Suite struct HandbookTests {
    private let page: String

    init() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "cluster/README.md")
        page = String(decoding: try Data(contentsOf: file), as: UTF8.self)
    }

    /// The options of a command in the table, in its order; a row is
    /// `| option | command | value | default | meaning |`, the first two in backticks.
    private func rows(of command: String) -> [String] {
        page.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 5, cells[0].hasPrefix("`--"), cells[1] == "`\(command)`" else {
                return nil
            }
            return cells[0].trimmingCharacters(in: CharacterSet(charactersIn: "`"))
        }
    }

    /// The options that a usage text names, wherever it names them.
    private func options(in usage: String) throws -> Set<String> {
        let option = try Regex("--[a-z]+(?:-[a-z]+)*")
        return Set(usage.matches(of: option).map { String(usage[$0.range]) })
    }

    @Test(arguments: [("ask", AskCommand.usage), ("chat", ChatCommand.usage)])
    func `the table has every option of a client, once, and no other`(
        command: String, usage: String
    ) throws {
        let listed = rows(of: command)
        let known = try options(in: usage)
        #expect(!known.isEmpty)
        #expect(Set(listed).count == listed.count)
        #expect(known.subtracting(listed) == [], "in --help, and not in the table")
        #expect(Set(listed).subtracting(known) == [], "in the table, and not in --help")
    }
}
