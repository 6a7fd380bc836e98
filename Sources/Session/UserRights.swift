import Chat
import LineProtocol
import Wire

/// The rights of a client that signed in as a user and not as an operator.
extension Request {
    /// Returns the error that refuses a user's request; nil if the user may make the request.
    ///
    /// The shard that stores a conversation checks the user's rights in that conversation.
    func refusal(for user: UserID) -> LineError? {
        switch self {
        case .write(let mutation, _, _) where mutation.action.isForOperators: .operatorsOnly
        case .read(let query, _) where query.isForOperators: .operatorsOnly
        case .list(let query, _, _) where query.isForOperators: .operatorsOnly
        case .write(let mutation, _, _): mutation.user == user ? nil : .otherUser
        case .read(_, let reader), .list(_, let reader, _): reader == user ? nil : .otherUser
        case .watch(let watch): watch.user == user ? nil : .otherUser
        case .typing(let typing): typing.user == user ? nil : .otherUser
        case .notifications(_, let owner, _): owner == user ? nil : .otherUser
        case .unwatch, .help, .auth, .ping, .set, .wait, .token, .since: nil
        case .seed, .status, .ready, .metrics, .members, .shards, .owners, .digest, .vector, .files,
            .subscribers, .block, .unblock, .join, .leave, .forget, .backup, .scrub, .shutdown:
            .operatorsOnly
        }
    }
}
