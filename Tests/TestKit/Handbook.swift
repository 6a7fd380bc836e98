import Foundation

/// The table of options in `cluster/README.md`, and the options that a usage text names.
package struct Handbook {
    private let page: String

    package init() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "cluster/README.md")
        page = String(decoding: try Data(contentsOf: file), as: UTF8.self)
    }

    /// The options of a command in the table, in its order; a row is
    /// `| option | command | value | default | meaning |`, the first two in backticks.
    package func rows(of command: String) -> [String] {
        page.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 5, cells[0].hasPrefix("`--"), cells[1] == "`\(command)`" else {
                return nil
            }
            return cells[0].trimmingCharacters(in: CharacterSet(charactersIn: "`"))
        }
    }

    /// The options that a usage text names, wherever it names them.
    package static func options(in usage: String) throws -> Set<String> {
        let option = try Regex("--[a-z]+(?:-[a-z]+)*")
        return Set(usage.matches(of: option).map { String(usage[$0.range]) })
    }
}
