import CRDT
import Chat
import LineProtocol
import Node
import Replication
import Wire

extension Admin {
    /// Returns the line of an event without its token, the same for all who receive it.
    package static func line(of event: Event) -> [UInt8] {
        var writer = ReplyWriter(reserving: 512)
        writer.line("EVENT") {
            $0.pair("kind", event.kind.word)
            $0.pair("conversation", event.conversation)
            $0.pair("by", event.by)
            $0.pair("at", time: event.at.lineTime)
            event.kind.write(to: &$0, sentAt: event.sentAt)
        }
        // The line's end follows the token.
        return Array(writer.removeAll().dropLast())
    }

    /// Writes the whole line of an event for one watcher.
    package static func write(
        _ line: [UInt8], endingWith token: String?, to writer: inout ReplyWriter
    ) {
        writer.raw(line)
        writer.line("") { $0.pair("token", token) }
    }

    func type(
        _ typing: Request.Typing, for slot: ReplySlot, on connection: inout ConnectionState
    ) -> LineAnswer {
        let begun = node.assumeIsolated {
            $0.type(typing.isOn, in: typing.conversation, by: typing.user, for: slot)
        }
        switch begun {
        case .success(let handling):
            return answer(
                handling, showing: typing.conversation.text, on: &connection, sizeEstimate: 0)
        case .failure(let failure): return .now(LineError(failure).reply)
        }
    }
}

extension Event.Kind {
    var word: String {
        switch self {
        case .message: "message"
        case .edit: "edit"
        case .restore: "restore"
        case .delete: "delete"
        case .pin: "pin"
        case .unpin: "unpin"
        case .read: "read"
        case .delivered: "delivered"
        case .typing: "typing"
        case .member: "member"
        case .archive: "archive"
        case .unarchive: "unarchive"
        case .hide: "hide"
        case .action, .actionDeleted: "action"
        case .profile: "profile"
        case .blocks: preconditionFailure("nodes show it to nobody")
        }
    }

    /// Writes the pairs that only this kind has.
    ///
    /// - Parameter sentAt: when the message was sent that the event names.
    func write(to pairs: inout ReplyPairs, sentAt: HybridTimestamp?) {
        switch self {
        case .message(let view), .edit(let view), .restore(let view):
            pairs.pair("id", view.id)
            pairs.pair("seq", sequence: sentAt?.bits)
            pairs.pair("from", view.from)
            pairs.message(view)
        case .delete(let id, let isForEveryone):
            pairs.pair("id", id)
            pairs.pair("for", isForEveryone ? DeleteScope.everyone : DeleteScope.me)
            pairs.pair("seq", sequence: sentAt?.bits)
        case .pin(let id), .unpin(let id), .read(let id), .delivered(let id):
            pairs.pair("id", id)
            pairs.pair("seq", sequence: sentAt?.bits)
        case .typing(let isOn):
            pairs.pair("on", isOn ? "true" : "false")
        case .member(let user, let isIn):
            pairs.pair("user", user)
            pairs.pair("change", isIn ? "added" : "left")
        case .archive, .unarchive, .hide:
            break
        case .action(let item):
            pairs.action(item)
        case .actionDeleted(let id):
            pairs.pair("id", id)
            pairs.flag("deleted", true)
        case .profile(let profile):
            pairs.profile(profile)
        case .blocks: preconditionFailure("nodes show it to nobody")
        }
    }
}
