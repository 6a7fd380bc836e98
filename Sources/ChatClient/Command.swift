/// A command, or a text to send, that was typed as a line.
enum Command: Equatable {
    case say(String)
    case help
    case list(archived: Bool)
    /// The chats that contain these words.
    case listFound(String)
    case open(String)
    case create(String, users: [String], title: String)
    case invite(String)
    case leaveChat, hide
    case archive(Bool)
    /// The message's number and the new text; a nil text begins with the current one.
    case edit(String?, String?)
    case delete(String, everyone: Bool)
    case restore
    case pin(String, Bool)
    case pins
    case edits(String)
    case names
    case find(String?)
    case bell(Bool)
    case nodes
    case quit

    /// The commands as `/help` lists them.
    static let helpLines = [
        "/open CHAT     its name, its beginning or its place",
        "/chats         the list       /archived   the archive",
        "/chats WORDS   those with these words in title, users, last text",
        "/new CHAT USER… [-- TITLE]    a chat with these users",
        "/edit [N] [TEXT]              message N, or your last;",
        "                              without TEXT: change what it says",
        "/delete N [everyone]          for you, or for everyone",
        "/restore       what you deleted last for yourself",
        "/pin N   /unpin N   /pins     pinned messages",
        "/edits N                      earlier texts of it",
        "/find [TEXT]   in what is loaded; again: the next older one",
        "/archive  /unarchive  /hide  /leave    the open chat",
        "/invite USER   into the open chat     /names   who is in it",
        "/bell on|off   rings for other chats and for your name",
        "/nodes                        of the cluster",
        "/quit          once everything is acknowledged",
        "Anything else is sent; // at the start sends one /.",
        "PgUp, PgDn scroll; Home, End where nothing is typed: to",
        "  either end. Up, Down call back what was typed.",
        "Tab completes names, chats and commands; where nothing is",
        "  typed it opens the next chat, one with unread ones first.",
        "Alt-Up, Alt-Down: the chat before or after in the list.",
        "Ctrl-R, Ctrl-S: the next older or newer one of a search.",
        "Alt-B, Alt-F, Alt-D, Ctrl-W: by words.  Ctrl-L: draws anew.",
    ]

    /// The first words of commands, for completion by Tab.
    static let verbs = [
        "/archive", "/archived", "/bell", "/chats", "/delete", "/edit", "/edits", "/find", "/help",
        "/hide", "/invite", "/leave", "/names", "/new", "/nodes", "/open", "/pin", "/pins",
        "/quit", "/restore", "/unarchive", "/unpin",
    ]

    /// The error of a line that is no command, with the reason.
    struct Unclear: Error, Equatable {
        let sentence: String
    }

    /// - Parameter line: not blank.
    init(_ line: String) throws(Unclear) {
        guard line.hasPrefix("/"), !line.hasPrefix("//") else {
            self = .say(line.hasPrefix("//") ? String(line.dropFirst()) : line)
            return
        }
        let words = line.split(separator: " ").map(String.init)
        let rest = Array(words.dropFirst())
        self = try Self.parse(words[0], rest, text: line)
    }

    private static func parse(
        _ verb: String, _ words: [String], text: String
    ) throws(Unclear) -> Command {
        switch (verb, words.count) {
        case ("/help", _), ("/?", _): return .help
        case ("/chats", 0), ("/list", 0): return .list(archived: false)
        case ("/chats", _), ("/list", _): return .listFound(words.joined(separator: " "))
        case ("/archived", 0): return .list(archived: true)
        case ("/open", 1), ("/o", 1): return .open(words[0])
        case ("/new", 2...): return try create(words)
        case ("/invite", 1): return .invite(words[0])
        case ("/leave", 0): return .leaveChat
        case ("/hide", 0): return .hide
        case ("/archive", 0): return .archive(true)
        case ("/unarchive", 0): return .archive(false)
        case ("/edit", _): return edit(words, text)
        case ("/delete", 1), ("/delete", 2): return try delete(words)
        case ("/restore", 0): return .restore
        case ("/pin", 1): return .pin(try label(words[0]), true)
        case ("/unpin", 1): return .pin(try label(words[0]), false)
        case ("/pins", 0): return .pins
        case ("/edits", 1): return .edits(try label(words[0]))
        case ("/names", 0): return .names
        case ("/find", 0), ("/search", 0): return .find(nil)
        case ("/find", _), ("/search", _):
            return .find(String(text.dropFirst(verb.count).drop { $0 == " " }))
        case ("/bell", 1) where ["on", "off"].contains(words[0]): return .bell(words[0] == "on")
        case ("/nodes", 0): return .nodes
        case ("/quit", 0), ("/q", 0), ("/exit", 0): return .quit
        default: throw Unclear(sentence: "\(verb) is not understood so; /help lists the commands")
        }
    }

    /// Returns the number of a message as it is shown, such as 12 or 12a.
    private static func label(_ word: String) throws(Unclear) -> String {
        guard isLabel(word) else {
            throw Unclear(sentence: "\(word) is no number of a message, as shown before it")
        }
        return word
    }

    private static func isLabel(_ word: String) -> Bool {
        let digits = word.prefix { ("0"..."9").contains($0) }
        let suffix = word.dropFirst(digits.count)
        return (digits.contains { $0 != "0" } || !suffix.isEmpty) && (1...9).contains(digits.count)
            && suffix.allSatisfy { ("a"..."z").contains($0) }
    }

    private static func create(_ words: [String]) throws(Unclear) -> Command {
        let users = words.dropFirst().prefix { $0 != "--" }
        let title = words.dropFirst().drop { $0 != "--" }.dropFirst().joined(separator: " ")
        guard !users.isEmpty else { throw Unclear(sentence: "/new CHAT USER… [-- TITLE]") }
        return .create(words[0], users: Array(users), title: title)
    }

    private static func delete(_ words: [String]) throws(Unclear) -> Command {
        guard words.count == 1 || words[1] == "everyone" else {
            throw Unclear(sentence: "/delete N, or /delete N everyone")
        }
        return .delete(try label(words[0]), everyone: words.count == 2)
    }

    /// Parses `/edit 3 text` or `/edit text`; the text keeps its spaces.
    private static func edit(_ words: [String], _ line: String) -> Command {
        let text = line.dropFirst("/edit".count).drop { $0 == " " }
        guard let first = words.first else { return .edit(nil, nil) }
        guard isLabel(first) else { return .edit(nil, String(text)) }
        let rest = text.dropFirst(first.count).dropFirst()
        return .edit(first, rest.contains { $0 != " " } ? String(rest) : nil)
    }
}
