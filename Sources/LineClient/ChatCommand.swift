import ChatClient
import Glibc
import Manual
import NetworkIO
import TLS
import Wire

/// `grapevine chat`: a chat client for the terminal, or for lines of another program.
package enum ChatCommand {
    package static let help = CommandHelp(
        "chat", "chats, as a user, in a terminal",
        synopsis: [
            "grapevine chat --user <user> [--node <admin host:port>[,…]] [--key-file <file>]"
        ],
        "Chats as that user: the chats, one of them open, what is new as it comes. When its node "
            + "is gone it goes on at another, and sends again what was not acknowledged.",
        [
            CommandHelp.Option(
                "--user", .text("user"), "the user; whoever may connect to a node may be any"),
            CommandHelp.Option(
                "--node", .text("host:port,…"),
                "where to begin (default 127.0.0.1:7201); the others it learns from there"),
            CommandHelp.Option("--key-file", .file, "signs in with a key of this file"),
        ],
        notes: "Lines are sent; those that begin with / are commands, which /help lists. Where "
            + "input or output is no terminal, it takes and prints lines, and ends after the last:",
        examples: ["printf '/open c1\\nhello\\n' | grapevine chat --user alice"],
        statuses: [
            (0, "everything was acknowledged"), (1, "something was refused"),
            (64, "these words make no sense"), (69, "no node could be reached"),
        ])

    private struct Misused: Error {
        let sentence: String
    }

    /// - Parameter arguments: the words after `grapevine chat`.
    /// - Returns: the exit status of the process.
    package static func run(_ arguments: [String]) -> Int32 {
        if CommandHelp.isAsked(in: arguments) {
            writeAll(Array(help.usage.utf8), to: 1)
            return 0
        }
        // A closed connection must be reported as such, and not end this process by a signal.
        signal(SIGPIPE, SIG_IGN)
        do {
            let options = try options(arguments)
            let loop = try EventLoop()
            let terminal = Terminal()
            let settings = ChatMachine.Settings(
                user: options.user, nodes: options.nodes, size: terminal?.size,
                idPrefix: String(UInt64.random(in: .min ... .max), radix: 36),
                utcOffsetSeconds: utcOffsetSeconds, columns: Terminal.columns)
            let shell = ChatShell(ChatMachine(settings), options.keys, terminal, on: loop)
            try terminal?.begin()
            return try shell.run()
        } catch let error as Terminal.Unknown {
            let sentence = "nothing is known of terminals of the type '\(error.type)': set TERM"
            writeAll(Array("grapevine chat: \(sentence.printable)\n".utf8), to: 2)
            return 64
        } catch let error as Misused {
            let sentence = error.sentence.printable
            writeAll(Array("grapevine chat: \(sentence)\n\(help.usage)".utf8), to: 2)
            return 64
        } catch {
            writeAll(Array("grapevine chat: \(error)\n".utf8), to: 2)
            return 71
        }
    }

    private static func options(
        _ arguments: [String]
    ) throws(Misused) -> (user: String, nodes: [String], keys: [Key]) {
        var user: String?
        var nodes = ["127.0.0.1:7201"]
        var keys: [Key] = []
        var words = arguments[...]
        while let word = words.first {
            if word.hasPrefix("--key-file") {
                do throws(KeyOption.Unusable) {
                    keys = try KeyOption.removeKeyOption(&words)
                } catch {
                    throw Misused(sentence: error.sentence)
                }
                continue
            }
            let value = try value(&words)
            switch word.prefix(while: { $0 != "=" }) {
            case "--user": user = value
            case "--node": nodes = value.split(separator: ",").map(String.init)
            default: throw Misused(sentence: "unknown option: \(word)")
            }
        }
        guard let user, !user.isEmpty, !user.contains(" ") else {
            throw Misused(sentence: "--user says who chats")
        }
        for node in nodes where Endpoint(node) == nil {
            throw Misused(sentence: "not an address: \(node)")
        }
        guard !nodes.isEmpty else { throw Misused(sentence: "--node needs an address") }
        return (user, nodes, keys)
    }

    /// Removes the first word, and returns its value: after its `=`, or the next word.
    private static func value(_ words: inout ArraySlice<String>) throws(Misused) -> String {
        let word = words.removeFirst()
        if let equals = word.firstIndex(of: "=") {
            return String(word[word.index(after: equals)...])
        }
        guard let value = words.popFirst() else {
            throw Misused(sentence: "unknown option, or one without its value: \(word)")
        }
        return value
    }

    private static var utcOffsetSeconds: Int64 {
        var seconds = time(nil)
        var local = tm()
        localtime_r(&seconds, &local)
        return Int64(local.tm_gmtoff)
    }
}
