import Chat
import LineProtocol
import Node

/// The views of the rows that answers to users' requests can contain.
extension ViewDescription {
    /// The fields of events of all kinds.
    package static let event = ViewDescription("EVENT", keys(Event.common)).including(
        keys(View<String>.token.fields), [Key(Event.Deletion.scopeField)], keys(Event.typing),
        [Key(Event.deletedField)], keys(Event.MemberChange.fields),
        keys(Event.NamedMessage.fields), keys(View<MessageView>.content),
        keys(View<ItemView>.action.fields),
        keys(View<ProfileView>.profile.fields))

    /// The status of users' requests that succeed.
    package static let status = ViewDescription("OK", []).including(
        keys(View<Response.Acknowledgement>.acknowledgement.fields),
        keys(View<Listing>.listing.fields), keys(View<StreamStart>.watching.fields))

    /// The views of the API's rows, in the order of the verbs whose answers contain the rows.
    private static let ofAPI = eachOnce(Verb.all.flatMap(\.endpoints).compactMap(\.answer.view))

    package static let all = ofAPI + [event, status]

    /// The views of all data lines, in the order in which the protocol's documentation lists them.
    package static let lines: [ViewDescription] =
        eachOnce(ofAPI + [event] + ofQueries) + [
            ViewDescription(View<Subscriber>.subscriber),
            ViewDescription(View<DueFileReport>.due), ViewDescription(View<NodeReport>.node),
            ViewDescription(View<MemberReport>.member), ViewDescription(View<ShardReport>.shard),
            ViewDescription(View<DigestReport>.digest),
            ViewDescription(View<ReplicaChanges>.vector), ViewDescription(View<Verb>.verb),
            ViewDescription(View<Limit>.limit),
        ]

    private static func eachOnce(_ views: [ViewDescription]) -> [ViewDescription] {
        var found: Set<String> = []
        return views.filter { found.insert($0.noun).inserted }
    }
}
