/// The marks of this device that nodes have not accepted yet: the last message read and the last
/// message received of each conversation.
///
/// A mark never moves back, so only the last one is sent.
///
/// Times are milliseconds of a monotonic clock.
struct Marks: Equatable, Sendable {
    /// Milliseconds in which marks are gathered before the last one is sent.
    private static let gathering: Int64 = 200
    /// The pause after a mark that was not accepted.
    private static let pause: Int64 = 1_000
    /// The pause after a mark of which a node does not have the message, or not yet.
    private static let longPause: Int64 = 30_000

    enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        case read
        case delivered
    }

    /// A mark to be sent.
    struct Mark: Hashable, Codable, Sendable {
        let conversation: String
        let kind: Kind
        let message: String
        /// The time at which the message was sent.
        let sent: ExactTime

        var request: Request {
            let path =
                "/v1/conversations/" + encoded(conversation) + "/marks/" + kind.rawValue
            return Request(method: .put, path: path, body: ["message": .text(message)])
        }
    }

    private struct Key: Hashable, Sendable {
        let conversation: String
        let kind: Kind
    }

    private var waiting: [Key: Mark] = [:]
    private var underWay: Set<Key> = []
    /// The time at which ``due(now:)`` has something; nil if nothing waits.
    private(set) var deadline: Int64?

    /// - Parameter stored: the marks that were stored and not accepted.
    init(stored: [Mark] = [], now: Int64 = 0) {
        for mark in stored { _ = set(mark, now: now) }
    }

    /// The mark of a conversation that no node has accepted.
    subscript(conversation: String, kind: Kind) -> Mark? {
        waiting[Key(conversation: conversation, kind: kind)]
    }

    /// The marks that no node has accepted: what is to be stored.
    var all: [Mark] {
        waiting.values.sorted(by: Self.precedes)
    }

    private static func precedes(_ left: Mark, _ right: Mark) -> Bool {
        (left.conversation, left.kind.rawValue) < (right.conversation, right.kind.rawValue)
    }

    /// Sets a mark, unless one that is further waits.
    ///
    /// - Returns: whether it moves forward.
    mutating func set(_ mark: Mark, now: Int64) -> Bool {
        let key = Key(conversation: mark.conversation, kind: mark.kind)
        if let known = waiting[key], known.sent >= mark.sent { return false }
        waiting[key] = mark
        deadline = deadline ?? now + Self.gathering
        return true
    }

    /// Returns the marks that are to be sent now.
    mutating func due(now: Int64) -> [Mark] {
        guard let deadline, now >= deadline else { return [] }
        self.deadline = nil
        let due = waiting.filter { !underWay.contains($0.key) }
        underWay.formUnion(due.keys)
        return due.values.sorted(by: Self.precedes)
    }

    /// Takes in the answer to a mark.
    ///
    /// A further one that was set meanwhile waits on.
    mutating func settle(_ mark: Mark, _ answer: Answer, now: Int64) {
        let key = Key(conversation: mark.conversation, kind: mark.kind)
        underWay.remove(key)
        switch answer {
        case .refused(let error) where error.code == 404:
            deadline = deadline ?? now + Self.longPause
        case .accepted, .refused:
            if waiting[key] == mark { waiting[key] = nil }
            if waiting[key] != nil { deadline = deadline ?? now }
        case .unknown, .later, .unauthorized, .untimely:
            deadline = deadline ?? now + Self.pause
        }
    }
}
