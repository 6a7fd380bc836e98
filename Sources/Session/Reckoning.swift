import LineProtocol

extension Request {
    /// What its reply may take, in bytes, as far as that is known before it is made; 0 for a reply
    /// that is surely short.
    var replyBytesReckoned: Int {
        switch self {
        case .history(let history): history.limit * SessionLimits.messageBytesReckoned
        case .edits, .pinned, .chats, .marks, .unread: SessionLimits.listBytesReckoned
        default: 0
        }
    }
}
