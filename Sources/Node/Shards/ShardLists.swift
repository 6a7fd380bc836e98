import CRDT
import Chat
import Replication
import Wire

/// A shard's part of the lists over all of a user's conversations; computed for each request.
extension ShardMachine {
    /// Counts the messages of a conversation that `user` has not read.
    ///
    /// - Parameters:
    ///   - position: the position up to which the user has read; nil for none.
    ///   - hidden: the vector up to which the user has hidden the conversation; nil for none.
    ///   - senders: the users whom the user has blocked.
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

    /// Returns the conversations that the index or a document in memory names for the user,
    /// ascending; the user need not be a participant of all these conversations.
    mutating func conversations(
        of user: UserID, in world: ShardWorld
    ) throws(ShardFailure) -> [ConversationID] {
        try keys(of: .conversation, carrying: Term.participant(user), in: world)
            .map(\.partition).compactMap(ConversationID.init)
    }

    /// Returns the unread count of a conversation, and its preview.
    ///
    /// - Parameter wantsLast: whether the preview is needed.
    mutating func tally(
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
