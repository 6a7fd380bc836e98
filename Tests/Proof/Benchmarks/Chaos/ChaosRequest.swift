/// One request of a chaos run, which is repeated until it has its reply.
struct ChaosRequest: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case send
        case edit(Int)
        /// Delete for everyone, and delete for oneself.
        case retract, hide
        case restore
        case turn(Thing, isOn: Bool)
        case read
        case history
        case pinned
        case chats
        case unread
    }

    /// The states that can be turned on and off, on two sides of a cut at once.
    enum Thing: Hashable, Sendable {
        case pin
        case archive
        /// Whether a guest is in a conversation.
        case presence
    }

    let kind: Kind
    /// The message, or the conversation if no message is concerned; unused for `chats` and
    /// `unread`.
    let target: Int
    let user: Int
    /// The time of the expectations when it was first sent.
    let time: Int
    /// The number of times that it was sent.
    var attempts = 0

    /// The verbs of which a run must have at least one acknowledgement; otherwise it proves little.
    static let verbs = [
        "ARCHIVE", "CHATS", "DELETE", "EDIT", "HISTORY", "INVITE", "LEAVECHAT", "PIN", "PINNED",
        "READ", "RESTORE", "SEND", "UNARCHIVE", "UNPIN", "UNREAD",
    ]

    static func verb(of line: String) -> String { String(line.prefix { $0 != " " }) }

    /// Returns the line of the request.
    func line(in expectations: Expectations) -> String {
        let user = Expectations.users[user]
        switch kind {
        case .history:
            return "HISTORY \(Expectations.name(ofConversation: target)) \(user) limit=50"
        case .pinned: return "PINNED \(Expectations.name(ofConversation: target)) \(user)"
        case .chats: return "CHATS \(user) show=all"
        case .unread: return "UNREAD \(user)"
        case .turn(.archive, let isOn):
            return "\(isOn ? "" : "UN")ARCHIVE \(Expectations.name(ofConversation: target)) \(user)"
        case .turn(.presence, let isOn):
            let name = Expectations.name(ofConversation: target)
            let host = Expectations.users[Expectations.creator]
            return isOn ? "INVITE \(name) \(host) \(user)" : "LEAVECHAT \(name) \(user)"
        case .send, .edit, .retract, .hide, .restore, .turn(.pin, _), .read:
            return lineOfMessage(in: expectations, user)
        }
    }

    private func lineOfMessage(in expectations: Expectations, _ user: String) -> String {
        let conversation = Expectations.name(
            ofConversation: expectations.messages[target].conversation)
        let id = Expectations.id(of: target)
        switch kind {
        case .send:
            return "SEND \(conversation) \(user) id=\(id) -- \(Expectations.text(of: target))"
        case .edit(let number):
            let text = Expectations.text(of: target, edit: number)
            return "EDIT \(conversation) \(id) \(user) -- \(text)"
        case .retract: return "DELETE \(conversation) \(id) \(user) for=everyone"
        case .hide: return "DELETE \(conversation) \(id) \(user) for=me"
        case .restore: return "RESTORE \(conversation) \(id) \(user)"
        case .turn(_, let isOn): return "\(isOn ? "" : "UN")PIN \(conversation) \(id) \(user)"
        case .read: return "READ \(conversation) \(user) \(id)"
        case .history, .pinned, .chats, .unread: preconditionFailure("these concern no message")
        }
    }
}
