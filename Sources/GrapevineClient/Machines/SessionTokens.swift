/// The tokens that sure answers have to include beside that of the last event: what earlier answers
/// have shown, what the user has done, and what earlier streams have told, since a stream that goes
/// on at a node which lags begins with earlier tokens.
struct SessionTokens: Equatable, Codable, Sendable {
    /// The most tokens that are kept.
    static let countMax = 4

    private struct Entry: Equatable, Codable {
        /// The node whose stream has told the token; nil for the token of an answer, and where that
        /// is not known.
        let node: Int?
        let token: String
    }

    private var entries: [Entry] = []

    var texts: [String] { entries.map(\.token) }

    /// Adds the last token of a node's stream, which another stream follows and which includes all
    /// earlier tokens of the node's streams; or the token of a write.
    mutating func add(_ token: String, of node: Int? = nil) {
        entries.removeAll { $0.token == token || $0.node == node && node != nil }
        entries = entries.suffix(Self.countMax - 1) + [Entry(node: node, token: token)]
    }

    /// Replaces all tokens by that of an answer that had to include them.
    mutating func note(answer token: String, including tokens: [String]) {
        guard texts.allSatisfy(tokens.contains) else { return }
        entries = [Entry(node: nil, token: token)]
    }
}
