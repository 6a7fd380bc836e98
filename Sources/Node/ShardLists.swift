import CRDT
import Chat
import Replication
import Wire

/// What a shard tells of all of one user's conversations in it: derived each time it is asked.
extension ShardMachine {
    /// The user's conversations, in no order that counts.
    mutating func chats(
        of user: UserID, _ shown: Query.Shown, in world: ShardWorld
    ) throws(ShardFailure) -> [ChatView] {
        var views: [ChatView] = []
        try eachConversation(of: user, shown, in: world) { id, room, isArchived, tally in
            views.append(tally.view(of: id, room, isArchived: isArchived))
        }
        return views
    }

    /// One of the user's conversations, whether it is hidden or not, and who has archived it.
    mutating func chat(
        _ id: ConversationID, _ room: Conversation, of user: UserID, in world: ShardWorld
    ) throws(ShardFailure) -> ChatView {
        let seats = try seats(of: id, in: world)
        let seat = seats.first { $0.user == user }?.seat
        let reader = TallyReader(
            user: user, room: room, readTo: room.readPosition(of: user, in: seat),
            hidden: room.hiddenVector(of: user, in: seat), wantsLast: true)
        let tally = try tally(id, by: reader, among: pendingMessages(of: id), in: world)
        var view = tally.view(of: id, room, isArchived: seat?.isArchived ?? false)
        view.archivedBy =
            seats.filter { $0.seat.isArchived && room.participants.contains($0.user) }
            .map(\.user).sorted()
        return view
    }

    /// Where something is unread, archived or not.
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

    /// How much of a conversation `user` has not read who has read up to `position`, and who hides
    /// what was sent within `hidden`.
    mutating func unread(
        in conversation: ConversationID, _ room: Conversation, of user: UserID,
        readTo position: HistoryPosition?, hiding hidden: Vector?, in world: ShardWorld
    ) throws(ShardFailure) -> Int {
        let reader = TallyReader(
            user: user, room: room, readTo: position, hidden: hidden, wantsLast: false)
        return try tally(
            conversation, by: reader, among: pendingMessages(of: conversation), in: world
        ).unread
    }

    /// - Parameter shown: nil for all of them, without their previews.
    private mutating func eachConversation(
        of user: UserID, _ shown: Query.Shown?, in world: ShardWorld,
        handing: (ConversationID, Conversation, _ isArchived: Bool, Tally) -> Void
    ) throws(ShardFailure) {
        // Grouped once: what waits for the disk is not searched anew for each conversation.
        let pending = Dictionary(
            grouping: documents.pending.values.map(\.document).filter { $0.key.kind == .message },
            by: \.key.partition)
        for id in try conversations(of: user, in: world) {
            guard let room = try find(.conversation(id), in: world)?.document.conversation,
                room.participants.contains(user)
            else { continue }
            let seat = try find(.seat(user, in: id), in: world)?.document.seat
            let isArchived = seat?.isArchived ?? false
            guard shown?.admits(isArchived: isArchived) ?? true else { continue }
            let reader = TallyReader(
                user: user, room: room, readTo: room.readPosition(of: user, in: seat),
                hidden: room.hiddenVector(of: user, in: seat), wantsLast: shown != nil)
            let tally = try tally(id, by: reader, among: pending[id.text] ?? [], in: world)
            // What was hidden is in no list until something else has come.
            guard reader.hidden == nil || tally.isSeen else { continue }
            handing(id, room, isArchived, tally)
        }
    }

    /// Those that the index or what waits for the disk says the user is in, ascending; some may
    /// turn out to be others'.
    mutating func conversations(
        of user: UserID, in world: ShardWorld
    ) throws(ShardFailure) -> [ConversationID] {
        let (shard, term) = (copy.shard, Term.participant(user))
        let stored = try read { () throws(StoreFailure) in
            try world.reader.keys(
                of: .conversation, carrying: term, in: shard, partition: nil)
        }
        let pending = documents.pending.keys.filter { $0.kind == .conversation }
        return Set((stored + pending).map(\.partition)).sorted().compactMap(ConversationID.init)
    }

    /// Goes back from the newest message as far as there is something to count or to preview.
    private mutating func tally(
        _ conversation: ConversationID, by reader: TallyReader, among pending: [Document],
        in world: ShardWorld
    ) throws(ShardFailure) -> Tally {
        var tally = Tally()
        let page = HistoryPage(.newest, limit: .max)
        try walk(page, of: conversation, among: pending, in: world) {
            reader.take($0, into: &tally)
        }
        return tally
    }
}

/// What the messages of a conversation come to for one user.
private struct Tally {
    var unread = 0
    /// Whether there is anything that the user sees, placeholders included.
    var isSeen = false
    /// The newest message that the user sees and that is not deleted for everyone.
    var last: Document?
}

extension Tally {
    func view(of id: ConversationID, _ room: Conversation, isArchived: Bool) -> ChatView {
        let preview = last.flatMap { document in
            document.message.map { message in
                ChatView.Preview(
                    id: MessageID(checked: document.key.id), from: message.header.sender,
                    at: message.header.sent.time, type: message.header.type,
                    text: message.text)
            }
        }
        return ChatView(
            id: id, title: room.header.title, unread: unread, isArchived: isArchived,
            participants: room.participants.elements, createdBy: room.header.creator,
            createdAt: room.header.created.time, last: preview)
    }
}

private struct TallyReader {
    let user: UserID
    let room: Conversation
    let readTo: HistoryPosition?
    let hidden: Vector?
    let wantsLast: Bool

    /// - Returns: whether an older message may still count.
    func take(_ document: Document, into tally: inout Tally) -> Bool {
        guard let position = document.historyPosition, let message = document.message else {
            return true
        }
        let isUnread = readTo.map { $0 < position } ?? true
        guard !document.isSent(within: hidden) else {
            return isUnread || (wantsLast && tally.last == nil)
        }
        if !message.deletedBy.contains(user) { tally.isSeen = true }
        if counts(message), isUnread, message.header.sender != user { tally.unread += 1 }
        if wantsLast, tally.last == nil, previews(message) { tally.last = document }
        return isUnread || (wantsLast && tally.last == nil)
    }

    /// Whether it is unread where it lies behind what was read, and another sent it.
    private func counts(_ message: Message) -> Bool {
        #if PlantedBugs
            if PlantedBug.unreadNotRecomputed.isOn { return true }
        #endif
        return message.isShown(to: user, among: room.participants)
    }

    private func previews(_ message: Message) -> Bool {
        #if PlantedBugs
            if PlantedBug.previewIgnoresHide.isOn {
                return !message.isDeletedForEveryone(among: room.participants)
            }
        #endif
        return message.isShown(to: user, among: room.participants)
    }
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
