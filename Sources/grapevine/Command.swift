import LineClient
import Manual
import Server

/// The commands of the program: the first word selects one, and each has its own help.
enum Command {
    private static let commands = [
        NodeCommand.help, AskCommand.help, ChatCommand.help, UserCommand.help,
        completion, man,
    ]

    private static let completion = CommandHelp(
        "completion", "prints the completion script of a shell",
        synopsis: ["grapevine completion bash|zsh|fish"],
        "Prints a script with which the shell completes commands and options.",
        arguments: ShellCompletion.allCases.map(\.rawValue),
        examples: [
            "grapevine completion bash > /etc/bash_completion.d/grapevine",
            "grapevine completion zsh > /usr/local/share/zsh/site-functions/_grapevine",
            "grapevine completion fish > /etc/fish/completions/grapevine.fish",
        ])

    private static let man = CommandHelp(
        "man", "prints the manual page", synopsis: ["grapevine man"],
        "Prints the manual page: to read it, or to install it.",
        examples: [
            "grapevine man | man -l -", "grapevine man > /usr/local/share/man/man1/grapevine.1",
        ])

    private static let others: [(word: String, summary: String)] = [
        ("--version", "prints the version"),
        ("--help", "prints this; grapevine <command> --help tells of one"),
    ]

    private static var usage: String {
        let words = commands.map { (word: $0.name, summary: $0.summary) } + others
        let lines = words.map { word, summary in
            "  " + word + String(repeating: " ", count: 12 - word.count) + summary
        }
        return "usage: grapevine <command> …\n\n" + lines.joined(separator: "\n") + "\n"
    }

    /// - Returns: the process's exit status.
    static func run(_ words: [String]) -> Int32 {
        // A node decides by its options; the other commands hold keys and private texts as well.
        if words.first != "node" { forbidCoreDumps() }
        let rest = Array(words.dropFirst())
        return switch words.first {
        case "node": node(rest)
        case "ask": AskCommand.run(rest)
        case "chat": ChatCommand.run(rest)
        case "user": UserCommand.run(rest)
        case "completion": complete(rest)
        case "man": describe(rest)
        case "--version": say("grapevine \(Server.version)\n")
        case "--help", "-h", "help": say(usage)
        case nil: refuse("no command", usage)
        case let word?: refuse("unknown command: \(word)", usage)
        }
    }

    private static func complete(_ words: [String]) -> Int32 {
        if CommandHelp.isAsked(in: words) { return say(completion.usage) }
        guard words.count == 1, let shell = ShellCompletion(rawValue: words[0]) else {
            return refuse("one shell is needed: bash, zsh or fish", completion.usage)
        }
        return say(shell.script(for: commands, others: others))
    }

    private static func describe(_ words: [String]) -> Int32 {
        if CommandHelp.isAsked(in: words) { return say(man.usage) }
        guard words.isEmpty else { return refuse("unexpected word: \(words[0])", man.usage) }
        return say(ManualPage(of: commands, version: "grapevine \(Server.version)").text)
    }

    private static func node(_ words: [String]) -> Int32 {
        if CommandHelp.isAsked(in: words) { return say(NodeCommand.help.usage) }
        do throws(UsageError) {
            return Server(try NodeCommand(words)).run()
        } catch {
            return refuse(error.sentence, "try: grapevine node --help\n")
        }
    }

    private static func say(_ text: String) -> Int32 {
        print(text, terminator: "")
        return 0
    }

    private static func refuse(_ sentence: String, _ hint: String) -> Int32 {
        writeLine("grapevine: \(sentence)", to: 2)
        writeText(hint, to: 2)
        return ExitStatus.usage
    }
}
