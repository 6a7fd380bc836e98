import CRDT
import Chat
import Replication
import StorePort
import Wire

extension ShardMachine {
    /// Answers a query from memory and disk.
    ///
    /// - Returns: the findings, and whether all of them are on disk; if not, the reply in `slot`
    ///   waits.
    package mutating func answer(
        _ query: AnyQuery, for user: UserID, slot: ReplySlot, in world: ShardWorld
    ) throws(ShardFailure) -> (findings: AnyFindings, isSettled: Bool) {
        guard replica.mayAnswer else { throw .notReady }
        let viewer = Viewer(user, without: query.senders, isExact: query.isExact)
        let findings = try reading(in: world) { source throws(ShardFailure) in
            try source.find(query.base, for: viewer)
        }
        return (findings, !showsLater(in: slot, now: world.milliseconds))
    }

    /// Runs a closure that reads the shard as the source of a query.
    mutating func reading<Result>(
        in world: ShardWorld, _ body: (inout ShardSource) throws(ShardFailure) -> Result
    ) throws(ShardFailure) -> Result {
        // The machine is moved into the source and back: a copy would share its storage, which the
        // next change would have to duplicate.
        var source = ShardSource(machine: consume self, world: world)
        defer { self = source.machine }
        return try body(&source)
    }

    /// Makes a reply that shows the replica's state wait until that state is on disk.
    ///
    /// - Returns: false if the state is on disk, so that the reply may be sent at once.
    package mutating func showsLater(in slot: ReplySlot, now: UInt64) -> Bool {
        guard !isShownAtOnce else { return false }
        replica.wait(slot, storing: Context(), level: .local, now: now)
        return true
    }

    /// Whether the replica has no change that is not on disk.
    private var isShownAtOnce: Bool {
        #if PlantedBugs
            if PlantedBug.shownBeforeStored.isOn { return true }
        #endif
        return replica.isSettled
    }
}

// MARK: Participants

extension ShardMachine {
    /// Returns the participant states of a conversation, from disk and memory.
    mutating func participantStates(
        of conversation: ConversationID, in world: ShardWorld
    ) throws(ShardFailure) -> [(user: UserID, participantState: ParticipantState)] {
        let shard = replica.shard
        let stored = try read { () throws(StoreFailure) in
            try world.reader.participantStates(of: conversation, in: shard)
        }
        let pending = documents.pending.values.map(\.document).filter {
            $0.key.kind == .participantState && $0.key.partition == conversation.text
        }
        let current = stored.filter { documents.pending[$0.key] == nil } + pending
        return current.compactMap { document in
            guard let user = UserID(document.key.id),
                let participantState = document.participantState
            else { return nil }
            return (user, participantState)
        }
    }
}

// MARK: Walks

extension ShardMachine {
    /// Passes a conversation's messages from disk and memory to `handing`, in the page's direction,
    /// until `handing` returns false.
    ///
    /// - Parameter pending: the messages that wait for the disk, as `pendingMessages` returns them.
    mutating func walk(
        _ page: HistoryPage, of conversation: ConversationID, among pending: [Document],
        in world: ShardWorld, handing: (Document) -> Bool
    ) throws(ShardFailure) {
        var pending =
            pending.filter { $0.historyPosition.map(page.admits) ?? false }
            .sorted { comes($0, before: $1, on: page) }[...]
        var goesOn = true
        func hand(_ document: Document) {
            if goesOn { goesOn = handing(document) }
        }
        let (shard, inMemory) = (replica.shard, documents.pending)
        try read { () throws(StoreFailure) in
            try world.reader.history(of: conversation, in: shard, page: page) { document in
                while let first = pending.first, comes(first, before: document, on: page) {
                    hand(first)
                    pending.removeFirst()
                }
                if inMemory[document.key] == nil { hand(document) }
                return goesOn
            }
        }
        for document in pending { hand(document) }
    }

    /// The messages of a conversation that wait for the disk, unordered.
    func pendingMessages(of conversation: ConversationID) -> [Document] {
        documents.pending.values.map(\.document).filter {
            $0.key.kind == .message && $0.key.partition == conversation.text
        }
    }

    /// Returns the keys of the documents of a kind under a term of the index, and of all documents
    /// of the kind that are not on disk yet, ascending; the caller has to check each document.
    ///
    /// - Parameter partition: the only partition to search; nil for all partitions of the shard.
    mutating func keys(
        of kind: DocumentKey.Kind, carrying term: String, partition: String? = nil,
        in world: ShardWorld
    ) throws(ShardFailure) -> [DocumentKey] {
        let shard = replica.shard
        let stored = try read { () throws(StoreFailure) in
            try world.reader.keys(of: kind, carrying: term, in: shard, partition: partition)
        }
        let pending = documents.pending.keys.filter {
            $0.kind == kind && (partition == nil || $0.partition == partition)
        }
        return pending.isEmpty ? stored : Set(stored + pending).sorted()
    }

    /// Reads from the disk, and records damage that the read finds.
    mutating func read<Value>(
        _ body: () throws(StoreFailure) -> Value
    ) throws(ShardFailure) -> Value {
        do {
            return try body()
        } catch {
            recordDamage(error)
            throw .store(error)
        }
    }
}

private func comes(_ left: Document, before right: Document, on page: HistoryPage) -> Bool {
    guard let left = left.historyPosition, let right = right.historyPosition else {
        return false
    }
    return page.isDescending ? left > right : left < right
}

extension Document {
    /// The position of a message in its conversation's history; nil for other documents.
    var historyPosition: HistoryPosition? {
        guard key.kind == .message, let id = MessageID(key.id) else { return nil }
        return HistoryPosition(time: historyTime, id: id)
    }

    /// Returns whether the document is a message at or before a read position.
    func isRead(upTo position: HistoryPosition?) -> Bool {
        guard let position, let own = historyPosition else { return false }
        return own <= position
    }
}
