import Chat
import LineProtocol
import Wire

/// The requests of a client that signed in as a user, and not as an operator.
extension Request {
    /// Returns the reason why a user may not make the request; nil if he may.
    ///
    /// What he may do in a conversation is decided where it is stored.
    func refusal(for user: UserID) -> LineError? {
        switch self {
        case .write(let mutation, _) where mutation.action.isForOperators: .operatorsOnly
        case .read(let query, _) where query.isForOperators: .operatorsOnly
        case .write(let mutation, _): mutation.user == user ? nil : .otherUser
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
