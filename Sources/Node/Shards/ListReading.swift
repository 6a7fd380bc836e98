import CRDT
import Chat
import Replication
import Wire

/// The reading of a shard's part of a user's list, in slices over several turns.
///
/// The list shows one state of the shard all the same: at the end, what has changed of what was
/// read is read again.
struct ListReading: Sendable {
    let query: Query
    /// Whom the user has blocked.
    let senders: BlockedSenders
    let user: UserID
    /// The documents that each give a part of the list, ascending.
    private var keys: [DocumentKey]
    /// The index of the first document that has not been read.
    private var next = 0
    private var parts: [(partition: String, part: Findings)] = []
    /// How often what had changed was read again.
    private var rounds = 0

    /// The most rounds that take several turns; after them the rest is read in one, since a list
    /// of what changes all the time would never end.
    private static let roundsMax = 3

    init(_ query: Query, of user: UserID, in keys: [DocumentKey]) {
        (self.query, senders) = query.unfiltered
        self.user = user
        self.keys = keys
    }

    var isOver: Bool { next == keys.count }

    /// About what was read, in bytes.
    private(set) var bytes = 0

    /// How much of the documents has been read, in thousandths.
    var thousandths: Int { rounds > 0 || keys.isEmpty ? 1_000 : 1_000 * next / keys.count }

    /// Whether a slice has been read.
    var hasBegun: Bool { next > 0 || rounds > 0 }

    /// Whether the rest has to be read in one turn.
    var isLast: Bool { rounds > ListReading.roundsMax }

    mutating func takeNext() -> DocumentKey? {
        guard !isOver else { return nil }
        defer { next += 1 }
        return keys[next]
    }

    mutating func append(_ part: Findings, of key: DocumentKey) {
        parts.append((key.partition, part))
        bytes += part.roughBytes
    }

    /// Has these documents read again.
    mutating func readAgain(_ keys: [DocumentKey]) {
        let again = Set(keys.map(\.partition))
        parts.removeAll { again.contains($0.partition) }
        bytes = parts.reduce(0) { $0 + $1.part.roughBytes }
        (self.keys, next) = (keys, 0)
        rounds += 1
    }

    /// All that was read, unordered.
    var findings: Findings {
        var (chats, counts, users): ([ChatView], [UnreadCount], [UserID]) = ([], [], [])
        var items: [ItemView] = []
        var acquaintance = Acquaintance()
        for (_, part) in parts {
            switch part {
            case .chats(let more): chats += more
            case .unread(let more): counts += more
            case .users(let more): users += more
            case .actions(let more): items += more
            case .acquaintance(let more): acquaintance.add(more)
            default: break
            }
        }
        switch query {
        case .unread: return .unread(counts)
        case .contacts: return .users(users)
        case .actions: return .actions(items)
        case .acquaintance: return .acquaintance(acquaintance)
        default: return .chats(chats)
        }
    }

    /// What has changed in a shard since a reading began.
    struct Changes: Sendable {
        private let query: Query
        private let user: UserID
        private var partitions: Set<String>
        private var changed: Set<DocumentKey> = []

        init(of reading: ListReading) {
            (query, user) = (reading.query, reading.user)
            partitions = Set(reading.keys.map(\.partition))
        }

        /// Notes the change of a document, if the list may depend on it.
        mutating func note(_ document: Document) {
            let partition = document.key.partition
            guard partitions.contains(partition) || document.concerns(user) else { return }
            // What has come to the list since may change again once it is read.
            partitions.insert(partition)
            changed.formUnion(query.listedKeys(in: partition, of: user))
        }

        mutating func takeAll() -> [DocumentKey] {
            defer { changed = [] }
            return changed.sorted()
        }
    }
}

/// What a turn has read of a shard's part of a list.
enum ListSlice: Sendable {
    case unfinished(ListReading)
    case finished(Findings, isSettled: Bool)
}

extension Query {
    /// The keys of the documents of a partition that may each give a part of a user's list.
    func listedKeys(in partition: String, of user: UserID) -> [DocumentKey] {
        guard let kind = listedKind else { return [] }
        let shared = DocumentKey(checked: kind, partition: partition, id: "")
        guard kind == .item else { return [shared] }
        return [shared, DocumentKey(checked: kind, partition: partition, id: user.text)]
    }

    /// The kind of the documents that each give a part of a user's list; nil where the query is no
    /// such list.
    var listedKind: DocumentKey.Kind? {
        switch unfiltered.query {
        case .chats, .unread, .contacts, .acquaintance: .conversation
        case .actions: .item
        default: nil
        }
    }
}

extension ShardMachine {
    /// Begins to read the shard's part of a list.
    ///
    /// - Returns: nil where the query is answered as a whole.
    mutating func beginReading(
        _ query: Query, of user: UserID, in world: ShardWorld
    ) throws(ShardFailure) -> ListReading? {
        guard replica.mayAnswer else { throw .notReady }
        guard let kind = query.listedKind else { return nil }
        let term = kind == .item ? Term.owner(user) : Term.participant(user)
        return ListReading(query, of: user, in: try keys(of: kind, carrying: term, in: world))
    }

    /// Reads until the time is over; from then on, notes for `slot` what changes.
    ///
    /// - Returns: whether all is read.
    mutating func read(
        _ reading: inout ListReading, until time: TurnTime?, for slot: ReplySlot,
        in world: ShardWorld
    ) throws(ShardFailure) -> Bool {
        guard replica.mayAnswer else { throw .notReady }
        // What was read may be what a commit failed to store, or what another replica had.
        if reading.hasBegun, !documents.isFollowed(slot),
            let anew = try beginReading(
                reading.query.filtered(by: reading.senders), of: reading.user, in: world)
        {
            reading = anew
        }
        // Grouped once, so that the documents in memory are not searched for each conversation.
        let pending = Dictionary(
            grouping: documents.pending.values.map(\.document).filter { $0.key.kind == .message },
            by: \.key.partition)
        repeat {
            while let key = reading.takeNext() {
                let part = try part(
                    of: reading, in: key, among: pending[key.partition] ?? [], in: world)
                if let part { reading.append(part, of: key) }
                if let time, time.isOver, !reading.isLast, !reading.isOver {
                    documents.follow(slot, reading)
                    return false
                }
            }
            let changed = documents.takeChanges(for: slot)
            if !changed.isEmpty { reading.readAgain(changed) }
        } while !reading.isOver
        documents.unfollow(slot)
        return true
    }

    mutating func endReading(for slot: ReplySlot) { documents.unfollow(slot) }

    /// Reads the shard's part of a list in one turn.
    mutating func readList(
        _ query: Query, of user: UserID, for slot: ReplySlot, in world: ShardWorld
    ) throws(ShardFailure) -> Findings {
        guard var reading = try beginReading(query, of: user, in: world) else { throw .unsupported }
        _ = try read(&reading, until: nil, for: slot, in: world)
        return reading.findings
    }

    /// Returns what one document adds to a list.
    private mutating func part(
        of reading: ListReading, in key: DocumentKey, among pending: [Document],
        in world: ShardWorld
    ) throws(ShardFailure) -> Findings? {
        let (user, senders) = (reading.user, reading.senders)
        guard let document = try find(key, in: world)?.document else { return nil }
        if let item = document.item {
            guard item.owner == user, !item.isDeleted, let id = ItemID(key.partition),
                try counts(item, at: key, in: world)
            else { return nil }
            return .actions([item.view(as: id)])
        }
        guard let id = ConversationID(key.partition), let chat = document.conversation,
            chat.participants.contains(user)
        else { return nil }
        switch reading.query {
        case .contacts: return .users(chat.participants.elements.filter { $0 != user })
        case .acquaintance(let question):
            var isAnswered = false
            if !question.others.isEmpty {
                isAnswered = try hasSent(user, in: id, chat, among: pending, in: world)
            }
            return .acquaintance(
                Acquaintance(
                    in: chat, as: id, of: user, for: question, isAnswered: isAnswered))
        case .unread:
            let listed = try listed(
                id, chat, for: user, without: senders, nil, among: pending, in: world)
            guard let unread = listed?.tally.unread, unread > 0 else { return nil }
            return .unread([UnreadCount(conversation: id, count: unread)])
        case .chats(let shown, let search):
            let listed = try listed(
                id, chat, for: user, without: senders, shown, among: pending, in: world)
            guard let (tally, isArchived) = listed else { return nil }
            let view = ChatView(
                of: chat, as: id, unread: tally.unread, isArchived: isArchived, last: tally.last)
            return search?.matches(view.texts) ?? true ? .chats([view]) : nil
        default: return nil
        }
    }
}
