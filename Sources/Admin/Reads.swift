import CRDT
import Chat
import LineProtocol
import Node
import Replication
import Wire

extension Admin {
    func read(_ history: Request.History, for slot: ReplySlot) -> Answer {
        let place: Query.Place =
            switch history.page {
            case .newest: .newest
            case .before(let id): .before(id)
            case .after(let id): .after(id)
            }
        return read(
            .history(place: place, limit: history.limit), in: history.conversation,
            for: history.user, slot: slot)
    }

    func read(_ message: Request.OfMessage, for slot: ReplySlot) -> Answer {
        read(
            .edits(message.message), in: message.conversation, for: message.user, slot: slot)
    }

    private func read(
        _ query: Query, in conversation: ConversationID, for user: UserID, slot: ReplySlot
    ) -> Answer {
        guard let shard = node.assumeIsolated({ $0.shard(of: conversation) }) else {
            return .now(LineError(.notReady).reply)
        }
        let result = shard.assumeIsolated {
            $0.answer(query, in: conversation, for: user, slot: slot)
        }
        switch result {
        case .failure(let failure):
            return refuse(failure, by: shard, for: slot)
        case .success(let answer):
            let bytes = reply(answer.findings)
            return answer.isSettled
                ? .now(bytes) : .later(PendingReply(form: .whole(bytes), write: nil))
        }
    }

    private func reply(_ findings: Findings) -> [UInt8] {
        var writer = ReplyWriter()
        switch findings {
        case .messages(let messages):
            for message in messages { writer.message(message) }
        case .edits(let edits):
            for edit in edits {
                writer.line("EDIT") {
                    $0.pair("at", time: edit.at.lineTime)
                    $0.pair("text", edit.text)
                }
            }
        }
        writer.ok()
        return writer.take()
    }
}

extension ReplyWriter {
    /// The data line of a message as one user sees it.
    mutating func message(_ message: MessageView) {
        line("MESSAGE") {
            $0.pair("id", message.id)
            $0.pair("from", message.from)
            $0.pair("at", time: message.sentAt.lineTime)
            $0.pair("type", message.type)
            $0.pair("text", message.text)
            $0.pair("item", message.item)
            $0.pair("edited", time: message.editedAt?.lineTime)
            $0.pair("pinnedBy", message.pinnedBy)
            $0.pair("pinnedAt", time: message.pinnedAt?.lineTime)
            $0.flag("deletedForEveryone", message.isDeletedForEveryone)
            $0.set("deletedBy", message.deletedBy)
        }
    }

    /// A status line alone.
    static func status(_ body: (inout ReplyPairs) -> Void = { _ in }) -> [UInt8] {
        var writer = ReplyWriter(reserving: 96)
        writer.ok(body)
        return writer.take()
    }
}

extension HybridTimestamp {
    /// As the line protocol prints times: milliseconds since 1970.
    var lineTime: Int64 { Int64(milliseconds) }
}
