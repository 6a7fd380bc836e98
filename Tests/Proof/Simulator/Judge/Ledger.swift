import CRDT
import Chat
import Replication
import Wire

/// The record of every change that any node accepted, kept outside of all nodes.
struct Ledger {
    /// One execution of an operation that changed a document.
    struct Entry {
        let dot: Dot
        let shard: Int
        let node: Int
        let mutation: Mutation
        /// The identity and time of the operation.
        let operation: Stamp
        /// Operations that the client requested before and that may still be executed late.
        var unsettled: [ProcessCounter] = []
        /// Whether the operation's process does not follow its time, so that its next operation may
        /// be earlier.
        var isAhead = false
        /// All changes that the document contained after this one, including this one.
        let past: Context
        /// The stamp that the change left in the document; nil if it leaves none.
        let stamp: Stamp?
        /// For an edit, the stamp of the sending that it edits.
        let base: Stamp?
        /// For a read or delivery mark, the position that it states.
        var mark: Mark?
        /// For hiding a conversation, the vector that it hides.
        var hidden: Hidden?
        /// The hash of the document's bytes right after the change.
        let bytes: Hash128
        /// The greatest number of disks that a client was told the change is on.
        var acknowledgedOn = 0
        /// Whether every disk that held the change was destroyed, so that no node can have kept it.
        var isLost = false
    }

    private struct ShardDot: Hashable {
        let shard: Int
        let dot: Dot
    }

    /// The identity of an operation, regardless of its time.
    private struct OperationName: Hashable {
        let process: ProcessID
        let counter: UInt64
    }

    /// The operations of a process up to `last` whose times are later than `believed`.
    private struct Forgotten {
        let last: Stamp
        let believed: HybridTimestamp

        func contains(_ operation: Stamp) -> Bool {
            operation.process == last.process && operation.counter <= last.counter
                && operation.time > believed
        }
    }

    private(set) var entries: [Entry] = []
    /// The index in `entries` of the first execution of each operation, by the document that it
    /// changed: a message's operation may change the message's file, too.
    private var operations: [OperationName: [DocumentKey: Int]] = [:]
    private var ahead: Set<OperationName> = []
    /// The times that clocks ceased to believe when they were set back.
    private var forgotten: [Forgotten] = []
    private var numbers: [ShardDot: Int] = [:]
    private var ofKey: [DocumentKey: [Int]] = [:]

    /// Records that an operation got a time that its process does not follow.
    mutating func noteAhead(_ operation: Stamp) {
        ahead.insert(OperationName(process: operation.process, counter: operation.counter))
    }

    /// Records that a clock was set back so far that it believes no operation later than
    /// `believed`: its process gives the next operations earlier times.
    ///
    /// - Parameter last: the last operation that the process issued.
    mutating func noteForgotten(_ last: Stamp, believed: HybridTimestamp) {
        let times = Forgotten(last: last, believed: believed)
        forgotten.append(times)
        for index in entries.indices where times.contains(entries[index].operation) {
            entries[index].isAhead = true
        }
    }

    /// Adds a change; throws if its dot or its operation already names another one.
    mutating func add(_ entry: Entry) throws(Violation) {
        let name = ShardDot(shard: entry.shard, dot: entry.dot)
        if let other = numbers[name] {
            throw Violation(
                invariant: .oneDot,
                explanation: "\(entry.dot.short) names two changes of shard \(entry.shard): "
                    + "\(entries[other].words), and \(entry.words)")
        }
        let operation = OperationName(
            process: entry.operation.process, counter: entry.operation.counter)
        let key = entry.mutation.key
        if let first = operations[operation]?[key] {
            let known = entries[first]
            guard known.mutation == entry.mutation, known.operation == entry.operation else {
                throw Violation(
                    invariant: .oneChange,
                    explanation: "one operation is two: \(known.words), and \(entry.words)")
            }
        } else {
            operations[operation, default: [:]][key] = entries.count
        }
        var entry = entry
        entry.isAhead =
            ahead.contains(operation) || forgotten.contains { $0.contains(entry.operation) }
        numbers[name] = entries.count
        ofKey[entry.mutation.key, default: []].append(entries.count)
        entries.append(entry)
    }

    subscript(dot: Dot, shard: Int) -> Entry? {
        numbers[ShardDot(shard: shard, dot: dot)].map { entries[$0] }
    }

    /// Returns the changes of a document in the order in which they were accepted.
    func entries(of key: DocumentKey) -> [Entry] { (ofKey[key] ?? []).map { entries[$0] } }

    mutating func noteAcknowledged(_ context: Context, of key: DocumentKey, on copies: Int) {
        for index in ofKey[key] ?? [] where context.contains(entries[index].dot) {
            entries[index].acknowledgedOn = max(entries[index].acknowledgedOn, copies)
        }
    }

    /// Marks the acknowledged changes that no disk holds any more.
    mutating func noteLost(where isHeld: (Entry) -> Bool) {
        for index in entries.indices
        where entries[index].acknowledgedOn > 0 && !entries[index].isLost {
            entries[index].isLost = !isHeld(entries[index])
        }
    }
}

extension Ledger.Entry {
    /// Whether the node that made this change knew `other`.
    func knew(of other: Ledger.Entry) -> Bool { dot != other.dot && past.contains(other.dot) }

    /// Whether this operation was issued by the same process as `other`, and later.
    func follows(_ other: Ledger.Entry) -> Bool {
        operation.process == other.operation.process
            && operation.counter > other.operation.counter
    }

    /// Whether this change is a remove that undoes `add`: either it knew one of the add's
    /// executions and has a greater time, or its client named the add as possibly still to come.
    func takesAway(_ add: Ledger.Entry, executedAs executions: [Ledger.Entry]) -> Bool {
        let isNamed = unsettled.contains {
            $0.process == add.operation.process && $0.counter >= add.operation.counter
        }
        let isKnown = executions.contains { knew(of: $0) }
        return isNamed || (isKnown && add.operation.time < operation.time)
    }

    /// A description for explanations of violations.
    var words: String {
        "\(dot.short) on n\(node + 1): \(mutation.user) \(mutation.action.words) "
            + "in \(mutation.partition)"
    }
}

extension Dot {
    /// An abbreviation that distinguishes the dots of one run.
    var short: String { "\(replica.description.prefix(6)):\(seq)" }
}

extension Mutation.Action {
    var verb: String {
        switch self {
        case .conversation(let action): action.verb
        case .message(_, let action): action.verb
        case .participant(let action): action.verb
        case .profile: "profile"
        case .item(.add): "add item"
        case .item(.edit): "edit item"
        case .item(.finish(let isDone)): isDone ? "done" : "undone"
        case .item(.delete): "delete item"
        case .device(_, let action): action.verb
        case .credentials(let action): action.verb
        case .signing(.addKey): "add key"
        case .signing(.revoke): "revoke"
        case .file(_, let action): action.verb
        case .part(_, _, .put): "put part"
        case .part(_, _, .purge): "purge part"
        case .blocks(.block): "block"
        case .blocks(.unblock): "unblock"
        }
    }

    var words: String {
        switch self {
        case .conversation(let create as CreateConversation):
            "create for \(create.participants) as \(create.title ?? "-")"
        case .message(let id, let send as SendMessage):
            "send \(id) '\(send.text)' \(send.attachment.map { "with \($0)" } ?? "")"
        case .message(let id, let edit as EditMessage): "edit \(id) to '\(edit.text)'"
        case .message(let id, let action): "\(action.verb) \(id)"
        case .conversation(let invitation as InviteUser): "invite \(invitation.guest)"
        case .conversation, .item(.finish), .item(.delete):
            verb
        case .profile(.set(let edit)), .profile(.seed(let edit)):
            "profile \(edit.name?.value?.text ?? "-")"
        case .device(let device, let action): "\(action.verb) \(device)"
        case .credentials(.begin(let id, _, _)), .credentials(.renew(let id, _, _, _)),
            .credentials(.end(let id, _)):
            "\(verb) \(id)"
        case .credentials, .signing: verb
        case .blocks(.block(let other)), .blocks(.unblock(let other)): "\(verb) \(other)"
        case .file(let file, _): "\(verb) \(file)"
        case .part(let index, let file, _): "\(verb) \(index) of \(file)"
        case .item(.add(let draft)): "add item '\(draft.title.text)'"
        case .item(.edit(let edit)): "edit item '\(edit.title?.text ?? "-")'"
        case .participant(let action):
            action.marking.map { "\(verb) \($0)" } ?? verb
        }
    }

    /// The text that the action brings into a document; nil if none.
    var text: String? {
        switch self {
        case .message(_, let action): action.newText
        case .item(.add(let draft)): draft.title.text
        case .item(.edit(let edit)): edit.title?.text
        default: nil
        }
    }
}

extension MessageAction {
    var verb: String {
        switch self {
        case is SendMessage: "send"
        case is EditMessage: "edit"
        case is HideMessage: "hide"
        case is RetractMessage: "retract"
        case is RestoreMessage: "restore"
        case is PinMessage: "pin"
        case is UnpinMessage: "unpin"
        case is SeedMessage: "seed"
        default: "\(Self.self)"
        }
    }
}

extension ConversationAction {
    var verb: String {
        switch self {
        case is CreateConversation: "create"
        case is InviteUser: "invite"
        case let leave as LeaveConversation: leave.mayHaveLeft ? "leave unless left" : "leave"
        default: "\(Self.self)"
        }
    }
}

extension ParticipantAction {
    var verb: String {
        switch self {
        case is ArchiveChat: "archive"
        case is UnarchiveChat: "unarchive"
        case is MarkRead: "read"
        case is MarkDelivered: "deliver"
        case is HideChat: "hide chat"
        default: "\(Self.self)"
        }
    }
}

extension File.Action {
    var verb: String {
        switch self {
        case .begin: "begin file"
        case .end: "end file"
        case .close: "close file"
        case .attach: "attach file"
        case .detach: "detach file"
        case .expire: "expire file"
        case .purge: "purge file"
        }
    }
}

extension Credentials.Action {
    var verb: String {
        switch self {
        case .signUp: "sign up"
        case .setPassword: "set password"
        case .setDisabled(let isDisabled): isDisabled ? "disable" : "enable"
        case .remove: "remove account"
        case .begin: "sign in"
        case .renew: "renew"
        case .end: "sign out"
        case .endAll: "sign out everywhere"
        }
    }
}

extension Device.Action {
    var verb: String {
        switch self {
        case .add, .register: "add device"
        case .remove, .removeToken, .removeSignedOut: "remove device"
        case .view, .viewLeased, .endView: "view"
        case .list: "list notifications"
        case .acknowledge, .acknowledgeAlone: "notified"
        case .notePushed: "pushed"
        }
    }
}
