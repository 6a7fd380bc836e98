import CRDT
import Chat
import Replication
import StorePort
import Wire

extension ShardMachine {
    /// Answers a query from memory and disk.
    ///
    /// - Returns: the findings, and whether they are all on disk. If they are not, the reply waits
    ///   in `slot`.
    package mutating func answer(
        _ query: Query, for user: UserID, slot: ReplySlot, in world: ShardWorld
    ) throws(ShardFailure) -> (findings: Findings, isSettled: Bool) {
        guard replica.mayAnswer else { throw .notReady }
        let findings: Findings
        let (whole, senders) = (query, query.unfiltered.senders)
        let query = query.unfiltered.query
        switch query {
        case .chats, .contacts, .unread, .actions, .acquaintance:
            findings = try readList(whole, of: user, for: slot, in: world)
        case .chat(let conversation):
            let listing = try listing(of: conversation, for: user, query, world)
            findings = .chats([
                try chat(conversation, listing.chat, of: user, without: senders, in: world)
            ])
        case .marks(let conversation):
            let listing = try listing(of: conversation, for: user, query, world)
            findings = .marks(
                listing.chat.marks(by: try participantStates(of: conversation, in: world)))
        case .changes(let conversation, let limit):
            let listing = try listing(of: conversation, for: user, query, world)
            let own = try find(.participantState(user, in: conversation), in: world)
            let changes = listing.chat.changes(
                shownTo: user, in: own?.document.participantState)
            findings = .changes(Array(changes.prefix(limit)))
        case .file(let id, let conversation, let isTagged):
            _ = try listing(of: conversation, for: user, query, world)
            findings = .file(try file(id, in: conversation, isTagged: isTagged, world))
        case .part(let index, let id, let conversation, let tag):
            _ = try listing(of: conversation, for: user, query, world)
            findings = .part(try part(index, of: id, in: conversation, tag: tag, world))
        case .due(let query):
            findings = .candidates(try candidates(query, without: senders, in: world))
        case .names, .profiles, .profile, .devices, .device, .accounts, .allAccounts, .signIn,
            .holders, .signing, .blocks, .blockers, .accountUsers, .action, .unsentBytes:
            findings = try findOfUsers(query, for: user, in: world)
        case .without: preconditionFailure("a query that is not filtered")
        case .history(let conversation, let place, let limit, let bytesMax):
            let listing = try listing(
                of: conversation, for: user, without: senders, query, world)
            let page = try page(place, limit: limit, in: conversation, world)
            findings = .messages(
                try list(page, upTo: bytesMax ?? .max, as: listing, in: world))
        case .message(let id, let conversation):
            let listing = try listing(
                of: conversation, for: user, without: senders, query, world)
            let found = try find(.message(id, in: conversation), in: world)
            guard let view = found.flatMap({ listing.view(of: $0.document) }) else {
                throw .refused(.messageNotFound)
            }
            findings = .messages([view])
        case .edits(let id, let conversation):
            let listing = try listing(of: conversation, for: user, query, world)
            let message = try message(id, in: conversation, world)
            guard !senders.hides(message) else { throw .refused(.messageNotFound) }
            findings = .edits(
                senders.shown(message).edits(among: listing.chat.participants)
                    .map { EditView(at: $0.at, text: $0.text) })
        case .pinned(let conversation):
            let listing = try listing(
                of: conversation, for: user, without: senders, query, world)
            findings = .messages(try pinned(as: listing, in: world))
        case .participants(let conversation):
            let listing = try listing(of: conversation, for: user, query, world)
            findings = .users(listing.chat.participants.elements)
        }
        return (findings, !showsLater(in: slot, now: world.milliseconds))
    }

    /// Answers a query about documents that belong to users or to the cluster.
    private mutating func findOfUsers(
        _ query: Query, for user: UserID, in world: ShardWorld
    ) throws(ShardFailure) -> Findings {
        switch query {
        case .names(let users):
            return .names(try names(of: users, in: world))
        case .profiles(let users):
            return .profiles(try profiles(of: users, in: world))
        case .devices(let owner):
            return .devices(try devices(of: owner, in: world))
        case .profile(let owner):
            return .profile(try profile(of: owner, in: world))
        case .action(let id):
            let item = try find(item: id, of: user, in: world)?.document.item
            guard let item, !item.isDeleted else {
                throw .refused(.itemNotFound)
            }
            return .actions([item.view(as: id)])
        case .device(let device, let owner):
            return .device(try self.device(device, of: owner, in: world))
        case .accounts(let address):
            let found = try find(.credentials(address), in: world)
            return .accounts(found?.document.credentials?.views(at: address) ?? [])
        case .signIn(let signIn, let owner):
            return .standing(try standing(of: signIn, of: owner, in: world))
        case .holders(let token):
            return .holders(try holders(of: token.text, in: world))
        case .allAccounts(let last):
            return .accounts(try accounts(after: last, in: world))
        case .signing:
            let found = try find(.signing, in: world)
            return .signing(found?.document.signing ?? Signing())
        case .blocks(let owner):
            return .blocks(try blocks(of: owner, in: world))
        case .blockers(let users):
            return .users(try blockers(of: user, among: users, in: world))
        case .accountUsers(let users):
            return .users(try accountUsers(among: users, in: world))
        case .unsentBytes(let file, let conversation):
            return .bytes(
                try unsentBytes(
                    of: user, besides: .file(file, in: conversation), in: world))
        default: preconditionFailure("a query about users")
        }
    }

    /// Has a reply that shows what is here wait until it is on disk.
    ///
    /// - Returns: false if all of it is on disk: the reply may be sent at once.
    package mutating func showsLater(in slot: ReplySlot, now: UInt64) -> Bool {
        guard !isShownAtOnce else { return false }
        replica.wait(slot, storing: Context(), level: .local, now: now)
        return true
    }

    /// Whether all that is here is on disk.
    private var isShownAtOnce: Bool {
        #if PlantedBugs
            if PlantedBug.shownBeforeStored.isOn { return true }
        #endif
        return replica.isSettled
    }

    private mutating func message(
        _ id: MessageID, in conversation: ConversationID, _ world: ShardWorld
    ) throws(ShardFailure) -> Message {
        let found = try find(.message(id, in: conversation), in: world)
        guard let message = found?.document.message else { throw .refused(.messageNotFound) }
        return message
    }

    private mutating func page(
        _ place: Query.Place, limit: Int, in conversation: ConversationID, _ world: ShardWorld
    ) throws(ShardFailure) -> HistoryPage {
        switch place {
        case .newest:
            return HistoryPage(.newest, limit: limit)
        case .before(let id):
            let time = try message(id, in: conversation, world).header.sent.time
            return HistoryPage(.before(HistoryPosition(time: time, id: id)), limit: limit)
        case .after(let id):
            let time = try message(id, in: conversation, world).header.sent.time
            return HistoryPage(.after(HistoryPosition(time: time, id: id)), limit: limit)
        }
    }
}

// MARK: Messages

/// The inputs of a listing of a conversation's messages for one user.
private struct Listing {
    let conversation: ConversationID
    let chat: Conversation
    let user: UserID
    let progress: Progress
    /// The vector up to which the user has hidden the conversation.
    let hidden: Vector?
    /// Whom the user has blocked.
    let senders: BlockedSenders

    func view(of document: Document) -> MessageView? {
        guard let id = MessageID(document.key.id), !document.isSent(within: hidden) else {
            return nil
        }
        // Nearly nobody has blocked anybody, and a message is large to copy.
        if senders.isEmpty { return document.message.flatMap { view(of: $0, as: id) } }
        guard !senders.hides(document) else { return nil }
        return document.message.map(senders.shown).flatMap { view(of: $0, as: id) }
    }

    private func view(of message: Message, as id: MessageID) -> MessageView? {
        message.view(as: id, for: user, among: chat.participants, progress: progress)
    }
}

extension ShardMachine {
    /// Returns the inputs of a participant's listing; throws a refusal if there is none.
    private mutating func listing(
        of conversation: ConversationID, for user: UserID,
        without senders: BlockedSenders = .none, _ query: Query, _ world: ShardWorld
    ) throws(ShardFailure) -> Listing {
        let found = try find(.conversation(conversation), in: world)
        guard let chat = found?.document.conversation else { throw .refused(query.missing) }
        guard chat.participants.contains(user) else { throw .refused(.notParticipant) }
        var progress = Progress()
        var hidden: Vector?
        if query.showsProgress {
            let participantStates = try participantStates(of: conversation, in: world)
            progress = Progress(of: participantStates, in: chat)
            hidden = chat.hiddenVector(
                of: user, in: participantStates.first { $0.user == user }?.participantState)
        }
        return Listing(
            conversation: conversation, chat: chat, user: user, progress: progress,
            hidden: hidden, senders: senders)
    }

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

    /// Returns a page of messages, from disk and memory.
    ///
    /// - Parameter bytesMax: the size of the messages after which the page ends, in bytes. It has
    ///   the message with which it became larger, and two at least: one that is left out says that
    ///   the history goes on.
    private mutating func list(
        _ page: HistoryPage, upTo bytesMax: Int, as listing: Listing, in world: ShardWorld
    ) throws(ShardFailure) -> [MessageView] {
        var views: [MessageView] = []
        var bytes = 0
        try list(
            page, of: listing.conversation, among: pendingMessages(of: listing.conversation),
            in: world
        ) { run in
            listing.senders.hidden(from: listing.user, in: run, countingRetracted: true)
                == run.counts.seen(by: listing.user)
                || listing.hidden.map { run.counts.areSent(within: $0) ?? false } ?? false
        } handing: { document in
            guard let view = listing.view(of: document) else { return true }
            views.append(view)
            if bytesMax < .max { bytes += view.encoded.count }
            return views.count < page.limit && (bytes <= bytesMax || views.count < 2)
        }
        return page.isDescending ? views.reversed() : views
    }

    /// Returns the pinned messages that the user sees, newest pin first.
    private mutating func pinned(
        as listing: Listing, in world: ShardWorld
    ) throws(ShardFailure) -> [MessageView] {
        let (conversation, shard) = (listing.conversation, replica.shard)
        let stored = try read { () throws(StoreFailure) in
            try world.reader.keys(
                of: .message, carrying: Term.pinned, in: shard, partition: conversation.text)
        }
        let pending = pendingMessages(of: conversation).map(\.key)
        var pins: [(at: Stamp, view: MessageView)] = []
        for key in Set(stored + pending).sorted() {
            guard let document = try find(key, in: world)?.document,
                let pin = document.message?.pin, pin.value.by != nil,
                let view = listing.view(of: document), !view.isDeletedForEveryone
            else { continue }
            pins.append((pin.stamp, view))
        }
        return pins.sorted { $1.at < $0.at }.map(\.view)
    }
}

// MARK: Walks

extension ShardMachine {
    /// Hands out a conversation's messages from disk and memory, in the page's direction, until
    /// `handing` returns false.
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
    /// of the kind that are not on disk yet, ascending: the caller has to look at each.
    ///
    /// - Parameter partition: the only partition looked at; nil for all of the shard.
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

    /// Reads from the disk, and notes damage that the read finds.
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

extension Query {
    var missing: Refusal {
        switch self {
        case .edits: .messageNotFound
        case .profile: .profileNotFound
        case .file, .part: .fileNotFound
        default: .conversationNotFound
        }
    }

    /// Whether the answer shows who has read what, and leaves out what is hidden.
    var showsProgress: Bool {
        switch self {
        case .edits, .participants, .chat, .marks, .changes, .file, .part: false
        default: true
        }
    }
}

extension Document {
    /// The position of a message in its conversation's history; nil for other documents.
    var historyPosition: HistoryPosition? {
        guard key.kind == .message, let id = MessageID(key.id) else { return nil }
        return HistoryPosition(time: historyTime, id: id)
    }

    /// Whether the document is a message that somebody who has read up to a position has read.
    func isRead(upTo position: HistoryPosition?) -> Bool {
        guard let position, let own = historyPosition else { return false }
        return own <= position
    }
}
