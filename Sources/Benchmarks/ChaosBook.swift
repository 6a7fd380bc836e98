import LineProtocol

/// All that a chaos run has asked for and was told, and so what must be there in the end.
struct ChaosBook: Sendable {
    /// The participants of every conversation.
    ///
    /// The first deletes nothing and sends nothing; the
    /// two in the middle delete for themselves; what the last sends may be deleted for everyone.
    static let users = ["keeper", "hana", "hugo", "sam"]
    static let hiders = 1...2
    static let retractor = 3
    static let placeholder = "[Message deleted]"
    /// Fewer than a message may have, even when some are repeated.
    static let editsMax = 40

    struct Message: Sendable {
        let conversation: Int
        let sender: Int
        var sent = Claim.possible
        /// The nodes that have acknowledged it and not lost their disks since, one bit each.
        var holders: UInt16 = 0
        var edits: [Claim] = []
        var retracted = Claim.never
        /// The nodes that have acknowledged that it is deleted, and the time of the last.
        var retractors: UInt16 = 0
        var retractedTime = 0
        /// Of the users in `hiders`.
        var seats = [Seat](repeating: Seat(), count: ChaosBook.hiders.count)
    }

    let conversations: Int
    private(set) var messages: [Message] = []
    /// By conversation, the messages that were sent into it.
    private(set) var byConversation: [[Int]]
    /// Counts acknowledgements, so that a read knows what came before it.
    private(set) var time = 0

    init(conversations: Int) {
        self.conversations = conversations
        byConversation = .init(repeating: [], count: conversations)
    }

    static func name(ofConversation conversation: Int) -> String { "c\(conversation)" }

    static func id(of message: Int) -> String { "m\(message)" }

    static func message(withID id: String) -> Int? {
        id.first == "m" ? Int(id.dropFirst()) : nil
    }

    /// The text that a message was sent with, or that its edit of this number gives it: no two are
    /// the same, so that a text tells where it comes from.
    static func text(of message: Int, edit: Int? = nil) -> String {
        let text = edit.map { "edit \($0) of message \(message)" } ?? "text of message \(message)"
        return text + " ............................................................"
    }

    // MARK: What is asked for

    mutating func addMessage(in conversation: Int, from sender: Int) -> Int {
        byConversation[conversation].append(messages.count)
        messages.append(Message(conversation: conversation, sender: sender))
        return messages.count - 1
    }

    /// - Returns: the number of the edit.
    mutating func addEdit(of message: Int) -> Int {
        messages[message].edits.append(.possible)
        return messages[message].edits.count - 1
    }

    mutating func onAttempt(_ request: ChaosRequest, at node: Int) {
        switch request.kind {
        case .send, .edit, .history: break
        case .retract: messages[request.message].retracted.onAttempt()
        case .hide, .restore:
            messages[request.message].seats[seat(of: request)].onAttempt(
                isDeletion: request.kind == .hide, at: node, isRepeat: request.attempts > 1)
        }
    }

    /// Nothing else is asked about the seat until this has its reply.
    mutating func onBegin(_ request: ChaosRequest) {
        guard request.kind == .hide || request.kind == .restore else { return }
        messages[request.message].seats[seat(of: request)].onBegin()
    }

    // MARK: What was answered

    mutating func onAcknowledged(_ request: ChaosRequest, by node: Int, copies: Int) {
        time += 1
        switch request.kind {
        case .history: break
        case .send:
            messages[request.message].sent.onAcknowledged(by: node, copies: copies)
            messages[request.message].holders |= 1 << UInt16(node)
        case .edit(let number):
            messages[request.message].edits[number].onAcknowledged(by: node, copies: copies)
        case .retract:
            messages[request.message].retracted.onAcknowledged(by: node, copies: copies)
            messages[request.message].retractors |= 1 << UInt16(node)
            messages[request.message].retractedTime = time
        case .hide, .restore:
            messages[request.message].seats[seat(of: request)].onAcknowledged(
                isDeletion: request.kind == .hide, by: node)
        }
    }

    mutating func onRefused(_ request: ChaosRequest, by node: Int) {
        guard request.kind == .hide || request.kind == .restore else { return }
        messages[request.message].seats[seat(of: request)].onRefused(
            isDeletion: request.kind == .hide, by: node, isSure: request.attempts == 1)
    }

    /// What only the lost disk held is not asked for in the end.
    mutating func onWipe(of node: Int) {
        for index in messages.indices {
            messages[index].sent.onWipe(of: node)
            messages[index].retracted.onWipe(of: node)
            messages[index].holders &= ~(1 << UInt16(node))
            messages[index].retractors &= ~(1 << UInt16(node))
            for edit in messages[index].edits.indices {
                messages[index].edits[edit].onWipe(of: node)
            }
            for seat in messages[index].seats.indices {
                messages[index].seats[seat].onWipe(of: node)
            }
        }
    }

    private func seat(of request: ChaosRequest) -> Int {
        request.user - Self.hiders.lowerBound
    }

    // MARK: Totals

    var acknowledgedSends: Int { messages.count { $0.sent.isCertain } }
    var acknowledgedEdits: Int { messages.reduce(0) { $0 + $1.edits.count { $0.isCertain } } }
    var acknowledgedRetractions: Int { messages.count { $0.retracted.isCertain } }
}

/// One request of a chaos run, which is repeated until it has its reply.
struct ChaosRequest: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case send
        case edit(Int)
        /// Delete for everyone, delete for oneself.
        case retract, hide
        case restore
        case history
    }

    let kind: Kind
    /// For `history` the conversation.
    let message: Int
    let user: Int
    /// The book's time when it was first sent.
    let time: Int
    /// How often it was sent.
    var attempts = 0

    /// The line that asks for it.
    func line(in book: ChaosBook) -> String {
        let user = ChaosBook.users[self.user]
        guard kind != .history else {
            return "HISTORY \(ChaosBook.name(ofConversation: message)) \(user) limit=50"
        }
        let conversation = ChaosBook.name(ofConversation: book.messages[message].conversation)
        let id = ChaosBook.id(of: message)
        switch kind {
        case .send:
            return "SEND \(conversation) \(user) id=\(id) -- \(ChaosBook.text(of: message))"
        case .edit(let number):
            let text = ChaosBook.text(of: message, edit: number)
            return "EDIT \(conversation) \(id) \(user) -- \(text)"
        case .retract: return "DELETE \(conversation) \(id) \(user) for=everyone"
        case .hide: return "DELETE \(conversation) \(id) \(user) for=me"
        case .restore: return "RESTORE \(conversation) \(id) \(user)"
        case .history: preconditionFailure("answered above")
        }
    }
}
