/// One request of a chaos run, which is repeated until it has its reply.
struct ChaosRequest: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case send
        case edit(Int)
        /// Delete for everyone, delete for oneself.
        case retract, hide
        case restore
        case turn(Thing, isOn: Bool)
        case read
        case history
        case pinned
        case chats
        case unread
    }

    /// What can be turned on and off, on two sides of a cut at once.
    enum Thing: Hashable, Sendable {
        case pin
        case archive
        /// A guest's, in a conversation.
        case presence
    }

    let kind: Kind
    /// The message, or the conversation of what concerns no message; of `chats` and `unread`
    /// nothing.
    let target: Int
    let user: Int
    /// The book's time when it was first sent.
    let time: Int
    /// How often it was sent.
    var attempts = 0

    /// What a run must have had acknowledged at least once, or it has proved little.
    static let verbs = [
        "ARCHIVE", "CHATS", "DELETE", "EDIT", "HISTORY", "INVITE", "LEAVECHAT", "PIN", "PINNED",
        "READ", "RESTORE", "SEND", "UNARCHIVE", "UNPIN", "UNREAD",
    ]

    static func verb(of line: String) -> String { String(line.prefix { $0 != " " }) }

    /// The line that asks for it.
    func line(in book: Expectations) -> String {
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
            let host = Expectations.users[Expectations.keeper]
            return isOn ? "INVITE \(name) \(host) \(user)" : "LEAVECHAT \(name) \(user)"
        case .send, .edit, .retract, .hide, .restore, .turn(.pin, _), .read:
            return lineOfMessage(in: book, user)
        }
    }

    private func lineOfMessage(in book: Expectations, _ user: String) -> String {
        let conversation = Expectations.name(ofConversation: book.messages[target].conversation)
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
