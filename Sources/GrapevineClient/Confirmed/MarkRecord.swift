/// The messages up to which a participant of a conversation has read and received it.
///
/// A mark never moves back: of two, the one with the later position holds.
struct MarkRecord: Equatable, Codable, Sendable {
    /// A message up to which a mark goes.
    struct Position: Equatable, Codable, Sendable {
        var message: String
        /// The time at which the message was sent.
        var sent: ExactTime
        /// The time at which the mark was set.
        var at: ExactTime?
    }

    let user: String
    var read: Position?
    var delivered: Position?

    init(user: String, read: Position? = nil, delivered: Position? = nil) {
        self.user = user
        self.read = read
        self.delivered = delivered
    }

    mutating func merge(_ other: MarkRecord) {
        read = Self.further(read, other.read)
        delivered = Self.further(delivered, other.delivered)
    }

    private static func further(_ left: Position?, _ right: Position?) -> Position? {
        guard let left, let right else { return left ?? right }
        // One position may be told with the times of two marks: the earlier one is kept.
        let (mine, theirs) = (left.at ?? .zero, right.at ?? .zero)
        return (left.sent, theirs) >= (right.sent, mine) ? left : right
    }
}
