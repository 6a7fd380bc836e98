/// The unacknowledged posts, each of which is sent again with the same id until it is acknowledged.
///
/// One post is in flight at a time, so that they arrive in the order in which they were made.
struct Outbox {
    struct Post {
        let line: String
        /// The name of the action in a sentence.
        let name: String
        let message: Message?
        /// The typed line; it is recalled first if the post is refused.
        let typed: String
        /// The chat that is opened once the post is acknowledged.
        var opens: String?
        /// The chat that is closed once the post is acknowledged.
        var closes: String?
        var refusals = 0
    }

    struct Message {
        let conversation: String
        let id: String
        let text: String
    }

    /// The number of times that a temporarily refused post is sent to one node.
    static let triesPerNode = 3

    /// The pause between two attempts, in milliseconds.
    static let pauseMilliseconds: UInt64 = 700

    private(set) var posts: [Post] = []
    /// The number of the request that carries the first post; nil if none does.
    private(set) var underWay: Int?
    private var notBefore: UInt64 = 0

    var isEmpty: Bool { posts.isEmpty }

    func messages(in conversation: String) -> [Message] {
        posts.compactMap(\.message).filter { $0.conversation == conversation }
    }

    /// The posts that are lost with the process, in full, so that a person can send them again.
    var unsent: [String] {
        posts.map { post in
            post.message.map { "not sent to \($0.conversation): \($0.text)" }
                ?? "not done: \(post.typed)"
        }
    }

    mutating func add(_ post: Post) { posts.append(post) }

    /// Returns the line to send now; nil if a post is in flight or has to wait.
    mutating func next(number: Int, at now: UInt64) -> String? {
        guard underWay == nil, now >= notBefore, let post = posts.first else { return nil }
        underWay = number
        return post.line
    }

    /// Removes the first post, which was acknowledged or refused for good.
    mutating func finish() -> Post {
        underWay = nil
        return posts.removeFirst()
    }

    /// Delays the first post after a temporary refusal.
    ///
    /// - Returns: whether another node should be tried.
    mutating func postpone(at now: UInt64) -> Bool {
        underWay = nil
        notBefore = now + Self.pauseMilliseconds
        posts[0].refusals += 1
        return posts[0].refusals.isMultiple(of: Self.triesPerNode)
    }

    /// Records the end of the connection: whether the first post was executed is unknown.
    mutating func forgetConnection() { underWay = nil }
}
