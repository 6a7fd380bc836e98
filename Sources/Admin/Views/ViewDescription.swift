import Chat
import LineProtocol
import Node

/// The keys of a view's rows and the types of their values, for the descriptions of the API.
package struct ViewDescription: Sendable {
    package enum ValueType: String, Sendable {
        case text
        /// A name (see `Name`).
        case name
        /// RFC 3339, UTC, with milliseconds.
        case time
        case number
        case flag
        /// Names.
        case list
        /// The replicas that have stored something, of those that own it.
        case copies
    }

    package struct Key: Sendable {
        package let name: String
        package let type: ValueType
        /// Whether each row has it.
        package let isRequired: Bool
    }

    /// The first word of the row's line.
    package let noun: String
    /// In the order of the row.
    package let keys: [Key]

    private init(_ noun: String, _ keys: [Key]) {
        self.noun = noun
        self.keys = keys
    }

    init<Subject>(_ view: View<Subject>) {
        self.init(view.noun.description, view.fields.map(Key.init))
    }

    /// The description with keys behind those of its own, all of which may be missing; a key that
    /// is there stays as it is.
    private func including(_ more: [Key]...) -> ViewDescription {
        var found = Set(keys.map(\.name))
        let added = more.joined().filter { found.insert($0.name).inserted }
        return ViewDescription(
            noun, keys + added.map { Key(name: $0.name, type: $0.type, isRequired: false) })
    }

    private static func keys<Subject>(_ fields: [Field<Subject>]) -> [Key] { fields.map(Key.init) }
}

extension ViewDescription.Key {
    init<Subject>(_ field: Field<Subject>) {
        name = field.key.description
        isRequired = field.isRequired
        type =
            switch field.getter {
            case .text, .sequence: .text
            case .name: .name
            case .time: .time
            case .number: .number
            case .flag, .toggle: .flag
            case .users, .names: .list
            case .copies: .copies
            }
    }
}

/// The views of which answers to users' requests consist.
extension ViewDescription {
    package static let message = ViewDescription(View<MessageView>.message)
    package static let edit = ViewDescription(View<EditView>.edit)
    package static let chat = ViewDescription(View<ListedChat>.chat)
    package static let unread = ViewDescription(View<UnreadCount>.unread)
    package static let mark = ViewDescription(View<MarkView>.mark)
    package static let change = ViewDescription(View<ParticipantChange>.change)
    package static let profile = ViewDescription(View<ProfileView>.profile)
    package static let action = ViewDescription(View<ItemView>.action)
    package static let device = ViewDescription(View<DeviceView>.device)
    package static let block = ViewDescription(View<BlockView>.block)
    package static let notification = ViewDescription(View<NotificationView>.notification)
    /// Of events of all kinds.
    package static let event = ViewDescription("EVENT", keys(Event.common)).including(
        keys(View<String>.token.fields), [Key(Event.Deletion.scopeField)], keys(Event.typing),
        [Key(Event.deletedField)], keys(Event.MemberChange.fields), message.keys, action.keys,
        profile.keys)

    /// The status of users' requests that succeed.
    package static let status = ViewDescription("OK", []).including(
        keys(View<Response.Acknowledgement>.acknowledgement.fields),
        keys(View<Listing>.listing.fields), keys(View<String>.token.fields))

    package static let all = [
        message, edit, chat, unread, mark, change, profile, action, device, block, notification,
        event, status,
    ]

    /// Of all data lines, in the order in which the page of the protocol lists them.
    package static let lines: [ViewDescription] =
        all.filter { $0.noun != "OK" } + [
            ViewDescription(View<FileView>.file), ViewDescription(View<[UInt8]>.part),
            ViewDescription(View<TokenHolder>.holder), ViewDescription(View<AccountView>.account),
            ViewDescription(View<Signing.Key>.key),
            ViewDescription(View<Signing.Revocation>.revocation),
            ViewDescription(View<Subscriber>.subscriber),
            ViewDescription(View<DueFileReport>.due), ViewDescription(View<NodeReport>.node),
            ViewDescription(View<MemberReport>.member), ViewDescription(View<ShardReport>.shard),
            ViewDescription(View<DigestReport>.digest),
            ViewDescription(View<ReplicaChanges>.vector), ViewDescription(View<Verb>.verb),
            ViewDescription(View<Limit>.limit),
        ]

    /// The row of the page of the protocol: the line, and its keys with the types of their values;
    /// those in brackets may be missing.
    package var lineRow: String {
        let pairs = keys.map { key in
            let pair = "\(key.name)=<\(key.type)>"
            return key.isRequired ? pair : "[\(pair)]"
        }
        return "| `\(noun)` | `\(pairs.joined(separator: " "))` |"
    }

    /// The row of the page of the API: the object, and its members with the types of their values;
    /// those with a question mark may be missing.
    package var objectRow: String {
        let members = keys.map { "\($0.name)\($0.isRequired ? "" : "?"): \($0.type)" }
        return "| \(noun.lowercased()) | `\(members.joined(separator: ", "))` |"
    }
}
