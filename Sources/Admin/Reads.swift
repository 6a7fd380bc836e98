import CRDT
import Chat
import LineProtocol
import Node
import Replication
import Wire

extension Admin {
    func read(
        _ query: Query, by user: UserID, _ page: ListPage = .whole, slot: ReplySlot,
        on connection: inout ConnectionState
    ) -> LineAnswer {
        let handling = handle(query, of: user, for: slot, having: connection.sessionVectors)
        return answer(
            handling, showing: query.partition, page, on: &connection,
            sizeEstimate: DeferredReply.listingBytes)
    }

    private func handle(
        _ query: Query, of user: UserID, for slot: ReplySlot, having sessionVectors: SessionVectors
    ) -> Reply {
        node.assumeIsolated { $0.handle(query, of: user, for: slot, having: sessionVectors) }
    }

    /// Returns the reply to a query: what it found, or the error.
    static func reply(with outcome: Completion, _ page: ListPage = .whole) -> [UInt8] {
        switch outcome {
        case .found(let findings, let isPartial): reply(findings, page, isPartial: isPartial)
        case .done: ReplyWriter.status()
        case .failed(let failure): LineError(failure).reply
        case .written: preconditionFailure("a write is acknowledged with its copies")
        }
    }

    private static func reply(
        _ whole: Findings, _ page: ListPage, isPartial: Bool
    ) -> [UInt8] {
        let (findings, next) = whole.page(page)
        var writer = ReplyWriter(reserving: findings.replyBytes)
        var total: Int?
        switch findings {
        case .messages(let messages):
            for message in messages where !writer.isTooLong { writer.message(message) }
        case .edits(let edits):
            for edit in edits where !writer.isTooLong {
                writer.line("EDIT") {
                    $0.pair("at", time: edit.at.lineTime)
                    $0.pair("text", edit.text)
                }
            }
        case .users:
            break
        case .chats(let chats):
            for chat in chats where !writer.isTooLong { writer.chat(chat, page.namesMax) }
        case .unread(let counts):
            for count in counts {
                writer.line("UNREAD") {
                    $0.pair("conversation", count.conversation)
                    $0.pair("count", count.count)
                }
            }
            // Of all, on whichever page they are.
            if case .unread(let all) = whole { total = all.reduce(0) { $0 + $1.count } }
        case .marks(let marks): for mark in marks { writer.mark(mark) }
        case .devices(let devices): for device in devices { writer.device(device) }
        case .blocks(let blocks): for block in blocks.views { writer.block(block) }
        case .blockViews(let blocks): for block in blocks { writer.block(block) }
        case .profile(let profile): writer.profile(profile)
        case .actions(let items):
            for item in items where !writer.isTooLong { writer.action(item) }
        case .notifications(let notifications):
            for notification in notifications where !writer.isTooLong {
                writer.notification(notification)
            }
        case .accounts(let accounts): for account in accounts { writer.account(account) }
        case .signing(let signing): return reply(signing)
        case .file(let file): writer.file(file)
        case .part(let bytes): writer.line("PART") { $0.pair("bytes", Base64.encode(bytes)) }
        case .profiles(let profiles):
            for profile in profiles.map(\.view).sorted(by: { $0.user < $1.user })
            where !writer.isTooLong { writer.profile(profile) }
        case .holders(let holders):
            for holder in holders.sorted() where !writer.isTooLong { writer.holder(holder) }
        case .device, .candidates, .names, .standing, .acquaintance, .bytes:
            preconditionFailure("only nodes ask for it")
        }
        guard !writer.isTooLong else { return LineError.replyTooLong.reply }
        writer.ok {
            $0.pair("total", total)
            $0.flag("partial", isPartial)
            $0.pair("next", next)
        }
        return writer.removeAll()
    }
}

extension Findings {
    /// The approximate size of its reply in bytes: a buffer that grows while it is written takes
    /// three times as much at the end.
    var replyBytes: Int {
        let bytes =
            switch self {
            case .messages(let messages):
                messages.reduce(0) {
                    $0 + $1.text.utf8.count + listBytes($1.deliveredTo) + listBytes($1.readBy) + 160
                }
            case .actions(let items): items.reduce(0) { $0 + $1.title.utf8.count + 160 }
            case .chats(let chats):
                chats.reduce(0) { bytes, chat in
                    let texts = (chat.title?.utf8.count ?? 0) + (chat.last?.text.utf8.count ?? 0)
                    return chat.participants.reduce(bytes + texts + 360) {
                        $0 + $1.text.utf8.count + 1
                    }
                }
            default: 0
            }
        return min(bytes, LineLimits.replyBytesMax)
    }
}

/// Returns the size of a list of names in bytes, with a comma behind each.
private func listBytes(_ names: [UserID]) -> Int {
    names.reduce(0) { $0 + $1.text.utf8.count + 1 }
}

extension ReplyWriter {
    var isTooLong: Bool { bytes.count > LineLimits.replyBytesMax }

    /// Writes the data line of a message as one user sees it.
    mutating func message(_ message: MessageView) {
        line("MESSAGE") {
            $0.pair("id", message.id)
            $0.pair("seq", sequence: message.sentAt.bits)
            $0.pair("from", message.from)
            $0.pair("at", time: message.sentAt.lineTime)
            $0.message(message)
        }
    }

    /// Writes the data line of a conversation in a user's list.
    ///
    /// - Parameter namesMax: the most participants that are named, beside their number; nil for
    ///   all, without it.
    mutating func chat(_ chat: ChatView, _ namesMax: Int? = nil) {
        line("CHAT") {
            $0.pair("id", chat.id)
            $0.pair("title", chat.title)
            $0.pair("unread", chat.unread)
            $0.flag("archived", chat.isArchived)
            $0.list("participants", chat.participants.prefix(namesMax ?? .max))
            $0.pair("participantCount", namesMax.map { _ in chat.participants.count })
            $0.pair("createdBy", chat.createdBy)
            $0.pair("createdAt", time: chat.createdAt.lineTime)
            $0.pair("last", chat.last?.id)
            $0.pair("lastFrom", chat.last?.from)
            $0.pair("lastAt", time: chat.last?.at.lineTime)
            $0.pair("lastText", chat.last.lineText)
            $0.set("archivedBy", chat.archivedBy)
            $0.flag("hidden", chat.isHidden)
        }
    }

    /// Writes the data line of a participant's marks.
    mutating func mark(_ mark: MarkView) {
        line("MARK") {
            $0.pair("user", mark.user)
            $0.pair("read", mark.read?.id)
            $0.pair("readAt", time: mark.read?.at.lineTime)
            $0.pair("delivered", mark.delivered?.id)
            $0.pair("deliveredAt", time: mark.delivered?.at.lineTime)
        }
    }

    /// Returns a status line alone.
    static func status(_ body: (inout ReplyPairs) -> Void = { _ in }) -> [UInt8] {
        var writer = ReplyWriter(reserving: 96)
        writer.ok(body)
        return writer.removeAll()
    }
}

extension ReplyPairs {
    /// Writes the pairs of a message that follow its id, sender and time.
    mutating func message(_ message: MessageView) {
        pair("type", message.type)
        pair("text", message.text)
        pair("item", message.item)
        pair("blob", message.attachment?.file)
        pair("preview", message.attachment?.preview)
        pair("edited", time: message.editedAt?.lineTime)
        pair("pinnedBy", message.pinnedBy)
        pair("pinnedAt", time: message.pinnedAt?.lineTime)
        flag("deletedForEveryone", message.isDeletedForEveryone)
        list("deletedBy", message.deletedBy)
        list("deliveredTo", message.deliveredTo)
        list("readBy", message.readBy)
    }
}

extension ChatView.Preview? {
    /// The text that a list shows for the preview, or for its absence.
    var lineText: String {
        guard let preview = self else { return "No messages yet" }
        return switch preview.type {
        case .image: "Photo"
        case .voice: "Voice message"
        case .text, .system, .action: preview.text
        }
    }
}

extension HybridTimestamp {
    /// The time as the line protocol prints it: milliseconds since 1970.
    var lineTime: Int64 { Int64(milliseconds) }
}
