/// What is to be read from nodes: where an event tells something only in part, where a conversation
/// is opened, and at the first sign-in.
///
/// A read names the token of the last event, so that its answer is no older than what was shown;
/// where no node can answer so, it is asked without, and again later: what an older answer tells is
/// merged without harm, but it may have a message that was deleted before the token. Times are
/// milliseconds of a monotonic clock.
struct Reads: Equatable, Sendable {
    /// Milliseconds in which events are gathered before what they made stale is read.
    static let gathering: Int64 = 150
    /// The pause after a read that has failed.
    private static let pause: Int64 = 1_000
    /// The time for which reads are asked without the token after nodes could not answer with it.
    private static let behind: Int64 = 10_000
    /// The most reads under way.
    private static let underWayMax = 8

    /// A resource that is read as a whole.
    enum Target: Hashable, Sendable {
        /// The lists of chats and action items.
        case lists
        /// The row of a conversation in the list of chats.
        case row(String)
        /// The newest messages of a conversation, its pins and marks.
        case history(String)
        /// The pinned messages of a conversation.
        case pins(String)
        /// A new message of the user's that a node did not show.
        case message(String, conversation: String)
        /// The profiles of users that are not known, or not wholly.
        case profiles

    }

    /// A read that is under way.
    ///
    /// If it `isSure`, its answer includes all that events have told.
    struct Ask: Hashable, Sendable {
        let target: Target
        let isSure: Bool
    }

    /// What became of a read.
    enum Result: Equatable, Sendable {
        case told
        /// No node can tell it: it is not there, or not for this user.
        case refused
        /// No node has what the token stands for.
        case behind
        case failed
    }

    private var stale: Set<Target> = []
    private var underWay: Set<Target> = []
    /// What was read without the token, and is to be read again.
    private var doubtful: Set<Target> = []
    private var behindUntil: Int64 = .min
    private var next: Int64?

    /// Notes that something is to be read.
    mutating func need(_ target: Target, now: Int64) {
        stale.insert(target)
        next = min(next ?? .max, now + Self.gathering)
    }

    /// Whether something is to be read again, so that an answer which is under way may be older
    /// than an event.
    func isStale(_ target: Target) -> Bool { stale.contains(target) }

    /// Whether an answer is under way that tells the row of a conversation.
    func isRowUnderWay(_ id: String) -> Bool {
        underWay.contains(.row(id)) || underWay.contains(.lists)
    }

    /// Notes that something need not be read.
    mutating func forget(_ target: Target) {
        stale.remove(target)
        doubtful.remove(target)
    }

    /// Forgets everything about conversations, profiles and lists, since the state is read anew.
    mutating func clear() {
        self = Reads()
    }

    /// The time at which ``begin(now:)`` is to be called; nil if nothing is to be read.
    var deadline: Int64? {
        guard let next, !stale.isEmpty || !doubtful.isEmpty else { return nil }
        return stale.isEmpty ? max(next, behindUntil) : next
    }

    /// Returns the reads that are to be made now.
    mutating func begin(now: Int64) -> [Ask] {
        guard let next, now >= next else { return [] }
        let isBehind = now < behindUntil
        if !isBehind {
            stale.formUnion(doubtful)
            doubtful = []
        }
        let begun = stale.subtracting(underWay).sorted { Self.order($0) < Self.order($1) }
            .prefix(max(0, Self.underWayMax - underWay.count))
        stale.subtract(begun)
        underWay.formUnion(begun)
        self.next = stale.isEmpty && doubtful.isEmpty ? nil : now + Self.gathering
        return begun.map { Ask(target: $0, isSure: !isBehind) }
    }

    /// Takes in what became of a read.
    mutating func settle(_ ask: Ask, _ result: Result, now: Int64) {
        underWay.remove(ask.target)
        switch result {
        case .told, .refused:
            guard !ask.isSure else { break }
            doubtful.insert(ask.target)
            next = min(next ?? .max, max(now, behindUntil))
        case .behind:
            behindUntil = now + Self.behind
            stale.insert(ask.target)
            next = now
        case .failed:
            stale.insert(ask.target)
            next = min(next ?? .max, now + Self.pause)
        }
        if !stale.isEmpty { next = min(next ?? .max, now + Self.pause) }
    }

    /// Lists come first, then what is on screen.
    private static func order(_ target: Target) -> String {
        switch target {
        case .lists: "0"
        case .history(let id): "1" + id
        case .pins(let id): "2" + id
        case .row(let id): "3" + id
        case .message(let message, let id): "4" + id + message
        case .profiles: "5"
        }
    }
}
