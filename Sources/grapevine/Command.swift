import LineClient
import Server

/// The commands of the program: the first word selects one, and each has its own help.
enum Command {
    private static let usage = """
        usage: grapevine <command> …

          node        runs one node of a cluster
          ask         sends lines to a node and prints its replies
          chat        chats, as a user, in a terminal
          --version   prints the version
          --help      prints this; grapevine <command> --help tells of one

        """

    /// - Returns: the process's exit status.
    static func run(_ words: [String]) -> Int32 {
        // A node decides by its options; the other commands hold keys and private texts as well.
        if words.first != "node" { forbidCoreDumps() }
        return switch words.first {
        case "node": node(Array(words.dropFirst()))
        case "ask": AskCommand.run(Array(words.dropFirst()))
        case "chat": ChatCommand.run(Array(words.dropFirst()))
        case "--version": say("grapevine \(Server.version)\n")
        case "--help", "-h", "help": say(usage)
        case nil: refuse("no command", usage)
        case let word?: refuse("unknown command: \(word)", usage)
        }
    }

    private static func node(_ words: [String]) -> Int32 {
        if words.contains("--help") || words.contains("-h") { return say(NodeCommand.usage) }
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
