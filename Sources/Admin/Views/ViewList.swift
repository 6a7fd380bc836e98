import Chat
import LineProtocol
import Node

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
            ViewDescription(View<FileView>.file), ViewDescription(View<FileBytes>.part),
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
}
