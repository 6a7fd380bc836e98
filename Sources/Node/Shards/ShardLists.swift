import CRDT
import Chat
import Replication
import Wire

/// A shard's part of the lists over all of a user's conversations; computed for each request.
extension ShardMachine {
    /// Returns one of the user's conversations, even if it is hidden, and the users who have
    /// archived it.
    mutating func chat(
        _ id: ConversationID, _ chat: Conversation, of user: UserID,
        without senders: BlockedSenders, in world: ShardWorld
    ) throws(ShardFailure) -> ChatView {
        let participantStates = try participantStates(of: id, in: world)
        let participantState = participantStates.first { $0.user == user }?.participantState
        let reading = Reading(
            user: user, chat: chat, participantState: participantState, without: senders)
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

    /// Counts the messages of a conversation that `user` has not read.
    ///
    /// - Parameters:
    ///   - position: the position up to which the user has read; nil for none.
    ///   - hidden: the vector up to which the user has hidden the conversation; nil for none.
    ///   - senders: whom the user has blocked.
    mutating func unread(
        in conversation: ConversationID, _ chat: Conversation, of user: UserID,
        readTo position: HistoryPosition?, hiding hidden: Vector?,
        without senders: BlockedSenders, in world: ShardWorld
    ) throws(ShardFailure) -> Int {
        try unread(
            in: conversation,
            for: Reading(
                user: user, chat: chat, readTo: position, hidden: hidden, without: senders),
            among: pendingMessages(of: conversation), in: world)
    }

    /// Returns what a user's list shows of a conversation; nil where the list does not show it.
    ///
    /// - Parameters:
    ///   - senders: whom the user has blocked.
    ///   - shown: the conversations that are shown; nil for all of them, without previews.
    mutating func listed(
        _ id: ConversationID, _ chat: Conversation, for user: UserID,
        without senders: BlockedSenders, _ shown: Query.Shown?, among pending: [Document],
        in world: ShardWorld
    ) throws(ShardFailure) -> (tally: Tally, isArchived: Bool)? {
        let participantState = try find(.participantState(user, in: id), in: world)?.document
            .participantState
        let isArchived = participantState?.isArchived ?? false
        guard shown?.admits(isArchived: isArchived) ?? true else { return nil }
        let tally = try tally(
            id,
            for: Reading(
                user: user, chat: chat, participantState: participantState, without: senders),
            among: pending, wantsLast: shown != nil, in: world)
        // A hidden conversation is in no list until another message has arrived.
        return tally.isSeen ? (tally, isArchived) : nil
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
                .flatMap { ChatView.Preview($0, without: reading.senders) }
        }
        tally.isSeen = reading.hidden == nil || tally.unread > 0 || tally.last != nil
        if !tally.isSeen {
            tally.isSeen = try isSeen(conversation, for: reading, among: pending, in: world)
        }
        return tally
    }
}

/// The unread count and the preview of a conversation for one user.
struct Tally {
    var unread = 0
    /// Whether there is a message that the user has not hidden, placeholders included.
    var isSeen = false
    /// The newest message that the user sees and that is not deleted for everyone.
    var last: ChatView.Preview?
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
