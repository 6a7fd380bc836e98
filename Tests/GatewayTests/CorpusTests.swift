import Foundation
import Testing

/// Thousands of requests (lines, HTTP, WebSocket) with their answers, byte by byte: a change of
/// the structure leaves each of them equal.
///
/// `GRAPEVINE_REWRITE_TRANSCRIPTS=1` records the answers anew.
@Suite struct CorpusTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "Corpus")

    static let names = [
        "accounts", "changes", "http-conversations", "http-marks", "http-messages", "http-other",
        "http-people", "limits", "operations", "socket", "verbs-accounts", "verbs-conversations",
        "verbs-cut",
        "verbs-devices", "verbs-empty", "verbs-others", "verbs-people", "watching",
    ]

    @Test func `each script is played, and there are thousands of requests`() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        #expect(files.sorted() == Self.names.map { "\($0).txt" })
        let requests = try files.reduce(0) { sum, file in
            let text = try String(contentsOf: Self.folder.appending(path: file), encoding: .utf8)
            return sum + text.split(separator: "\n").count { $0.contains(#/^\w+> /#) }
        }
        #expect(requests >= 5_000)
    }

    @Test(arguments: names) func `each request is answered as recorded`(name: String) throws {
        let file = Self.folder.appending(path: "\(name).txt")
        let recorded = try String(contentsOf: file, encoding: .utf8)
        let played = try CorpusPlayer().play(recorded)
        if ProcessInfo.processInfo.environment["GRAPEVINE_REWRITE_TRANSCRIPTS"] == "1" {
            try played.write(to: file, atomically: true, encoding: .utf8)
            return
        }
        let (old, new) = (recorded.split(separator: "\n"), played.split(separator: "\n"))
        let line = zip(old, new).enumerated().first { $1.0 != $1.1 }?.offset
        let differing = line ?? min(old.count, new.count)
        #expect(
            recorded == played,
            """
            \(name), line \(differing + 1) of those that are not empty:
            recorded \(differing < old.count ? old[differing] : "the end")
            now      \(differing < new.count ? new[differing] : "the end")
            """)
    }
}
