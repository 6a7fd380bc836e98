import CRDT
import Chat
import Replication
import Wire

/// What a request that changes nothing asks a shard for.
package enum Query: Hashable, Sendable {
    package enum Place: Hashable, Sendable {
        case newest
        case before(MessageID)
        case after(MessageID)
    }

    /// Messages as the user sees them, oldest first.
    case history(place: Place, limit: Int)
    /// The texts of a message, oldest first.
    case edits(MessageID)
}

/// What a query found.
package enum Findings: Hashable, Sendable {
    case messages([MessageView])
    case edits([EditView])
}

/// One text that a message had, and from when.
package struct EditView: Hashable, Sendable {
    package let at: HybridTimestamp
    package let text: String
}

extension ShardMachine {
    /// Answers a query from memory and disk.
    ///
    /// What is shown may not be on disk yet: the reply waits in `slot` unless `isSettled` is true.
    package mutating func answer(
        _ query: Query, in conversation: ConversationID, for user: UserID, slot: ReplySlot,
        in world: ShardWorld
    ) throws(ShardFailure) -> (findings: Findings, isSettled: Bool) {
        guard copy.isReady || copy.isServable else { throw .notReady }
        let found = try find(.conversation(conversation), in: world)
        guard let participants = found?.document.conversation?.participants else {
            throw .refused(query.missing)
        }
        guard participants.contains(user) else { throw .refused(.notParticipant) }
        let findings: Findings
        switch query {
        case .history(let place, let limit):
            let page = try page(place, limit: limit, in: conversation, world)
            let listing = Listing(user: user, participants: participants)
            findings = .messages(try list(page, of: conversation, as: listing, in: world))
        case .edits(let id):
            findings = .edits(
                try message(id, in: conversation, world).edits(among: participants)
                    .map { EditView(at: $0.at, text: $0.text) })
        }
        return (findings, !showsLater(in: slot, now: world.milliseconds))
    }

    /// Has a reply that shows what is here wait for the disk.
    ///
    /// - Returns: false where all is on disk: it may be sent at once.
    package mutating func showsLater(in slot: ReplySlot, now: UInt64) -> Bool {
        guard !isShownAtOnce else { return false }
        copy.wait(slot, storing: Context(), level: .local, now: now)
        return true
    }

    /// Whether all that is here is on disk.
    private var isShownAtOnce: Bool {
        #if PlantedBugs
            if PlantedBug.shownBeforeStored.isOn { return true }
        #endif
        return copy.isSettled
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

    /// For whom a page is listed.
    private struct Listing {
        let user: UserID
        let participants: ObservedRemoveSet<UserID>

        func view(of document: Document) -> MessageView? {
            guard let id = MessageID(document.key.id) else { return nil }
            return document.message?.view(as: id, for: user, among: participants)
        }
    }

    /// The page, out of what is on disk and what is on its way there.
    private mutating func list(
        _ page: HistoryPage, of conversation: ConversationID, as listing: Listing,
        in world: ShardWorld
    ) throws(ShardFailure) -> [MessageView] {
        var views: [MessageView] = []
        var pending = pending(on: page, of: conversation)[...]
        func take(_ document: Document) {
            guard views.count < page.limit, let view = listing.view(of: document) else { return }
            views.append(view)
        }
        do {
            try world.reader.history(of: conversation, in: copy.shard, page: page) { document in
                while let first = pending.first, comes(first, before: document, on: page) {
                    take(first)
                    pending.removeFirst()
                }
                if documents.pending[document.key] == nil { take(document) }
                return views.count < page.limit
            }
        } catch {
            note(error)
            throw .store(error)
        }
        for document in pending { take(document) }
        return page.isDescending ? views.reversed() : views
    }

    /// The messages on their way to disk that belong on the page, in its direction.
    private func pending(
        on page: HistoryPage, of conversation: ConversationID
    ) -> [Document] {
        documents.pending.values.map(\.document)
            .filter { document in
                document.key.kind == .message && document.key.partition == conversation.text
                    && (document.historyPosition.map(page.admits) ?? false)
            }
            .sorted { comes($0, before: $1, on: page) }
    }

    private func comes(_ left: Document, before right: Document, on page: HistoryPage) -> Bool {
        guard let left = left.historyPosition, let right = right.historyPosition else {
            return false
        }
        return page.isDescending ? left > right : left < right
    }
}

extension Query {
    var missing: Refusal {
        if case .edits = self { return .messageNotFound }
        return .conversationNotFound
    }
}

extension Document {
    /// Where it stands in its conversation's history, if it is a message.
    var historyPosition: HistoryPosition? {
        guard key.kind == .message, let id = MessageID(key.id) else { return nil }
        return HistoryPosition(time: historyTime, id: id)
    }
}
