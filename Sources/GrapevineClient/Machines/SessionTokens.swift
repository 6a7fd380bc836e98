/// The tokens that sure answers have to include beside that of the last event: what earlier answers
/// have shown, what the user has done, and what earlier streams have told, since a stream that goes
/// on at a node which lags begins with earlier tokens.
struct SessionTokens: Equatable, Codable, Sendable {
    /// The most tokens that are kept.
    static let countMax = 4

    private struct Entry: Equatable, Codable {
        /// The process of the node whose stream has told the token; nil for the token of an answer,
        /// and where that is not known.
        let process: String?
        let token: String
    }

    private var entries: [Entry] = []
    /// The process of the node whose stream has told the token of the last event, which is not
    /// among these; nil if that is not known.
    private var lastProcess: String?

    var texts: [String] { entries.map(\.token) }

    /// Notes the stream that has told the token of the last event.
    ///
    /// - Parameter stream: the stream's name, which begins with that of the node's process; nil for
    ///   a stream whose tokens may not include those of the process's earlier streams.
    mutating func noteLast(of stream: String?) {
        lastProcess = stream.map { String($0.prefix { $0 != "." }) }
    }

    /// Adds the token of the last event, which another stream follows and which includes all
    /// earlier tokens of its process's streams.
    mutating func add(last token: String) { add(token, of: lastProcess) }

    /// Adds the token of a write.
    mutating func add(_ token: String) { add(token, of: nil) }

    private mutating func add(_ token: String, of process: String?) {
        entries.removeAll { $0.token == token || $0.process == process && process != nil }
        entries = entries.suffix(Self.countMax - 1) + [Entry(process: process, token: token)]
    }

    /// Replaces all tokens by that of an answer that had to include them.
    mutating func note(answer token: String, including tokens: [String]) {
        guard texts.allSatisfy(tokens.contains) else { return }
        entries = [Entry(process: nil, token: token)]
    }
}
