@testable import GrapevineClient

/// A node of the model: its own and others' changes, from which follows what a user sees.
///
/// Changes of one node reach another in their order.
final class ModelNode {
    let index: Int
    var isUp = true
    /// Whether the node stands still: what arrives waits, and is executed when it goes on.
    private(set) var isStopped = false
    private var kills = 0
    private var waiting: [() -> Void] = []
    private(set) var log: [ModelChange] = []
    /// How many changes of each node are here.
    private(set) var vector: [Int]
    /// The files that were uploaded here.
    var files: Set<String> = []
    var watchers: [ModelStream] = []
    /// The time of the last change.
    private var last = ExactTime.zero
    private var cache: [String: [ModelMessage]] = [:]

    init(_ index: Int, of count: Int) {
        self.index = index
        vector = Array(repeating: 0, count: count)
    }

    func stop() { isStopped = true }

    /// Has the node go on, and execute what has arrived.
    func goOn() {
        isStopped = false
        let arrived = waiting
        waiting = []
        for action in arrived { action() }
    }

    /// The name of the node's process, of which there is another one after each kill.
    var process: String { "\(index)-\(kills)" }

    /// Forgets what waits, since the node is killed.
    func kill() {
        isUp = false
        kills += 1
        isStopped = false
        waiting = []
    }

    /// Does something now, or when the node goes on.
    func whenRunning(_ action: @escaping () -> Void) {
        if isStopped { waiting.append(action) } else { action() }
    }

    var isRunning: Bool { isUp && !isStopped }

    /// Accepts a change of a user's; one that has a stamp has its time.
    func accept(_ asked: ModelChange, stamp: ExactTime?, now: Int64) -> ModelChange {
        var change = asked
        change.node = index
        change.number = vector[index] + 1
        let present = ExactTime(milliseconds: now)
        change.at = stamp ?? (present > last ? present : last.next)
        if change.kind == .hide { change.seen = vector }
        receive(change)
        return change
    }

    func receive(_ change: ModelChange) {
        guard change.number == vector[change.node] + 1 else { return }
        vector[change.node] = change.number
        last = max(last, change.at)
        log.append(change)
        cache = [:]
        for watcher in watchers { watcher.note(change) }
    }

    /// Whether a change makes no difference, since another node has executed the same operation.
    func isAgain(_ change: ModelChange) -> Bool {
        // Each node that executes a hiding hides what it has.
        guard let operation = change.operation, change.kind != .hide else { return false }
        return log.contains { other in
            other.operation == operation
                && (other.node, other.number) != (change.node, change.number)
        }
    }

    /// The change with which the node has executed an operation.
    func done(_ operation: String?) -> ModelChange? {
        operation.flatMap { name in log.first { $0.operation == name } }
    }

    /// The messages of a conversation as a user sees them, in order; hidden ones too.
    func messages(_ conversation: String, _ user: String) -> [ModelMessage] {
        let key = user + "/" + conversation
        if let known = cache[key] { return known }
        let folded = fold(conversation, user)
        cache[key] = folded
        return folded
    }

    private func fold(_ conversation: String, _ user: String) -> [ModelMessage] {
        // The order of times is one in which all nodes agree: the last one wins everywhere.
        let changes = log.filter { $0.conversation == conversation }
            .sorted { ($0.at, $0.node) < ($1.at, $1.node) }
        var found: [String: ModelMessage] = [:]
        var copies: [String: [ModelChange]] = [:]
        for change in changes where change.kind == .message {
            // Two nodes may have accepted one message.
            copies[change.id, default: []].append(change)
            guard found[change.id] == nil else { continue }
            found[change.id] = ModelMessage(
                id: change.id, from: change.by, at: change.at, text: change.text,
                file: change.file)
        }
        for change in changes { found[change.id]?.apply(change, for: user) }
        for id in found.keys where !isMember(user, of: conversation) {
            found[id]?.isHidden = true
            found[id]?.isCleared = true
        }
        let hidings = changes.filter { $0.kind == .hide && $0.by == user }
        for (id, all) in copies {
            let isCleared = all.allSatisfy { copy in
                hidings.contains { copy.number <= $0.seen[copy.node] && copy.at <= $0.at }
            }
            guard isCleared else { continue }
            found[id]?.isHidden = true
            found[id]?.isCleared = true
        }
        return found.values.sorted { ($0.at, $0.id) < ($1.at, $1.id) }
    }

    func shown(_ conversation: String, _ user: String) -> [ModelMessage] {
        messages(conversation, user).filter { !$0.isHidden }
    }

    /// The last time at which a user hid a conversation, as far as this node knows.
    func lastHiding(_ conversation: String, _ user: String) -> ExactTime? {
        log.filter { $0.kind == .hide && $0.by == user && $0.conversation == conversation }
            .map(\.at).max()
    }
}

// MARK: Marks and rows

/// The position up to which a user has read or received a conversation.
struct ModelMark {
    let user: String
    let kind: ModelChange.Kind
    let message: String
    let sent: ExactTime
    let at: ExactTime
}

extension ModelNode {
    /// The furthest marks of each user, in the order of users.
    func marks(_ conversation: String) -> [ModelMark] {
        var places: [String: ExactTime] = [:]
        for change in log where change.kind == .message && change.conversation == conversation {
            places[change.id] = min(places[change.id] ?? change.at, change.at)
        }
        var furthest: [String: ModelMark] = [:]
        for change in log where change.kind.isMark && change.conversation == conversation {
            guard let sent = places[change.id] else { continue }
            let key = change.by + change.kind.rawValue
            let mark = ModelMark(
                user: change.by, kind: change.kind, message: change.id, sent: sent, at: change.at)
            if let known = furthest[key], (known.sent, change.at) >= (sent, known.at) { continue }
            furthest[key] = mark
        }
        return furthest.sorted { $0.key < $1.key }.map(\.value)
    }

    /// The last archiving by a user, or the end of it.
    func lastArchiving(_ conversation: String, _ user: String) -> ModelChange? {
        log.filter { change in
            change.kind.rivals?.contains(.archive) == true && change.by == user
                && change.conversation == conversation
        }.max { ($0.at, $0.node) < ($1.at, $1.node) }
    }

    /// The number of messages of others that a user has not read.
    func unread(_ conversation: String, _ user: String) -> Int {
        let read = marks(conversation).first { $0.user == user && $0.kind == .read }?.sent
        return shown(conversation, user).count {
            $0.from != user && $0.deletedAt == nil && $0.at > read ?? .zero
        }
    }

    /// The first creation of a conversation; two nodes may have executed one.
    func creation(of conversation: String) -> ModelChange? {
        log.filter { $0.kind == .create && $0.conversation == conversation }
            .min { ($0.at, $0.node) < ($1.at, $1.node) }
    }

    func hasLeft(_ user: String, _ conversation: String) -> Bool {
        log.contains {
            $0.kind == .leave && $0.by == user && $0.conversation == conversation
        }
    }

    func isMember(_ user: String, of conversation: String) -> Bool {
        creation(of: conversation)?.users.contains(user) == true && !hasLeft(user, conversation)
    }

    /// Why a node does not show a conversation to a user; nil if it does.
    func refusal(of conversation: String, to user: String) -> Response? {
        guard creation(of: conversation) != nil else {
            return .refused(404, "Conversation not found", reason: "conversation_not_found")
        }
        return isMember(user, of: conversation)
            ? nil : .refused(403, "You are no participant", reason: "not_participant")
    }

    /// The rows of a user's list of chats.
    func rows(_ user: String) -> [ModelJSON] {
        Set(log.filter { $0.kind == .create }.map(\.conversation)).sorted()
            .filter { isMember(user, of: $0) }
            .compactMap { creation(of: $0).map { row($0, user) } }
    }

    private func row(_ created: ModelChange, _ user: String) -> ModelJSON {
        let id = created.conversation
        let shown = shown(id, user)
        var row = ModelJSON()
        row["id"] = .text(id)
        row["title"] = .text(created.text)
        row["createdAt"] = .time(created.at)
        row["createdBy"] = .text(created.by)
        row["participants"] = .texts(created.users)
        row["unread"] = .number(unread(id, user))
        if let hiding = lastHiding(id, user) {
            row["hiddenAt"] = .time(hiding)
            if shown.isEmpty { row["hidden"] = .flag(true) }
        }
        row["lastText"] = .text("No messages yet")
        if let last = shown.last(where: { $0.deletedAt == nil }) {
            row["lastText"] = .text(last.text)
            row["last"] = .text(last.id)
            row["lastFrom"] = .text(last.from)
            row["lastAt"] = .time(last.at)
        }
        if let archiving = lastArchiving(id, user) {
            let name = archiving.kind == .archive ? "archivedAt" : "unarchivedAt"
            row[name] = .time(archiving.at)
        }
        return row
    }
}
