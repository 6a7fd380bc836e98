/// The users who type: this one, which is told to nodes, and others, which is shown.
///
/// Without a connection nothing of it leaves, and nothing is shown.
///
/// Times are milliseconds of a monotonic clock.
struct Typing: Equatable, Sendable {
    /// Milliseconds after which it is told again that the user types on.
    private static let repetition: Int64 = 3_000
    /// Milliseconds after which a user who was said to type is shown no more.
    ///
    /// A node says so earlier.
    private static let shown: Int64 = 7_000
    /// The most users of a conversation who are shown.
    private static let usersMax = 20

    /// When it was last told that the user types, by conversation.
    private var told: [String: Int64] = [:]
    /// Until when others are shown, by conversation and user.
    private var typists: [String: [String: Int64]] = [:]

    /// Notes that the user types, or does no more.
    ///
    /// - Returns: what is to be told to the node, if anything.
    mutating func set(
        _ isTyping: Bool, in conversation: String, isConnected: Bool, now: Int64
    ) -> Bool? {
        guard isConnected else { return nil }
        if isTyping {
            if let last = told[conversation], now < last + Self.repetition { return nil }
            told[conversation] = now
            return true
        }
        return told.removeValue(forKey: conversation) == nil ? nil : false
    }

    /// Notes that the user has sent a message, which ends the typing at the nodes, too.
    mutating func noteSent(in conversation: String) {
        told[conversation] = nil
    }

    /// Notes what an event says of another user.
    mutating func note(_ isTyping: Bool, by user: String, in conversation: String, now: Int64) {
        var users = typists[conversation] ?? [:]
        users[user] =
            isTyping && (users[user] != nil || users.count < Self.usersMax)
            ? now + Self.shown : nil
        typists[conversation] = users.isEmpty ? nil : users
    }

    /// Forgets everything, since the connection is lost.
    mutating func clear() {
        told = [:]
        typists = [:]
    }

    /// Removes those whose time is over.
    mutating func tick(now: Int64) {
        for (conversation, users) in typists {
            let left = users.filter { $0.value > now }
            typists[conversation] = left.isEmpty ? nil : left
        }
    }

    /// The time at which ``tick(now:)`` is to be called.
    var deadline: Int64? { typists.values.flatMap(\.values).min() }

    /// Returns the users who type in a conversation, in the order of their ids.
    func users(in conversation: String) -> [String] {
        typists[conversation]?.keys.sorted() ?? []
    }
}
