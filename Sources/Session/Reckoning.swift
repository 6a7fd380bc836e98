import LineProtocol

extension Request {
    /// Whether nothing that follows it may be done before it is answered: it has several steps,
    /// and is to show what was there when it was asked.
    var holdsWhatFollows: Bool {
        switch self {
        case .since, .notifications: true
        default: false
        }
    }

    /// What its reply may take, in bytes, as far as that is known before it is made; 0 for a reply
    /// that is surely short.
    var replyBytesReckoned: Int {
        switch self {
        case .history(let history): history.limit * SessionLimits.messageBytesReckoned
        case .edits, .pinned, .chats, .unread: SessionLimits.listBytesReckoned
        default: 0
        }
    }
}
