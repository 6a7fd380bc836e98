import Chat

/// An option of a verb, described as data; clients write an option as `key=value`.
public struct Option: Sendable {
    let keyword: Keyword
    public let name: String
    /// The placeholder of the option's value, which `HELP` shows after the `=`.
    public let placeholder: String
    /// Whether a request of the verb must have the option.
    public let isRequired: Bool
    /// Whether an empty value clears the field; for other options an empty value is refused.
    public let isClearable: Bool
    /// Whether nearly every verb of users has the option, so that no verb's syntax shows it.
    public let isCommon: Bool
    /// Whether only nodes set the option on behalf of a client; client requests never contain it.
    public let isOfNodes: Bool
    /// The allowed range of a number; nil if the value is no number, or has no fixed bound.
    public let range: ClosedRange<Int>?
    /// The number that a request without the option gets; nil if the option has no default.
    public let standard: Int?

    init(
        _ name: String, _ placeholder: String, isRequired: Bool = false, isClearable: Bool = false,
        isOfNodes: Bool = false, isCommon: Bool = false, in range: ClosedRange<Int>? = nil,
        standard: Int? = nil
    ) {
        keyword = Keyword(literal: name)
        self.name = name
        self.placeholder = placeholder
        self.isRequired = isRequired
        self.isClearable = isClearable
        self.isOfNodes = isOfNodes
        self.isCommon = isCommon
        self.range = range
        self.standard = standard
    }

    /// Creates an option whose value is a number of elements, such as `limit=`.
    private init(_ name: String, in range: ClosedRange<Int>, standard: Int? = nil) {
        let placeholder = standard.map(String.init) ?? "<\(range.lowerBound)-\(range.upperBound)>"
        self.init(name, placeholder, in: range, standard: standard)
    }

    /// The regular expression that a cursor matches.
    public static let cursorPattern = ListPosition.cursorPattern

    /// Whether the option's value is the cursor at which a page of a list begins.
    public var isCursor: Bool { placeholder == Option.from.placeholder }

    var usage: String {
        isRequired ? "\(name)=\(placeholder)" : "[\(name)=\(placeholder)]"
    }
}

/// The options of the protocol; the verb table and the parsers refer to an option by these names.
extension Option {
    static let ack = Option("ack", choices(of: AckLevel.self), isRequired: true)
    static let after = Option("after", "<id>")
    /// Whether the request may be the repetition of a request that was already executed.
    static let again = Option("again", choices(of: Truth.self), isOfNodes: true)
    static let before = Option("before", "<id>")
    static let blob = Option("blob", "<id>")
    /// The most bytes of one page of a message history.
    static let bytes = Option(
        "bytes", "<number>", isOfNodes: true, in: 1...LineLimits.replyBytesMax)
    static let changeLimit = Option(
        "limit", in: 1...ParticipantChanges.countMax, standard: LineLimits.changesDefault)
    static let chat = Option("chat", "<conversation>")
    static let due = Option("due", "<time>", isClearable: true)
    static let email = Option("email", "…", isClearable: true)
    static let find = Option("find", "\"…\"")
    static let from = Option("from", "<cursor>")
    /// The interval of the events that show that a watch is alive, in seconds.
    static let heartbeat = Option("heartbeat", in: LineLimits.heartbeatSeconds)
    /// Whether a history shows the messages that its user has deleted for themselves.
    static let hidden = Option("hidden", choices(of: Truth.self))
    static let id = Option("id", "<id>")
    static let item = Option("item", "<id>")
    /// Whether an event tells that all missed events were sent.
    static let level = Option("level", choices(of: Truth.self))
    static let limit = Option(
        "limit", in: 1...LineLimits.historyMax, standard: LineLimits.historyDefault)
    static let listLimit = Option("limit", in: 1...ListPage.limitMax)
    static let message = Option("message", "<id>")
    static let name = Option("name", "\"…\"", isClearable: true)
    /// The most participants whose names a list shows for each conversation.
    static let names = Option(
        "names", "<number>", isOfNodes: true, in: 1...ChatLimits.participantsMax)
    static let newTitle = Option("title", "\"…\"")
    static let only = Option("only", choices(of: Truth.self))
    static let photo = Option("photo", "…", isClearable: true)
    /// The identity and the time that the client has given to a write.
    public static let operation = Option("op", "<device>.<number>.<time>", isCommon: true)
    static let preview = Option("preview", "<id>")
    static let presentToken = Option("token", "…")
    static let pushed = Option("pushed", choices(of: PushedKind.self))
    static let priority = Option(
        "priority", choices(of: ItemPriority.self), isClearable: true)
    static let scope = Option("for", choices(of: DeleteScope.self))
    static let show = Option("show", choices(of: ChatsQuery.Shown.self))
    static let since = Option("since", "<token>")
    /// The stream of events of the connection on which a user types.
    static let stream = Option("stream", "<stream>")
    static let strict = Option("strict", choices(of: Truth.self))
    /// The form of the times in the reply.
    public static let times = Option("times", choices(of: TimesChoice.self), isCommon: true)
    static let title = Option("title", "\"…\"", isClearable: true)
    static let token = Option("token", "…", isRequired: true)
    static let tokens = Option("tokens", choices(of: Toggle.self))
    static let type = Option("type", choices(of: MessageType.self))
}

/// Returns the allowed values of an option as a usage text lists them: `me|everyone`.
func choices<Choice: CaseIterable & RawRepresentable<String>>(of _: Choice.Type) -> String {
    Choice.allCases.map(\.rawValue).joined(separator: "|")
}
