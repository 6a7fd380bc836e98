/// A command of the program, as its help describes it.
///
/// What `--help` prints, the manual page and the completion of shells are all made of it.
public struct CommandHelp: Sendable {
    /// An option of a command.
    public struct Option: Sendable {
        /// The name with its dashes.
        public let name: String
        public let value: Value
        public let help: String

        public init(_ name: String, _ value: Value, _ help: String) {
            self.name = name
            self.value = value
            self.help = help
        }

        public var isFlag: Bool { value.placeholder == nil }
    }

    /// The value of an option.
    public enum Value: Sendable {
        /// The option is a flag and takes none.
        case none
        /// Free text, named for the manual page.
        case text(String)
        /// The path of a file.
        case file
        /// The path of a folder.
        case folder
        /// One of these words, or another text.
        case words([String])

        /// The placeholder of the value; nil for a flag.
        var placeholder: String? {
            switch self {
            case .none: nil
            case .text(let name): name
            case .file: "file"
            case .folder: "folder"
            case .words(let words): words.joined(separator: "|")
            }
        }
    }

    /// The word that selects the command.
    public let name: String
    /// What the command does, in a clause without a subject.
    public let summary: String
    /// How the command is called, line by line, beginning with the program's name.
    public let synopsis: [String]
    public let description: String
    public let options: [Option]
    /// The words of which one follows the command; empty where any text may.
    public let arguments: [String]
    /// What is to be said behind the options.
    public let notes: String
    /// Lines of a shell, behind the notes.
    public let examples: [String]
    /// The exit statuses with their meanings; empty where a page lists them.
    public let statuses: [(status: Int32, meaning: String)]

    public init(
        _ name: String, _ summary: String, synopsis: [String], _ description: String,
        _ options: [Option] = [], arguments: [String] = [], notes: String = "",
        examples: [String] = [], statuses: [(status: Int32, meaning: String)] = []
    ) {
        self.name = name
        self.summary = summary
        self.synopsis = synopsis
        self.description = description
        self.options = options
        self.arguments = arguments
        self.notes = notes
        self.examples = examples
        self.statuses = statuses
    }

    /// Whether the words behind a command ask for its help.
    public static func isAsked(in words: [String]) -> Bool {
        words.contains("--help") || words.contains("-h")
    }

    /// The column at which the help of options and statuses begins.
    private static let column = 18
    private static let columnsMax = 100

    /// What `--help` prints.
    public var usage: String {
        var lines = ["usage: " + synopsis[0]]
        lines += synopsis.dropFirst().map { "       " + $0 }
        lines.append("")
        lines += CommandHelp.wrapped(description, behind: "", indent: 0)
        for option in options { lines += CommandHelp.row("  " + option.name, option.help) }
        if !notes.isEmpty { lines += CommandHelp.wrapped(notes, behind: "", indent: 0) }
        lines += examples.map { "  " + $0 }
        for (index, entry) in statuses.enumerated() {
            let name = index == 0 ? "  exit status " : String(repeating: " ", count: 14)
            let status = String(entry.status)
            let padding = String(repeating: " ", count: max(0, 2 - status.count))
            lines += CommandHelp.row(name + padding + status, entry.meaning)
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func row(_ name: String, _ help: String) -> [String] {
        let padding = max(2, column - name.count)
        return wrapped(help, behind: name + String(repeating: " ", count: padding), indent: column)
    }

    private static func wrapped(_ text: String, behind start: String, indent: Int) -> [String] {
        var lines: [String] = []
        var line = start
        for word in text.split(separator: " ") {
            let isFirst = line.isEmpty || line.hasSuffix(" ")
            if !isFirst, line.count + 1 + word.count > columnsMax {
                lines.append(line)
                line = String(repeating: " ", count: indent) + word
            } else {
                line += (isFirst ? "" : " ") + word
            }
        }
        return lines + [line]
    }
}
