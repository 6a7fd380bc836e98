import LineProtocol
import Wire

/// One line that a client sends, with its purpose.
struct ClusterRequest {
    enum Kind {
        case create(conversation: String)
        case send(ClusterMessage.Name)
        case edit(ClusterMessage.Name, text: String)
        case edits(ClusterMessage.Name)
        case retract(ClusterMessage.Name)
        case hide(ClusterMessage.Name)
        case restore(ClusterMessage.Name)
        case pin(isOn: Bool)
        /// A mark up to this message.
        case read(ClusterMessage.Name)
        case profile
        /// What a client needs that numbers its writes, one of the writes, and a read of them.
        case prepared
        case numbered
        case numberedShown
        case chats
        case items
        case addItem(String)
        /// A request of the users of whom one blocks another.
        case blocks(verb: String)
        /// - Parameter password: the last password that was asked for.
        case account(AccountDeed, password: String)
        /// A line of an upload.
        case upload
        case file
        case part(ClusterMessage.Name, number: Int)
        /// - Parameter isWhole: whether it requests the complete history.
        case history(conversation: String, isWhole: Bool)
        case digest
        case status
        case members
        case set
        case wait
        case ping
        case token
        case since(ClusterToken)
        case watch(isResumed: Bool)
        case unwatch
        case ring(Ringing)
        case type(TypingPlace, isOn: Bool)
        /// A command of an operator, with the error codes that may answer it.
        case operate([Int])
        /// A bad line, which must be answered by this code.
        case bad(Int)

        var name: String {
            switch self {
            case .create: "CREATE"
            case .send: "SEND"
            case .edit: "EDIT"
            case .edits: "EDITS"
            case .retract: "DELETE for=everyone"
            case .hide: "DELETE for=me"
            case .restore: "RESTORE"
            case .pin(let isOn): isOn ? "PIN" : "UNPIN"
            case .read: "READ"
            case .profile: "PROFILE"
            case .prepared, .numbered: "numbered"
            case .numberedShown: "numbered, shown"
            case .chats: "CHATS"
            case .items: "ACTIONS"
            case .addItem: "ACTION ADD"
            case .blocks(let verb): verb
            case .account(let deed, _): deed.name
            case .upload: "FILE ADD, PUT or END"
            case .file: "FILE SHOW"
            case .part: "FILE GET"
            case .history: "HISTORY"
            case .digest: "DIGEST"
            case .status: "STATUS"
            case .members: "MEMBERS"
            case .set: "SET"
            case .wait: "WAIT"
            case .ping: "PING"
            case .token: "TOKEN"
            case .since: "SINCE"
            case .watch: "WATCH"
            case .unwatch: "UNWATCH"
            case .ring(let ringing): ringing.name
            case .type: "TYPING"
            case .operate: "order"
            case .bad(let code): "bad line \(code)"
            }
        }
    }

    let kind: Kind
    let line: [UInt8]
    private(set) var at: UInt64 = 0
    /// Whether the node was not ready when the request was sent.
    private(set) var isEarly = false
    /// Whether a message is sent with a file.
    let hasFile: Bool

    init(_ kind: Kind, _ line: [UInt8], hasFile: Bool = false) {
        self.kind = kind
        self.line = line
        self.hasFile = hasFile
    }

    init(_ kind: Kind, _ line: String, hasFile: Bool = false) {
        self.init(kind, Array(line.utf8), hasFile: hasFile)
    }

    var isWatch: Bool {
        if case .watch = kind { return true }
        return false
    }

    func asked(at moment: UInt64, isEarly: Bool) -> ClusterRequest {
        var request = self
        (request.at, request.isEarly) = (moment, isEarly)
        return request
    }

    var text: String { String(decoding: line.prefix(120), as: UTF8.self) }
}

/// The answer to one request.
struct ClusterAnswer {
    let data: [ReplyLine]
    let status: ReplyLine

    /// The code of an `ERR`; nil for an `OK`.
    var code: Int? {
        if case .error(let error) = status { return error.code }
        return nil
    }

    /// The fields of an `OK`; nil for an `ERR`.
    var fields: ReplyFields? {
        if case .ok(let fields) = status { return fields }
        return nil
    }

    /// Returns the data lines with this noun.
    func lines(_ noun: String) -> [ReplyFields] {
        data.compactMap { line in
            guard case .data(let found, let fields) = line, found == noun else { return nil }
            return fields
        }
    }
}

/// The random requests of clients.
extension ClusterWorld {
    private static let conversations = 3

    static func conversation(_ index: Int) -> String { "c\(index)" }

    /// Returns the request that creates a conversation; it is the same for all clients.
    func createLine(_ conversation: String) -> ClusterRequest {
        let users = (0..<plan.clients).map(ClusterClient.user).joined(separator: ",")
        return ClusterRequest(
            .create(conversation: conversation),
            #"CREATE \#(conversation) \#(users) title="about \#(conversation)""#)
    }

    var conversations: [String] {
        (0..<ClusterWorld.conversations).map(ClusterWorld.conversation)
    }

    func nextRequest(_ client: ClusterClient) -> ClusterRequest {
        let special =
            markRequest(client) ?? profileRequest(client) ?? listRequest(client)
            ?? accountRequest(client) ?? blockRequest()
        if let special { return special }
        let conversation = clientRandom.pick(conversations)
        switch clientRandom.below(100) {
        case 0..<8: return createLine(conversation)
        case 8..<40: return send(client, to: conversation)
        case 40..<62: return change(client) ?? createLine(conversation)
        case 62..<76: return history(client, of: conversation)
        case 76..<79: return ClusterRequest(.digest, "digest")
        case 79..<83: return ClusterRequest(.status, "STATUS")
        case 83..<86: return ClusterRequest(.members, "MEMBERS")
        case 86..<89:
            return ClusterRequest(
                .set, "SET ack=" + clientRandom.pick(["local", "majority", "all"]))
        case 89..<92:
            let copies = clientRandom.below(plan.nodes + 1)
            return ClusterRequest(.wait, "WAIT \(copies) \(clientRandom.between(1...1_500))")
        case 92..<93: return ClusterRequest(.ping, "Ping")
        case 93..<95: return ClusterRequest(.token, "TOKEN")
        case 95..<98: return typingLine(client, in: conversation)
        default: return badLine(conversation)
        }
    }

    func send(_ client: ClusterClient, to conversation: String) -> ClusterRequest {
        // Repeats messages that were answered by an error or not at all.
        let again = expectations.unanswered(of: client.user)
        if !again.isEmpty, clientRandom.chance(percent: 40) {
            coverage.count("sent again")
            return expectations.send(clientRandom.pick(again))
        }
        client.messages += 1
        let id = "m\(client.index).\(client.messages)"
        let end = String(repeating: ".", count: plan.textBytes ?? 0)
        let text = clientRandom.pick(["mail \(id)", "ü=\"\(id)\" 🌱", "  \(id) x=y "]) + end
        let name = ClusterMessage.Name(id: id, conversation: conversation)
        return expectations.send(expectations.add(name, from: client.user, text: text))
    }

    private func change(_ client: ClusterClient) -> ClusterRequest? {
        guard !expectations.names.isEmpty else { return nil }
        let name = clientRandom.pick(Array(expectations.names.suffix(30)))
        let place = "\(name.conversation) \(name.id) \(client.user)"
        switch clientRandom.below(100) {
        case 0..<40:
            let text = "edit \(expectations.edits) of \(name.id)"
            expectations.noteEdit(of: name, text)
            return ClusterRequest(.edit(name, text: text), "EDIT \(place) \(text)")
        case 40..<55:
            return ClusterRequest(.edits(name), "EDITS \(place)")
        case 55..<70:
            expectations.noteRetraction(of: name, by: client.user)
            return ClusterRequest(.retract(name), "DELETE \(place) for=everyone")
        case 70..<90:
            expectations.noteHide(of: name, by: client.user)
            return ClusterRequest(.hide(name), "DELETE \(place)")
        default:
            expectations.noteRestore(of: name, by: client.user)
            return ClusterRequest(.restore(name), "RESTORE \(place)")
        }
    }

    func history(_ client: ClusterClient, of conversation: String) -> ClusterRequest {
        let isWhole = clientRandom.chance(percent: 70)
        let limit = isWhole ? LineLimits.historyMax : 1 + clientRandom.below(5)
        return ClusterRequest(
            .history(conversation: conversation, isWhole: isWhole),
            "HISTORY \(conversation) \(client.user) limit=\(limit)")
    }

    private func badLine(_ conversation: String) -> ClusterRequest {
        switch clientRandom.below(6) {
        case 0: ClusterRequest(.bad(400), "NONSENSE \(conversation)")
        case 1: ClusterRequest(.bad(400), "SEND \(conversation)")
        case 2: ClusterRequest(.bad(400), [0x50, 0xFF, 0xFE, 0x20, 0x01])
        case 3: ClusterRequest(.bad(400), "SEND \(conversation) u0   ")
        case 4: ClusterRequest(.bad(404), "HISTORY nowhere u0")
        default:
            ClusterRequest(
                .bad(413), [UInt8](repeating: 0x78, count: LineLimits.lineBytesMax + 1_000))
        }
    }
}
