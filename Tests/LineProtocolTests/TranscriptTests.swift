import Chat
import Foundation
import LineProtocol
import Testing

/// Lines and the requests that they parse to, as files to be read: `Transcripts/*.txt`.
///
/// `GRAPEVINE_REWRITE_TRANSCRIPTS=1 swift test` writes what the parser returns into them.
@Suite struct TranscriptTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "Transcripts")

    @Test(arguments: ["chat", "cluster", "errors"])
    func `each line parses to what its transcript says`(name: String) throws {
        let file = Self.folder.appending(path: name + ".txt")
        let written = try String(contentsOf: file, encoding: .utf8)
        let parsed = Self.replayed(written)
        if ProcessInfo.processInfo.environment["GRAPEVINE_REWRITE_TRANSCRIPTS"] == "1" {
            try parsed.write(to: file, atomically: true, encoding: .utf8)
        } else {
            #expect(written == parsed)
        }
        #expect(written.contains("> "))
    }

    /// Returns the transcript with its `> ` lines and comments kept, and each answer made anew.
    private static func replayed(_ transcript: String) -> String {
        var output: [String] = []
        for line in transcript.split(separator: "\n") {
            if line.hasPrefix("#") {
                output.append(String(line) + "\n")
            } else if line.hasPrefix("> ") {
                output.append(String(line))
                output.append(answer(to: String(line.dropFirst(2))) + "\n")
            }
        }
        return output.joined(separator: "\n")
    }

    private static func answer(to line: String) -> String {
        switch parsed(line) {
        case .success(nil): "nothing"
        case .success(.write(let change, _, _)?):
            "\(change.user) changes \(plain(change.key)): \(plain(change.action))"
        case .success(.read(let query, let user)?), .success(.list(let query, let user, .whole)?):
            "\(user) reads \(plain(query.base))"
        case .success(.list(let query, let user, let page)?):
            "\(user) reads \(plain(page)) of \(plain(query.base))"
        case .success(let request?): plain(request)
        case .failure(let error): error.description
        }
    }

    private static func plain(_ value: some Any) -> String {
        String(describing: value)
            .replacing(/(LineProtocol|Chat|Wire|Request|[A-Za-z]+(Query|\.Action))\./, with: "")
    }

    private static func plain(_ key: DocumentKey) -> String {
        key.id.isEmpty ? key.partition : "\(key.partition)/\(key.id)"
    }
}
