import CRDT
import Chat
import Replication
import Wire

/// Every change that any node ever accepted, kept outside of all of them.
struct Ledger {
    /// One execution of an operation that changed a document.
    struct Entry {
        let dot: Dot
        let shard: Int
        let node: Int
        let mutation: Mutation
        /// Which operation it is.
        let operation: Stamp
        /// What its client had asked for before, and might come late.
        var unsettled: [ProcessCounter] = []
        /// Its process does not follow its time: what that asks for next may be earlier.
        var isAhead = false
        /// What the document named as its changes when this one was in: its past, and itself.
        let past: Context
        /// When it was written; nil where it leaves no stamp in the document.
        let stamp: Stamp?
        /// When the message was sent that it edits.
        let base: Stamp?
        /// How far it says that its user came.
        var mark: Mark?
        /// What it says that its user hides.
        var hidden: Hidden?
        /// The document's bytes at that moment, hashed.
        let bytes: Hash128
        /// On how many disks a client was told that it is.
        var acknowledgedOn = 0
        /// Every disk that held it was destroyed: nobody can keep it.
        var isLost = false
    }

    private struct ShardDot: Hashable {
        let shard: Int
        let dot: Dot
    }

    /// An operation, whatever time it has.
    private struct OperationName: Hashable {
        let process: ProcessID
        let counter: UInt64
    }

    /// The operations of a process up to `last` that are later than `believed`.
    private struct Forgotten {
        let last: Stamp
        let believed: HybridTimestamp

        func contains(_ operation: Stamp) -> Bool {
            operation.process == last.process && operation.counter <= last.counter
                && operation.time > believed
        }
    }

    private(set) var entries: [Entry] = []
    /// The execution of each operation that came first.
    private var operations: [OperationName: Int] = [:]
    private var ahead: Set<OperationName> = []
    /// What the clocks of processes forgot, as they were set back.
    private var forgotten: [Forgotten] = []
    private var numbers: [ShardDot: Int] = [:]
    private var ofKey: [DocumentKey: [Int]] = [:]

    /// An operation got a time that its process does not follow.
    mutating func noteAhead(_ operation: Stamp) {
        ahead.insert(OperationName(process: operation.process, counter: operation.counter))
    }

    /// A clock was set back so far that it believes no operation later than `believed`: its process
    /// asks for the next ones at earlier times.
    ///
    /// - Parameter last: the last operation that the process asked for.
    mutating func noteForgotten(_ last: Stamp, believed: HybridTimestamp) {
        let times = Forgotten(last: last, believed: believed)
        forgotten.append(times)
        for index in entries.indices where times.contains(entries[index].operation) {
            entries[index].isAhead = true
        }
    }

    /// Adds a change; fails where another has its dot.
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
        if let first = operations[operation] {
            let known = entries[first]
            guard known.mutation == entry.mutation, known.operation == entry.operation else {
                throw Violation(
                    invariant: .oneChange,
                    explanation: "one operation is two: \(known.words), and \(entry.words)")
            }
        } else {
            operations[operation] = entries.count
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

    /// The changes of a document, in the order in which they were accepted.
    func entries(of key: DocumentKey) -> [Entry] { (ofKey[key] ?? []).map { entries[$0] } }

    mutating func noteAcknowledged(_ context: Context, of key: DocumentKey, on copies: Int) {
        for index in ofKey[key] ?? [] where context.contains(entries[index].dot) {
            entries[index].acknowledgedOn = max(entries[index].acknowledgedOn, copies)
        }
    }

    /// Notes which acknowledged changes no disk holds any more.
    mutating func noteLost(where isHeld: (Entry) -> Bool) {
        for index in entries.indices
        where entries[index].acknowledgedOn > 0 && !entries[index].isLost {
            entries[index].isLost = !isHeld(entries[index])
        }
    }
}

extension Ledger.Entry {
    /// Whether this change was made by who knew of `other`.
    func knew(of other: Ledger.Entry) -> Bool { dot != other.dot && past.contains(other.dot) }

    /// Whether it comes behind `other` in the lines of one process.
    func follows(_ other: Ledger.Entry) -> Bool {
        operation.process == other.operation.process
            && operation.counter > other.operation.counter
    }

    /// Whether it is a remove that takes an add away: it knew of one of the add's executions and
    /// is later, or its client had asked for the add before.
    func takesAway(_ add: Ledger.Entry, executedAs executions: [Ledger.Entry]) -> Bool {
        let isNamed = unsettled.contains {
            $0.process == add.operation.process && $0.counter >= add.operation.counter
        }
        let isKnown = executions.contains { knew(of: $0) }
        return isNamed || (isKnown && add.operation.time < operation.time)
    }

    /// What was done, to be read in an explanation.
    var words: String {
        "\(dot.short) on n\(node + 1): \(mutation.user) \(mutation.action.words) "
            + "in \(mutation.partition)"
    }
}

extension Dot {
    /// Enough of it to tell dots of one run apart.
    var short: String { "\(replica.description.prefix(6)):\(seq)" }
}

extension Mutation.Action {
    var verb: String {
        switch self {
        case .create: "create"
        case .send: "send"
        case .edit: "edit"
        case .hide: "hide"
        case .retract: "retract"
        case .restore: "restore"
        case .pin: "pin"
        case .unpin: "unpin"
        case .invite: "invite"
        case .leave: "leave"
        case .archive: "archive"
        case .unarchive: "unarchive"
        case .read: "read"
        case .deliver: "deliver"
        case .hideChat: "hide chat"
        case .seed: "seed"
        case .setProfile, .seedProfile: "profile"
        case .addItem: "add item"
        case .editItem: "edit item"
        case .finishItem(let isDone): isDone ? "done" : "undone"
        case .deleteItem: "delete item"
        case .device(_, let action): action.verb
        }
    }

    var words: String {
        switch self {
        case .create(let users, let title): "create for \(users) as \(title ?? "-")"
        case .send(let id, _, _, let text): "send \(id) '\(text)'"
        case .edit(let id, let text): "edit \(id) to '\(text)'"
        case .hide(let id): "hide \(id)"
        case .retract(let id): "retract \(id)"
        case .restore(let id): "restore \(id)"
        case .pin(let id): "pin \(id)"
        case .unpin(let id): "unpin \(id)"
        case .invite(let user): "invite \(user)"
        case .leave, .archive, .unarchive, .hideChat, .finishItem, .deleteItem: verb
        case .seed(let id, let text): "seed \(id) '\(text)'"
        case .setProfile(let edit), .seedProfile(let edit):
            "profile \(edit.name?.value?.text ?? "-")"
        case .device(let device, let action): "\(action.verb) \(device)"
        case .addItem(let draft): "add item '\(draft.title.text)'"
        case .editItem(let edit): "edit item '\(edit.title?.text ?? "-")'"
        case .read(let id), .deliver(let id): "\(verb) \(id?.text ?? "the newest")"
        }
    }

    /// The text that it brings into a message.
    var text: String? {
        switch self {
        case .send(_, _, _, let text), .edit(_, let text), .seed(_, let text): text
        case .addItem(let draft): draft.title.text
        case .editItem(let edit): edit.title?.text
        default: nil
        }
    }
}

extension DeviceAction {
    var verb: String {
        switch self {
        case .add: "add device"
        case .remove: "remove device"
        case .view: "view"
        case .list: "list notifications"
        case .acknowledge: "notified"
        }
    }
}
