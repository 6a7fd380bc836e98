import CRDT
import Chat
import Replication
import Wire

/// A shard's part of the lists over all of a user's conversations; computed for each request.
extension ShardMachine {
    /// Returns the user's conversations, unordered.
    ///
    /// - Parameter search: the words that a conversation has to contain; nil for none.
    mutating func chats(
        of user: UserID, _ shown: Query.Shown, finding search: WordSearch?, in world: ShardWorld
    ) throws(ShardFailure) -> [ChatView] {
        var views: [ChatView] = []
        try eachConversation(of: user, shown, in: world) { id, chat, isArchived, tally in
            let view = ChatView(
                of: chat, as: id, unread: tally.unread, isArchived: isArchived, last: tally.last)
            if search?.matches(view.texts) ?? true { views.append(view) }
        }
        return views
    }

    /// Returns one of the user's conversations, even if it is hidden, and the users who have
    /// archived it.
    mutating func chat(
        _ id: ConversationID, _ chat: Conversation, of user: UserID, in world: ShardWorld
    ) throws(ShardFailure) -> ChatView {
        let participantStates = try participantStates(of: id, in: world)
        let participantState = participantStates.first { $0.user == user }?.participantState
        let reading = Reading(user: user, chat: chat, participantState: participantState)
        let tally = try tally(
            id, for: reading, among: pendingMessages(of: id), wantsLast: true, in: world)
        var view = ChatView(
            of: chat, as: id, unread: tally.unread,
            isArchived: participantState?.isArchived ?? false, last: tally.last)
        view.archivedBy =
            participantStates.filter {
                $0.participantState.isArchived && chat.participants.contains($0.user)
            }
            .map(\.user).sorted()
        view.isHidden = !tally.isSeen
        return view
    }

    /// Returns the unread counts of the user's conversations that have any, archived or not.
    mutating func unreadCounts(
        of user: UserID, in world: ShardWorld
    ) throws(ShardFailure) -> [UnreadCount] {
        var counts: [UnreadCount] = []
        try eachConversation(of: user, nil, in: world) { id, _, _, tally in
            guard tally.unread > 0 else { return }
            counts.append(UnreadCount(conversation: id, count: tally.unread))
        }
        return counts
    }

    /// Counts the messages of a conversation that `user` has not read.
    ///
    /// - Parameters:
    ///   - position: the position up to which the user has read; nil for none.
    ///   - hidden: the vector up to which the user has hidden the conversation; nil for none.
    mutating func unread(
        in conversation: ConversationID, _ chat: Conversation, of user: UserID,
        readTo position: HistoryPosition?, hiding hidden: Vector?, in world: ShardWorld
    ) throws(ShardFailure) -> Int {
        try unread(
            in: conversation,
            for: Reading(user: user, chat: chat, readTo: position, hidden: hidden),
            among: pendingMessages(of: conversation), in: world)
    }

    /// - Parameter shown: the conversations to hand out; nil for all of them, without previews.
    private mutating func eachConversation(
        of user: UserID, _ shown: Query.Shown?, in world: ShardWorld,
        handing: (ConversationID, Conversation, _ isArchived: Bool, Tally) -> Void
    ) throws(ShardFailure) {
        // Grouped once, so that the documents in memory are not searched for each conversation.
        let pending = Dictionary(
            grouping: documents.pending.values.map(\.document).filter { $0.key.kind == .message },
            by: \.key.partition)
        for id in try conversations(of: user, in: world) {
            guard let chat = try find(.conversation(id), in: world)?.document.conversation,
                chat.participants.contains(user)
            else { continue }
            let participantState = try find(.participantState(user, in: id), in: world)?.document
                .participantState
            let isArchived = participantState?.isArchived ?? false
            guard shown?.admits(isArchived: isArchived) ?? true else { continue }
            let tally = try tally(
                id, for: Reading(user: user, chat: chat, participantState: participantState),
                among: pending[id.text] ?? [], wantsLast: shown != nil, in: world)
            // A hidden conversation is in no list until another message has arrived.
            guard tally.isSeen else { continue }
            handing(id, chat, isArchived, tally)
        }
    }

    /// Returns the conversations that the index or a document in memory names for the user,
    /// ascending; the user need not be a participant of all of them.
    mutating func conversations(
        of user: UserID, in world: ShardWorld
    ) throws(ShardFailure) -> [ConversationID] {
        try keys(of: .conversation, carrying: Term.participant(user), in: world)
            .map(\.partition).compactMap(ConversationID.init)
    }

    /// - Parameter wantsLast: whether a preview is needed.
    private mutating func tally(
        _ conversation: ConversationID, for reading: Reading, among pending: [Document],
        wantsLast: Bool, in world: ShardWorld
    ) throws(ShardFailure) -> Tally {
        var tally = Tally()
        tally.unread = try unread(in: conversation, for: reading, among: pending, in: world)
        if wantsLast {
            tally.last = try preview(of: conversation, for: reading, among: pending, in: world)
        }
        tally.isSeen = reading.hidden == nil || tally.unread > 0 || tally.last != nil
        if !tally.isSeen {
            tally.isSeen = try isSeen(conversation, for: reading, among: pending, in: world)
        }
        return tally
    }
}

/// The unread count and the preview of a conversation for one user.
private struct Tally {
    var unread = 0
    /// Whether there is a message that the user has not hidden, placeholders included.
    var isSeen = false
    /// The newest message that the user sees and that is not deleted for everyone.
    var last: Document?
}

extension Query.Shown {
    func admits(isArchived: Bool) -> Bool {
        switch self {
        case .active: !isArchived
        case .archived: isArchived
        case .all: true
        }
    }
}
