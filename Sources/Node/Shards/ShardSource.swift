import CRDT
import Chat
import Replication
import Wire

extension ShardFailure: QueryFailure {}

/// A shard as the source of a query, created for one answer.
struct ShardSource: QuerySource {
    var machine: ShardMachine
    private let world: ShardWorld
    /// The messages that wait for the disk, by conversation; nil unless many conversations are
    /// read, each of which would need a search.
    private var pendingMessages: [String: [Document]]?

    init(machine: consuming ShardMachine, world: ShardWorld) {
        self.machine = machine
        self.world = world
    }

    var wallMilliseconds: UInt64 { world.judge.wallMilliseconds }

    mutating func find(
        _ query: some Query, for viewer: Viewer
    ) throws(ShardFailure) -> AnyFindings {
        if query.list != nil { groupPending() }
        return AnyFindings(try query.find(for: viewer, in: &self))
    }

    /// Groups the messages that wait for the disk by their conversations.
    mutating func groupPending() {
        pendingMessages = Dictionary(
            grouping: machine.documents.pending.values.map(\.document)
                .filter { $0.key.kind == .message },
            by: \.key.partition)
    }

    private func pending(of conversation: ConversationID) -> [Document] {
        guard let pendingMessages else { return machine.pendingMessages(of: conversation) }
        return pendingMessages[conversation.text] ?? []
    }

    func holds(_ key: DocumentKey) -> Bool {
        key.shard(of: machine.shardCount) == machine.replica.shard
    }

    mutating func document(_ key: DocumentKey) throws(ShardFailure) -> Document? {
        try machine.find(key, in: world)?.document
    }

    mutating func document(
        of item: ItemID, of owner: UserID
    ) throws(ShardFailure) -> Document? {
        try machine.find(item: item, of: owner, in: world)?.document
    }

    mutating func keys(
        of kind: DocumentKey.Kind, carrying term: String, partition: String?
    ) throws(ShardFailure) -> [DocumentKey] {
        try machine.keys(of: kind, carrying: term, partition: partition, in: world)
    }

    mutating func participantStates(
        of conversation: ConversationID
    ) throws(ShardFailure) -> [(user: UserID, participantState: ParticipantState)] {
        try machine.participantStates(of: conversation, in: world)
    }

    mutating func messages(
        _ page: HistoryPage, of conversation: ConversationID, passing: (CountedRun) -> Bool,
        handing: (Document) -> Bool
    ) throws(ShardFailure) {
        try machine.list(
            page, of: conversation, among: pending(of: conversation), in: world, passing: passing,
            handing: handing)
    }

    mutating func tally(
        of conversation: ConversationID, _ chat: Conversation,
        _ participantState: ParticipantState?, for viewer: Viewer, wantsLast: Bool
    ) throws(ShardFailure) -> Tally {
        try machine.tally(
            conversation,
            for: Reading(
                user: viewer.user, chat: chat, participantState: participantState,
                without: viewer.senders),
            among: pending(of: conversation), wantsLast: wantsLast, in: world)
    }

    mutating func hasSent(
        _ user: UserID, in conversation: ConversationID, _ chat: Conversation
    ) throws(ShardFailure) -> Bool {
        try machine.hasSent(
            user, in: conversation, chat, among: pending(of: conversation), in: world)
    }

    mutating func candidates(
        _ query: DueQuery, for viewer: Viewer
    ) throws(ShardFailure) -> [NotificationCandidate] {
        groupPending()
        return try machine.candidates(
            query, without: viewer.senders, among: pendingMessages ?? [:], in: world)
    }

    mutating func blocks(of user: UserID) throws(ShardFailure) -> Blocks {
        try machine.blocks(of: user, in: world)
    }
}
