/// What a typed line asks for.
enum Command: Equatable {
    case say(String)
    case help
    case list(archived: Bool)
    case open(String)
    case create(String, users: [String], title: String)
    case invite(String)
    case leaveChat, hide
    case archive(Bool)
    case edit(Int?, String)
    case delete(Int, everyone: Bool)
    case restore
    case pin(Int, Bool)
    case pins
    case edits(Int)
    case nodes
    case quit

    /// The commands as `/help` lists them.
    static let helpLines = [
        "/open CHAT     its name, its beginning or its place",
        "/chats         the list       /archived   the archive",
        "/new CHAT USER… [-- TITLE]    a chat with these users",
        "/edit [N] TEXT                message N, or your last",
        "/delete N [everyone]          for you, or for everyone",
        "/restore       what you deleted last for yourself",
        "/pin N   /unpin N   /pins     pinned messages",
        "/edits N                      earlier texts of it",
        "/archive  /unarchive  /hide  /leave    the open chat",
        "/invite USER                  into the open chat",
        "/nodes                        of the cluster",
        "/quit          once everything is acknowledged",
        "Anything else is sent; // at the start sends one /.",
        "PgUp, PgDn scroll; Up, Down call back what was typed;",
        "Tab opens the next chat, one with unread ones first.",
    ]

    /// A line that asks for nothing: what is wrong with it.
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
        case ("/archived", 0): return .list(archived: true)
        case ("/open", 1), ("/o", 1): return .open(words[0])
        case ("/new", 2...): return try create(words)
        case ("/invite", 1): return .invite(words[0])
        case ("/leave", 0): return .leaveChat
        case ("/hide", 0): return .hide
        case ("/archive", 0): return .archive(true)
        case ("/unarchive", 0): return .archive(false)
        case ("/edit", 1...): return edit(words, text)
        case ("/delete", 1), ("/delete", 2): return try delete(words)
        case ("/restore", 0): return .restore
        case ("/pin", 1): return .pin(try number(words[0]), true)
        case ("/unpin", 1): return .pin(try number(words[0]), false)
        case ("/pins", 0): return .pins
        case ("/edits", 1): return .edits(try number(words[0]))
        case ("/nodes", 0): return .nodes
        case ("/quit", 0), ("/q", 0), ("/exit", 0): return .quit
        default: throw Unclear(sentence: "\(verb) is not understood so; /help lists the commands")
        }
    }

    private static func number(_ word: String) throws(Unclear) -> Int {
        guard let number = Int(word), number > 0 else {
            throw Unclear(sentence: "\(word) is no number of a message, as shown before it")
        }
        return number
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
        return .delete(try number(words[0]), everyone: words.count == 2)
    }

    /// `/edit 3 text` or `/edit text`; the text keeps its spaces.
    private static func edit(_ words: [String], _ line: String) -> Command {
        let text = line.dropFirst("/edit".count).drop { $0 == " " }
        guard words.count > 1, let number = Int(words[0]) else {
            return .edit(nil, String(text))
        }
        return .edit(number, String(text.dropFirst(words[0].count).dropFirst()))
    }
}
