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
    ///
    /// - Parameter time: the time of the add's tag.
    func takesAway(
        _ add: Ledger.Entry, executedAs executions: [Ledger.Entry], at time: HybridTimestamp
    ) -> Bool {
        let isNamed = unsettled.contains {
            $0.process == add.operation.process && $0.counter >= add.operation.counter
        }
        let isKnown = executions.contains { knew(of: $0) }
        return isNamed || (isKnown && time < operation.time)
    }

    /// A description for explanations of violations.
    var words: String {
        "\(dot.short) on n\(node + 1): \(mutation.user) \(mutation.words) "
            + "in \(mutation.partition) as \(operation.process.description.suffix(4))."
            + "\(operation.counter) of \(operation.time.milliseconds % 100_000_000)"
    }
}

extension Dot {
    /// An abbreviation that distinguishes the dots of one run.
    var short: String { "\(replica.description.prefix(6)):\(seq)" }
}

extension Mutation {
    /// A description of the action and its names.
    var words: String {
        let verb = action.verb
        switch action {
        case let create as CreateConversation:
            return "create for \(create.participants) as \(create.title ?? "-")"
        case let send as SendMessage:
            let attachment = send.attachment.map { "with \($0)" } ?? ""
            return "send \(key.id) '\(send.text)' \(attachment)"
        case let edit as EditMessage: return "edit \(key.id) to '\(edit.text)'"
        case let invitation as InviteUser: return "invite \(invitation.guest)"
        case let action as any ProfileAction:
            return "profile \(action.edit.name?.value?.text ?? "-")"
        case let begin as BeginSignIn: return "\(verb) \(begin.id)"
        case let renew as RenewSignIn: return "\(verb) \(renew.id)"
        case let end as EndSignIn: return "\(verb) \(end.id)"
        case let action as any BlocksAction: return "\(verb) \(action.other)"
        case let add as AddItem: return "add item '\(add.item.title.text)'"
        case let edit as EditItem: return "edit item '\(edit.edit.title?.text ?? "-")'"
        default: break
        }
        switch key.kind {
        case .message, .device, .file: return "\(verb) \(key.id)"
        case .filePart: return key.partOfFile.map { "\(verb) \($0.part) of \($0.file)" } ?? verb
        default: return action.marking.map { "\(verb) \($0)" } ?? verb
        }
    }

    /// Whether the mutation makes this change.
    func makes<Action: DocumentAction>(_ action: Action) -> Bool {
        self.action as? Action == action
    }
}

extension DocumentAction {
    /// A short name of the action.
    var verb: String {
        if let verb = verbs[ObjectIdentifier(Self.self)] { return verb }
        return switch self {
        case let finish as FinishItem: finish.isDone ? "done" : "undone"
        case let leave as LeaveConversation: leave.mayHaveLeft ? "leave unless left" : "leave"
        case let change as SetAccountDisabled: change.isDisabled ? "disable" : "enable"
        case let change as Signing.Action:
            change.code == Signing.Action.codes[0] ? "add key" : "revoke"
        default: "\(Self.self)"
        }
    }

    /// The text that the action brings into a document; nil if none.
    var text: String? {
        switch self {
        case let action as any MessageAction: action.newText
        case let add as AddItem: add.item.title.text
        case let edit as EditItem: edit.edit.title?.text
        default: nil
        }
    }
}

/// The short names of most types of actions.
private let verbs: [ObjectIdentifier: String] = {
    let verbs: [(any DocumentAction.Type, String)] = [
        (CreateConversation.self, "create"), (InviteUser.self, "invite"),
        (SendMessage.self, "send"), (EditMessage.self, "edit"), (HideMessage.self, "hide"),
        (RetractMessage.self, "retract"), (RestoreMessage.self, "restore"),
        (PinMessage.self, "pin"), (UnpinMessage.self, "unpin"), (SeedMessage.self, "seed"),
        (ArchiveChat.self, "archive"), (UnarchiveChat.self, "unarchive"),
        (MarkRead.self, "read"), (MarkDelivered.self, "deliver"), (HideChat.self, "hide chat"),
        (SetProfile.self, "profile"), (SeedProfile.self, "profile"),
        (AddItem.self, "add item"), (EditItem.self, "edit item"),
        (DeleteItem.self, "delete item"), (BlockUser.self, "block"),
        (UnblockUser.self, "unblock"), (BeginUpload.self, "begin file"),
        (EndUpload.self, "end file"), (CloseFile.self, "close file"),
        (AttachFile.self, "attach file"), (DetachFile.self, "detach file"),
        (ExpireUpload.self, "expire file"), (PurgeFile.self, "purge file"),
        (PutFilePart.self, "put part"), (PurgeFilePart.self, "purge part"),
        (SignUp.self, "sign up"), (SetPassword.self, "set password"),
        (RemoveAccount.self, "remove account"), (BeginSignIn.self, "sign in"),
        (RenewSignIn.self, "renew"), (EndSignIn.self, "sign out"),
        (EndAllSignIns.self, "sign out everywhere"), (AddDevice.self, "add device"),
        (RegisterDevice.self, "add device"), (RemoveDevice.self, "remove device"),
        (RemoveToken.self, "remove device"), (RemoveSignedOut.self, "remove device"),
        (ViewConversation.self, "view"), (LeaseView.self, "view"), (EndLeasedView.self, "view"),
        (ListNotifications.self, "list notifications"), (AcknowledgeThrough.self, "notified"),
        (AcknowledgeAlone.self, "notified"), (NotePushed.self, "pushed"),
    ]
    return Dictionary(uniqueKeysWithValues: verbs.map { (ObjectIdentifier($0.0), $0.1) })
}()
