/// What was said and is not acknowledged: it is sent again, with the same ids, until it is.
///
/// One post is under way at a time, so that they arrive in the order in which they were made.
struct Outbox {
    struct Post {
        let line: String
        /// What to call it in a sentence.
        let name: String
        let message: Message?
        /// What was typed: it is called back first when the post is refused.
        let typed: String
        /// The chat that is opened once the post is acknowledged.
        var opens: String?
        /// The chat that is closed then.
        var closes: String?
        var refusals = 0
    }

    struct Message {
        let conversation: String
        let id: String
        let text: String
    }

    /// How often a post that cannot be done now is sent to the same node.
    static let triesPerNode = 3

    /// How long to wait in between.
    static let pauseMilliseconds: UInt64 = 700

    private(set) var posts: [Post] = []
    /// The number of the request that carries the first.
    private(set) var underWay: Int?
    private var notBefore: UInt64 = 0

    var isEmpty: Bool { posts.isEmpty }

    func messages(in conversation: String) -> [Message] {
        posts.compactMap(\.message).filter { $0.conversation == conversation }
    }

    /// What is lost with the process, in full: a person may want to send it again.
    var unsent: [String] {
        posts.map { post in
            post.message.map { "not sent to \($0.conversation): \($0.text)" }
                ?? "not done: \(post.typed)"
        }
    }

    mutating func add(_ post: Post) { posts.append(post) }

    /// The line to send, if it is time for one.
    mutating func next(number: Int, at now: UInt64) -> String? {
        guard underWay == nil, now >= notBefore, let post = posts.first else { return nil }
        underWay = number
        return post.line
    }

    /// The first is acknowledged, or refused for good.
    mutating func finish() -> Post {
        underWay = nil
        return posts.removeFirst()
    }

    /// The first cannot be done now.
    ///
    /// - Returns: whether another node should be asked.
    mutating func postpone(at now: UInt64) -> Bool {
        underWay = nil
        notBefore = now + Self.pauseMilliseconds
        posts[0].refusals += 1
        return posts[0].refusals.isMultiple(of: Self.triesPerNode)
    }

    /// The connection is gone: whether the first was done is unknown.
    mutating func forgetConnection() { underWay = nil }
}
