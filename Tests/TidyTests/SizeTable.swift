import Foundation

/// A text file of the repository that people write: code, pages, scripts; no recorded data.
struct CountedFile {
    let path: String
    let lines: Int
}

/// The sizes of the parts of the repository, and how many places the same thing has, as a table: to
/// be read from one change of the structure to the next, and compared.
struct SizeTable {
    private(set) var rows: [(name: String, value: String)] = []

    /// The pure values on which everything else stands.
    private static let core = ["Wire", "CRDT", "Membership", "Placement", "Replication", "Chat"]
    private static let longFile = 400
    private static let longFunction = 40

    /// - Parameters:
    ///   - sources: all Swift sources, those of tests, too.
    ///   - files: all files, those included.
    init(of sources: [SourceText], _ files: [CountedFile]) {
        func lines(where isCounted: (CountedFile) -> Bool) -> String {
            "\(files.filter(isCounted).reduce(0) { $0 + $1.lines }) lines"
        }
        func isSwift(_ file: CountedFile) -> Bool { file.path.hasSuffix(".swift") }
        func target(_ path: String) -> String {
            String(path.split(separator: "/").dropFirst().first ?? "")
        }
        rows = [
            ("core", lines { isSwift($0) && Self.core.contains(target($0.path)) }),
            (
                "Swift product, without web",
                lines { isSwift($0) && $0.path.hasPrefix("Sources/") }
            ),
            ("proof", lines { $0.path.hasPrefix("\(Place.proof)/") }),
            ("web", lines { $0.path.hasPrefix("Sources/Web/") }),
            ("Sources", lines { $0.path.hasPrefix("Sources/") }),
            ("everything", lines { _ in true }),
        ]
        let product = sources.filter { $0.path.hasPrefix("Sources/") }
        addNode(product.filter { target($0.path) == "Node" })
        addPlaces(product)
        let all = sources.filter { Place(path: $0.path)?.tree == .sources }
        let long = all.count { $0.lines.count - 1 > Self.longFile }
        let longest = all.flatMap { functions(in: $0) }.count {
            $0.lines.count > Self.longFunction
        }
        rows.append(("sources above \(Self.longFile) lines", "\(long)"))
        rows.append(("functions above \(Self.longFunction) lines", "\(longest)"))
        let folders = Dictionary(grouping: all) { $0.path.split(separator: "/").dropLast() }
        rows.append(
            ("folders of more than 30 files", "\(folders.values.count { $0.count > 30 })"))
    }

    /// Counts what the node's actor holds, and what is written as an extension of it.
    private mutating func addNode(_ sources: [SourceText]) {
        let stored = sources.first { $0.fileName == "Node.swift" }.map { source in
            source.codeLines.count { line in
                let isMember = line.hasPrefix("    ") && !line.hasPrefix("     ")
                let words = line.split(separator: " ")
                let isStored = words.contains("let") || words.contains("var")
                return isMember && isStored && !line.hasSuffix("{") && !line.contains(" static ")
                    && !line.hasSuffix("}")
            }
        }
        let extensions = sources.filter { source in
            source.codeLines.contains { $0.hasPrefix("extension Node {") }
        }
        let functionCount = extensions.reduce(0) { $0 + functions(in: $1).count }
        let lineCount = extensions.reduce(0) { $0 + $1.lines.count - 1 }
        rows.append(("stored properties of Node", stored.map { "\($0)" } ?? "no Node.swift"))
        rows.append(
            (
                "extensions of Node",
                "\(extensions.count) files, \(lineCount) lines, \(functionCount) functions"
            ))
    }

    /// Counts where a verb of users is named: those lines change when a similar one is added.
    private mutating func addPlaces(_ sources: [SourceText]) {
        let clients = ["ChatClient", "LineClient", "grapevine", "Manual"]
        let places = sources.filter { source in
            !clients.contains { source.path.hasPrefix("Sources/\($0)/") }
        }.map { source in
            source.lines.count { $0.lowercased().contains("hidechat") }
        }.filter { $0 > 0 }
        rows.append(
            ("places for HIDECHAT", "\(places.reduce(0, +)) lines in \(places.count) files"))
    }

    var text: String {
        let width = rows.map(\.name.count).max() ?? 0
        return rows.map { name, value in
            name + String(repeating: " ", count: width - name.count + 2) + value + "\n"
        }.joined()
    }
}
