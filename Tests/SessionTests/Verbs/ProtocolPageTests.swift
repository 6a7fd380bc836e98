import Admin
import Chat
import Foundation
import LineProtocol
import NodeKit
import Testing

@testable import Session

/// The agreement of `cluster/PROTOCOL.md` with a node: every verb is on the page as `HELP` writes
/// it, with an example that a node answers as the page says.
@Suite struct ProtocolPageTests {
    /// A request on the page, and the lines of its reply.
    private struct Example {
        let request: String
        var reply: [String] = []
    }

    private static let path = "cluster/PROTOCOL.md"

    private let file: URL
    private let page: String
    /// In the order of the page, under the last heading before each.
    private let examples: [(heading: String, examples: [Example])]

    init() throws {
        file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: Self.path)
        page = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        var sections: [(heading: String, examples: [Example])] = []
        var isInBlock = false
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isInBlock.toggle()
            } else if line.hasPrefix("### "), !isInBlock {
                sections.append((String(line.dropFirst(4)), []))
            } else if isInBlock, line.hasPrefix("> ") {
                sections[sections.count - 1].examples.append(
                    Example(request: String(line.dropFirst(2))))
            } else if isInBlock, var example = sections[sections.count - 1].examples.popLast() {
                example.reply.append(String(line))
                sections[sections.count - 1].examples.append(example)
            }
        }
        examples = sections
    }

    @Test func `every verb is on it as HELP writes it, once, with an example of it`() {
        let headings = examples.map(\.heading)
        #expect(headings.sorted() == Verb.all.map { "`\($0.usage)`" }.sorted())
        for verb in Verb.all {
            let section = examples.first { $0.heading == "`\(verb.usage)`" }
            #expect(
                section?.examples.contains { ($0.request + " ").hasPrefix(verb.name + " ") }
                    ?? false, "an example of \(verb.name)")
        }
    }

    @Test func `the table of data lines is that of the views`() {
        let rows = page.split(separator: "\n").filter { row in
            row.hasPrefix("| `") && row.contains("=<")
        }
        #expect(rows.map(String.init) == ViewDescription.lines.map(\.lineRow))
    }

    @Test func `the example of each verb is on it, and is a request`() throws {
        for verb in Verb.all {
            let isThere =
                page.contains("\n> \(verb.example)\n") || page.contains("`\(verb.example)`")
            #expect(isThere, "\(verb.example)")
            #expect((verb.example + " ").hasPrefix(verb.name + " "))
            var line = verb.example
            let request = try line.withUTF8 {
                try Request.parse(UnsafeRawBufferPointer($0)) { "m1" }
            }
            #expect(request != nil, "\(verb.example)")
        }
    }

    /// With `GRAPEVINE_GOLDEN=write` in the environment the list is written anew.
    @Test func `its list of verbs is the table's`() throws {
        let rows = Verb.all.map { "- `\($0.usage)`:\n  \($0.about)" }
        let list = "filter ProtocolPageTests -->\n" + rows.joined(separator: "\n") + "\n<!-- End"
        if ProcessInfo.processInfo.environment["GRAPEVINE_GOLDEN"] == "write" {
            let start = try #require(page.firstRange(of: "filter ProtocolPageTests -->"))
            let end = try #require(page.firstRange(of: "<!-- End"))
            var written = page
            written.replaceSubrange(start.lowerBound..<end.upperBound, with: list)
            try written.write(to: file, atomically: true, encoding: .utf8)
        }
        let kept = try String(contentsOf: file, encoding: .utf8)
        #expect(kept.contains(list), "GRAPEVINE_GOLDEN=write swift test writes it")
    }

    @Test func `HELP tells of it, and it tells of every code and every kind of event`() {
        #expect(Verb.all.contains { $0.about.contains(Self.path) })
        for code in [400, 401, 403, 404, 409, 413, 429, 500, 503, 504] {
            #expect(page.contains("\n| \(code) | "), "\(code)")
        }
        for kind in [
            "message", "edit", "restore", "delete", "pin", "unpin", "read", "delivered", "typing",
            "member", "archive", "unarchive", "hide", "action", "profile",
        ] { #expect(page.contains("`\(kind)`"), "\(kind)") }
    }

    @Test func `a node answers each example as the page says`() {
        let world = World()
        let client = world.n1.connect()
        for example in examples.flatMap(\.examples) {
            world.clock.advance(milliseconds: 1)
            client.say(example.request)
            for _ in 0..<3 { world.n1.settle() }
            let heard = client.heard()
            #expect(
                Self.matches(heard[...], example.reply[...]),
                "\(example.request): \(heard.joined(separator: "\n"))")
        }
    }

    /// Whether lines are as the page has them; a line that is `…` stands for any number of lines.
    private static func matches(
        _ lines: ArraySlice<String>, _ patterns: ArraySlice<String>
    ) -> Bool {
        guard let pattern = patterns.first else { return lines.isEmpty }
        if pattern == "…" {
            return (lines.startIndex...lines.endIndex).contains {
                matches(lines[$0...], patterns.dropFirst())
            }
        }
        guard let line = lines.first, isLike(line[...], pattern) else { return false }
        return matches(lines.dropFirst(), patterns.dropFirst())
    }

    private static func isLike(_ line: Substring, _ pattern: String) -> Bool {
        let parts = pattern.split(separator: "…", omittingEmptySubsequences: false)
        guard parts.count > 1 else { return line == pattern }
        guard line.hasPrefix(parts[0]) else { return false }
        var rest = line.dropFirst(parts[0].count)
        for part in parts.dropFirst().dropLast() {
            guard let found = rest.firstRange(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.hasSuffix(parts[parts.count - 1])
    }
}
