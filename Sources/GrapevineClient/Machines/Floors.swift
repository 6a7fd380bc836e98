/// What sure answers have to include beside the token of the last event: what earlier answers have
/// shown, and what earlier streams have told, since a stream that goes on at a node which lags
/// begins with earlier tokens.
struct Floors: Equatable, Codable, Sendable {
    /// The most tokens that are kept.
    static let countMax = 4

    private struct Floor: Equatable, Codable {
        /// The node whose stream has told the token; nil for the token of an answer, and where that
        /// is not known.
        let node: Int?
        let token: String
    }

    private var floors: [Floor] = []

    var tokens: [String] { floors.map(\.token) }

    /// Notes the last token of a node's stream, which another stream follows.
    ///
    /// It includes all earlier tokens of the node's streams.
    mutating func note(_ token: String, of node: Int?) {
        floors.removeAll { $0.token == token || $0.node == node && node != nil }
        floors = floors.suffix(Self.countMax - 1) + [Floor(node: node, token: token)]
    }

    /// Notes the token of an answer, which stands for all that the answer had to include, too.
    mutating func note(answer token: String, including tokens: [String]) {
        floors.removeAll { tokens.contains($0.token) || $0.token == token }
        floors = floors.suffix(Self.countMax - 1) + [Floor(node: nil, token: token)]
    }
}
