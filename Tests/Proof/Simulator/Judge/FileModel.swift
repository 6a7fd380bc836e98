import CRDT
import Chat
import Wire

/// The expected content of files and their parts, derived from the changes that they name.
extension Model {
    func check(_ file: File) throws(Violation) {
        var states = FileStates(entries)
        let closed = entries.compactMap { entry in
            entry.mutation.action is CloseFile ? entry.operation.time : nil
        }
        guard file.closedAt == closed.min() else {
            throw violation(.deleted, "is closed at \(String(describing: file.closedAt))")
        }
        let expected = states.all(of: entries)
        guard file.states.map(\.owner) == expected.map(\.owner) else {
            throw violation(.claims, "says \(file)")
        }
        for (state, expected) in zip(file.states, expected) { try check(state, as: expected) }
    }

    private func check(
        _ state: File.OwnerState, as expected: FileStates.OwnerState
    ) throws(Violation) {
        var deleted: Set<MessageID> = []
        var messages: Set<MessageID> = []
        for sending in state.sendings {
            messages.insert(sending.message)
            if sending.isDeleted { deleted.insert(sending.message) }
        }
        guard deleted == expected.deleted, state.isPurged == expected.isPurged,
            state.isExpired == expected.isExpired
        else { throw violation(.deleted, "says \(state), not \(expected)") }
        let content = expected.isPurged ? expected.purged : expected
        guard state.begun == content.begun, state.type == content.type,
            messages == content.messages
        else { throw violation(.claims, "says \(state), not \(expected)") }
        guard state.size == content.size, state.parts == content.parts else {
            throw violation(.claims, "has the parts of \(state), not of \(expected)")
        }
    }

    func check(_ part: FilePart) throws(Violation) {
        let puts = entries.compactMap { ($0.mutation.action as? PutFilePart)?.bytes }
        guard part.isPurged == (generation % 2 == 1), !part.isPurged || part.bytes.isEmpty else {
            throw violation(.deleted, "is purged: \(part.isPurged), with \(part.bytes.count) bytes")
        }
        guard part.isPurged || puts.allSatisfy({ $0 == part.bytes }) else {
            throw violation(.claims, "has other bytes than were put")
        }
    }

    /// How often a part was purged and put again: the longest chain of changes of which each undoes
    /// one that it knew.
    private var generation: Int {
        var found: [Dot: Int] = [:]
        func generation(of entry: Ledger.Entry) -> Int {
            if let known = found[entry.dot] { return known }
            let before = entries.filter(entry.knew).map(generation).max()
            let isPurge = entry.mutation.action is PurgeFilePart
            let number = before.map { $0 + (($0 % 2 == 1) == isPurge ? 0 : 1) } ?? 0
            found[entry.dot] = number
            return number
        }
        return entries.map(generation).max() ?? 0
    }
}

/// What users uploaded under a file's id, and what became of it, derived from the changes.
struct FileStates {
    /// The state of one upload.
    struct OwnerState {
        let owner: UserID
        var begun: Stamp
        var type: String
        var ended: Stamp?
        var size: UInt64?
        var parts: [PartID]?
        var messages: Set<MessageID> = []
        var deleted: Set<MessageID> = []
        var isExpired = false
        var isPurged = false
        var isClosed: Bool {
            isPurged || (messages.isEmpty ? isExpired : messages.isSubset(of: deleted))
        }

        /// What was not sent is closed with what the same user has sent.
        func isClosed(among states: [OwnerState]) -> Bool {
            isClosed
                || messages.isEmpty
                    && states.contains { $0.owner == owner && !$0.messages.isEmpty && $0.isClosed }
        }

        /// The state without what it consists of.
        var purged: OwnerState {
            var purged = self
            purged.type = ""
            if size != nil { (purged.size, purged.parts) = (0, []) }
            return purged
        }

        var key: [Stamp] { [begun] + (ended.map { [$0] } ?? []) }
        var place: (Int, Stamp, Stamp) { (ended == nil ? 1 : 0, begun, ended ?? begun) }
        var rank: (Int, Int, Stamp, Stamp) {
            (messages.isEmpty ? 1 : 0, place.0, place.1, place.2)
        }
    }

    private let entries: [Ledger.Entry]
    /// The states that each change found.
    private var before: [Dot: [OwnerState]] = [:]

    init(_ entries: [Ledger.Entry]) { self.entries = entries }

    /// Returns the states that these changes make, in their order.
    mutating func all(of entries: [Ledger.Entry]) -> [OwnerState] {
        var states: [[Stamp]: OwnerState] = [:]
        for entry in entries {
            guard let upload = upload(by: entry) else { continue }
            states[upload.key] = upload
        }
        for entry in entries {
            for found in known(to: entry) {
                states[found.key].map { states[found.key] = changed($0, by: entry, which: found) }
            }
        }
        let ended = Set(states.values.filter { $0.ended != nil }.map(\.begun))
        return states.values.filter { $0.ended != nil || !ended.contains($0.begun) }
            .sorted { $0.place < $1.place }
    }

    private mutating func known(to entry: Ledger.Entry) -> [OwnerState] {
        if let states = before[entry.dot] { return states }
        let states = all(of: entries.filter(entry.knew))
        before[entry.dot] = states
        return states
    }

    /// Whether an operator had closed all of the file.
    private func isAllClosed(before entry: Ledger.Entry) -> Bool {
        entries.contains { $0.mutation.action is CloseFile && entry.knew(of: $0) }
    }

    /// Returns the upload that the user of a change had open.
    private mutating func open(to entry: Ledger.Entry) -> OwnerState? {
        let known = known(to: entry)
        return known.filter { $0.owner == entry.mutation.user && !$0.isClosed(among: known) }
            .min { $0.rank < $1.rank }
    }

    /// Returns the upload that a change began or ended.
    private mutating func upload(by entry: Ledger.Entry) -> OwnerState? {
        switch entry.mutation.action {
        case let begin as BeginUpload:
            return OwnerState(
                owner: entry.mutation.user, begun: entry.operation, type: begin.type.text)
        case let end as EndUpload:
            guard var upload = open(to: entry) else { return nil }
            (upload.ended, upload.size, upload.parts) = (entry.operation, end.size, end.parts)
            return upload
        default: return nil
        }
    }

    /// Returns a state after a change that found it so.
    private mutating func changed(
        _ state: OwnerState, by entry: Ledger.Entry, which found: OwnerState
    ) -> OwnerState {
        var state = state
        switch entry.mutation.action {
        case let attach as AttachFile:
            if open(to: entry)?.key == found.key { state.messages.insert(attach.message) }
        case let detach as DetachFile:
            if found.messages.contains(detach.message) { state.deleted.insert(detach.message) }
        case let expire as ExpireUpload:
            let isMeant = [Mutation.cluster, found.owner].contains(entry.mutation.user)
            if isMeant, found.messages.isEmpty, found.begun.time < expire.deadline {
                state.isExpired = true
            }
        case is PurgeFile:
            if found.isClosed(among: known(to: entry)) || isAllClosed(before: entry) {
                state.isPurged = true
            }
        default: break
        }
        return state
    }
}
