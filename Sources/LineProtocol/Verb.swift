/// A verb of the protocol as a row of data, which the parser follows and `HELP` prints.
///
/// A class although its instances are immutable: each line passes its verb's row on, and retaining
/// and releasing the fields of a struct took a third of the time of a `PING`.
public final class Verb: Sendable {
    /// The effect of a verb's requests.
    public enum Effect: Sendable {
        /// The requests of the verb change what the cluster stores.
        case writes
        case reads
        /// The requests of the verb concern the node, the cluster or the connection.
        case operates
    }

    /// The size of a verb's reply, by which a session limits the memory for its replies.
    public enum ReplySize: Sendable {
        /// A status line, or a few data lines.
        case short
        /// A list whose length the verb does not limit.
        case list
        /// A page with as many messages as the query requests.
        case page
    }

    /// The part of a verb's row that is needed after the verb's line was parsed.
    public struct Traits: Sendable {
        /// The index of the verb in `Verb.all`.
        public let index: UInt8
        public let effect: Effect
        public let reply: ReplySize
    }

    /// The function that creates a request from the arguments, options and text of a line.
    enum Build: Sendable {
        case plain(@Sendable (borrowing ParsedLine) throws(LineError) -> Request)
        /// The second parameter creates an id if the line specifies none.
        case minting(@Sendable (borrowing ParsedLine, () -> String) throws(LineError) -> Request)
    }

    /// The verbs whose writes are identified by the id that they create, and ordered by the time of
    /// their acceptance, so that a client gives them neither identity nor time.
    private static let ofNamed: Set = ["CREATE", "SEND"]

    static let argumentsMax = 4
    static let optionsMax = 8

    /// The verb in capitals; two words if the second word belongs to the verb (`ACTION ADD`).
    public let name: String
    /// The effect of the verb; `.reads` for a verb that shows or sets fields, such as `PROFILE`.
    let effect: Effect
    let reply: ReplySize
    /// A line with the verb, which the page of the protocol shows as an example.
    public let example: String
    /// The purpose of the verb in one sentence.
    public let about: String

    /// The required and the optional arguments, in the form of a usage text: `<user>`.
    public let required: [String]
    public let optional: [String]
    public let options: [Option]
    /// The placeholder of the text at the end of the line; nil for a verb without a text.
    public let text: String?
    /// The HTTP endpoints of the API that the verb answers.
    public let endpoints: [HTTPEndpoint]
    let build: Build

    let first: Keyword
    let second: Keyword?

    init(
        _ name: String, _ effect: Effect, _ required: [String] = [], optional: [String] = [],
        options: [Option] = [], text: String? = nil, reply: ReplySize = .short,
        example: String = "",
        about: String, endpoints: [HTTPEndpoint] = [],
        build: Build
    ) {
        let words = name.split(separator: " ")
        precondition((1...2).contains(words.count), "a verb is one word or two")
        precondition(required.count + optional.count <= Self.argumentsMax, "room for arguments")
        var common: [Option] = effect == .operates ? [] : [.times]
        let isChange = effect != .operates && endpoints.contains { $0.method != .get }
        if isChange, !Self.ofNamed.contains(name) { common.append(.operation) }
        precondition(options.count + common.count <= Self.optionsMax, "room for options")
        precondition(text == nil || optional.isEmpty, "where the text begins is never in doubt")
        self.name = name
        self.effect = effect
        self.reply = reply
        self.example = example
        self.about = about
        self.required = required
        self.optional = optional
        self.options = options + common
        self.text = text
        self.endpoints = endpoints
        self.build = build
        first = Keyword(literal: words[0])
        second = words.count > 1 ? Keyword(literal: words[1]) : nil
    }

    convenience init(
        _ name: String, _ effect: Effect, _ required: [String] = [], optional: [String] = [],
        options: [Option] = [], text: String? = nil, reply: ReplySize = .short,
        example: String = "",
        about: String, endpoints: [HTTPEndpoint] = [],
        build: @escaping @Sendable (borrowing ParsedLine) throws(LineError) -> Request
    ) {
        self.init(
            name, effect, required, optional: optional, options: options, text: text, reply: reply,
            example: example, about: about, endpoints: endpoints, build: .plain(build))
    }

    /// The syntax of the verb: `HISTORY <conversation> <user> [limit=50] …`.
    public var usage: String {
        var words = [name] + required + optional.map { "[\($0)]" }
        for option in options where !option.isCommon { words.append(option.usage) }
        if let text { words.append(text) }
        return words.joined(separator: " ")
    }

    var hasText: Bool { text != nil }

    func traits(at index: Int) -> Traits {
        Traits(index: UInt8(index), effect: effect, reply: reply)
    }

    /// Returns the traits of the verb with this name, which must be in the table.
    public static func traits(of name: String) -> Traits {
        let index = index(of: name)
        return all[index].traits(at: index)
    }

    /// Returns the verb with this name, which must be in the table.
    public static func named(_ name: String) -> Verb { all[index(of: name)] }

    private static func index(of name: String) -> Int {
        guard let index = all.firstIndex(where: { $0.name == name }) else {
            preconditionFailure("\(name) is no verb of the table")
        }
        return index
    }

    /// Returns the argument at `index` in the form of a usage text, such as `<user>`.
    func label(of index: Int) -> String {
        index < required.count ? required[index] : optional[index - required.count]
    }

    /// Returns the rows that `HELP <words>` prints.
    ///
    /// - Parameter words: nil for all verbs; otherwise a verb, or the first word of several verbs.
    /// - Throws: `LineError.noSuchVerb` if no verb matches.
    public static func matching(_ words: String?) throws(LineError) -> [Verb] {
        guard let words else { return all }
        let name = words.uppercased()
        let found = all.filter { $0.name == name || $0.name.hasPrefix(name + " ") }
        guard !found.isEmpty else { throw .noSuchVerb }
        return found
    }
}
