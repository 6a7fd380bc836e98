import Chat

/// An option of a verb, as data: `key=value`.
public struct Option: Sendable {
    let keyword: Keyword
    public let name: String
    /// The placeholder of the value, which `HELP` shows after the `=`.
    public let placeholder: String
    /// Whether the verb cannot do without it.
    public let isRequired: Bool
    /// Whether an empty value clears the field; elsewhere it is refused.
    public let isClearable: Bool
    /// Whether only the nodes give it, on behalf of a client: no client's request has it.
    public let isOfNodes: Bool
    /// The numbers that the value may be; nil where it is no number, or one without a fixed bound.
    public let range: ClosedRange<Int>?
    /// The number that counts where the option is not given; nil for none.
    public let standard: Int?

    init(
        _ name: String, _ placeholder: String, isRequired: Bool = false, isClearable: Bool = false,
        isOfNodes: Bool = false, in range: ClosedRange<Int>? = nil, standard: Int? = nil
    ) {
        keyword = Keyword(literal: name)
        self.name = name
        self.placeholder = placeholder
        self.isRequired = isRequired
        self.isClearable = isClearable
        self.isOfNodes = isOfNodes
        self.range = range
        self.standard = standard
    }

    /// Creates an option for a number of lines.
    private init(_ name: String, in range: ClosedRange<Int>, standard: Int? = nil) {
        let placeholder = standard.map(String.init) ?? "<\(range.lowerBound)-\(range.upperBound)>"
        self.init(name, placeholder, in: range, standard: standard)
    }

    /// The form of a cursor, as a regular expression.
    public static let cursorPattern = ListPosition.cursorPattern

    /// Whether the value is where a page of a list begins.
    public var isCursor: Bool { placeholder == Option.from.placeholder }

    var usage: String {
        isRequired ? "\(name)=\(placeholder)" : "[\(name)=\(placeholder)]"
    }
}

/// The options of this protocol, each by the name that the verb table and the parsers share.
extension Option {
    static let ack = Option("ack", choices(of: AckLevel.self), isRequired: true)
    static let after = Option("after", "<id>")
    /// Whether the request may be a repetition of one that was executed.
    static let again = Option("again", choices(of: Truth.self), isOfNodes: true)
    static let before = Option("before", "<id>")
    static let blob = Option("blob", "<id>")
    /// The most bytes of a page of a history.
    static let bytes = Option(
        "bytes", "<number>", isOfNodes: true, in: 1...LineLimits.replyBytesMax)
    static let changeLimit = Option(
        "limit", in: 1...ParticipantChanges.countMax, standard: LineLimits.changesDefault)
    static let chat = Option("chat", "<conversation>")
    static let due = Option("due", "<time>", isClearable: true)
    static let email = Option("email", "…", isClearable: true)
    static let find = Option("find", "\"…\"")
    static let from = Option("from", "<cursor>")
    static let id = Option("id", "<id>")
    static let item = Option("item", "<id>")
    static let limit = Option(
        "limit", in: 1...LineLimits.historyMax, standard: LineLimits.historyDefault)
    static let listLimit = Option("limit", in: 1...ListPage.limitMax)
    static let message = Option("message", "<id>")
    static let name = Option("name", "\"…\"", isClearable: true)
    /// The most participants that a list names of each conversation.
    static let names = Option(
        "names", "<number>", isOfNodes: true, in: 1...ChatLimits.participantsMax)
    static let newTitle = Option("title", "\"…\"")
    static let only = Option("only", choices(of: Truth.self))
    static let photo = Option("photo", "…", isClearable: true)
    static let preview = Option("preview", "<id>")
    static let presentToken = Option("token", "…")
    static let pushed = Option("pushed", choices(of: PushedKind.self))
    static let priority = Option(
        "priority", choices(of: ItemPriority.self), isClearable: true)
    static let scope = Option("for", choices(of: DeleteScope.self))
    static let show = Option("show", choices(of: ChatsQuery.Shown.self))
    static let since = Option("since", "<token>")
    static let strict = Option("strict", choices(of: Truth.self))
    static let title = Option("title", "\"…\"", isClearable: true)
    static let token = Option("token", "…", isRequired: true)
    static let tokens = Option("tokens", choices(of: Toggle.self))
    static let type = Option("type", choices(of: MessageType.self))
}

/// Returns the values of an option as a usage text lists them: `me|everyone`.
func choices<Choice: CaseIterable & RawRepresentable<String>>(of _: Choice.Type) -> String {
    Choice.allCases.map(\.rawValue).joined(separator: "|")
}
