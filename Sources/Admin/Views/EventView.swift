import CRDT
import Chat
import JSON
import LineProtocol
import Wire

extension Event {
    /// Writes the fields of the event without its token.
    func write(to fields: inout some ViewWriter) {
        fields.write(self, Event.common)
        switch kind {
        case .message(let view), .edit(let view), .restore(let view):
            fields.write(NamedMessage(view: view, sentAt: sentAt), NamedMessage.fields)
            fields.write(view, View<MessageView>.content)
        case .delete(let id, let isForEveryone):
            let deletion = Deletion(
                message: id, scope: isForEveryone ? .everyone : .me, sentAt: sentAt)
            fields.write(deletion, Deletion.fields)
        case .pin(let id), .unpin(let id), .read(let id), .delivered(let id):
            fields.write(MessagePlace(message: id, sentAt: sentAt), MessagePlace.fields)
        case .typing(let isOn): fields.write(isOn, Event.typing)
        case .member(let user, let isIn):
            fields.write(MemberChange(user: user, isIn: isIn), MemberChange.fields)
        case .archive, .unarchive, .hide, .level, .heartbeat: break
        case .action(let item): fields.write(item, View<ItemView>.action.fields)
        case .actionDeleted(let id): fields.write(id, Event.deletedItem)
        case .profile(let profile): fields.write(profile, View<ProfileView>.profile.fields)
        case .blocks: preconditionFailure("nodes show it to nobody")
        }
    }

    /// The word that identifies the kind of the event.
    package var word: String {
        switch kind {
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
        case .level: "level"
        case .heartbeat: "heartbeat"
        case .action, .actionDeleted: "action"
        case .profile: "profile"
        case .blocks: preconditionFailure("nodes show it to nobody")
        }
    }

    /// The fields that events of all kinds have.
    static let common: [Field<Event>] = [
        .text("kind") { $0.word },
        .name("conversation") { $0.conversation?.text },
        .name("by") { $0.by?.text },
        .time("at") { $0.at },
    ]

    static let typing: [Field<Bool>] = [.toggle("on") { $0 }]

    static let deletedItem: [Field<ItemID>] = [.name("id") { $0.text }, deletedField]

    static let deletedField = Field<ItemID>.flag("deleted") { _ in true }

    /// The message of an event, without its content.
    struct NamedMessage {
        let view: MessageView
        /// The time at which the message was sent.
        let sentAt: HybridTimestamp?

        static let fields: [Field<NamedMessage>] = [
            .name("id") { $0.view.id.text },
            .sequence("seq") { $0.sentAt?.bits },
            .change("sent") { $0.sentAt },
            .name("from") { $0.view.from.text },
        ]
    }

    /// A message that an event names by its id only.
    struct MessagePlace {
        let message: MessageID
        let sentAt: HybridTimestamp?

        static let fields: [Field<MessagePlace>] = [
            .name("id") { $0.message.text },
            .sequence("seq") { $0.sentAt?.bits },
            .change("sent") { $0.sentAt },
        ]
    }

    struct Deletion {
        let message: MessageID
        let scope: DeleteScope
        let sentAt: HybridTimestamp?

        static let fields: [Field<Deletion>] = [
            .name("id") { $0.message.text },
            scopeField,
            .sequence("seq") { $0.sentAt?.bits },
            .change("sent") { $0.sentAt },
        ]

        static let scopeField = Field<Deletion>.text("for") { $0.scope.rawValue }
    }

    struct MemberChange {
        let user: UserID
        let isIn: Bool

        static let fields: [Field<MemberChange>] = [
            .name("user") { $0.user.text },
            .text("change") { $0.isIn ? "added" : "left" },
        ]
    }
}

extension Event {
    /// Returns the line of the event without its token and its line end, the same for all
    /// receivers.
    package func line(isExact: Bool) -> [UInt8] {
        var writer = ReplyWriter(reserving: 512)
        writer.isExact = isExact
        writer.line("EVENT") { write(to: &$0) }
        return Array(writer.removeAll().dropLast())
    }

    /// Returns the event's JSON object without its token and closing brace, the same for all
    /// receivers.
    package func json(isExact: Bool) -> [UInt8] {
        var fields = JSONAnswer.Fields(isExact: isExact)
        fields.writer.begin("{")
        write(to: &fields)
        return fields.writer.bytes
    }
}
