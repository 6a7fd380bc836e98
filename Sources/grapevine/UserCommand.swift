import Crypto
import Gateway
import Glibc
import LineClient
import LineProtocol
import Manual
import NetworkIO
import Server
import TLS
import Wire

/// `grapevine user`: what operators do with the accounts that a cluster keeps.
enum UserCommand {
    enum Change: String, CaseIterable {
        case list, add, show, token, password, disable, enable, remove

        /// Whether a password is read.
        var needsPassword: Bool { self == .add || self == .password }
    }

    static let help = CommandHelp(
        "user", "lists, adds and changes accounts",
        synopsis: [
            "grapevine user [--key-file <file>] <admin host:port> list",
            "grapevine user [--key-file <file>] <admin host:port> "
                + "add|show|token|password|disable|enable|remove <email>",
        ],
        "Lists all accounts, adds one with an e-mail address, or changes the one that the address "
            + "finds.",
        [
            CommandHelp.Option("--key-file", .file, "signs in first, with a key of this file")
        ],
        notes: """
            add and password read the password: from the terminal, else the first line of standard
            input. token signs the user in and prints an access token, which every node takes for
            ten minutes. password, disable and remove end all sign-ins, on all nodes within a
            second. remove also deletes the user's profile, devices and action items, and what was
            uploaded and not sent; messages stay.
            """,
        examples: [
            "grapevine user 127.0.0.1:7201 add alice@example.org < password.txt",
            "grapevine user 127.0.0.1:7201 disable alice@example.org",
        ],
        statuses: [
            (0, "it is done"), (1, "it was refused"), (64, "these words make no sense"),
            (69, "the node cannot be reached, or did not answer for 10 s"),
        ])

    /// - Parameter words: those after `grapevine user`.
    /// - Returns: the exit status of the process.
    static func run(_ words: [String]) -> Int32 {
        if CommandHelp.isAsked(in: words) {
            writeText(help.usage, to: 1)
            return 0
        }
        var words = words[...]
        let keys: [Key]
        do throws(KeyOption.Unusable) {
            keys = try KeyOption.removeKeyOption(&words)
        } catch {
            return refuse(error.sentence)
        }
        let rest = Array(words)
        guard rest.count >= 2 else { return refuse("an address and what to do are needed") }
        guard let address = Endpoint(rest[0]) else { return refuse("not an address: \(rest[0])") }
        guard let change = Change(rawValue: rest[1]) else {
            return refuse("unknown: \(rest[1])")
        }
        guard rest.count == (change == .list ? 2 : 3) else {
            return refuse(
                change == .list ? "list takes no e-mail address" : "one e-mail address is needed")
        }
        let email = change == .list ? nil : rest[2]
        let digests: [String]
        do throws(LineError) {
            if change == .add { _ = try EmailAddress(rest[2]) }
            digests = try email.map(EmailAddress.storedDigests)?.reversed().map(\.text) ?? []
        } catch {
            return refuse("not an e-mail address: \(rest[2])")
        }
        let hash: String?
        do throws(Refusal) {
            hash = change.needsPassword ? try hashOfPassword() : nil
        } catch {
            return refuse(error.sentence)
        }
        // A closed connection must be reported as such, and not end this process by a signal.
        signal(SIGPIPE, SIG_IGN)
        do throws(NetworkError) {
            let loop = try EventLoop()
            let dialogue = UserDialogue(change, email, at: digests, hash) { loop.stop() }
            dialogue.start(at: address, keys, on: loop)
            loop.run()
            return dialogue.status
        } catch {
            writeLine("grapevine user: \(error)", to: 2)
            return 71
        }
    }

    private struct Refusal: Error {
        let sentence: String
    }

    private static func hashOfPassword() throws(Refusal) -> String {
        let password =
            isatty(0) == 1 ? getpass("Password: ").map { String(cString: $0) } : readLine()
        let allowed = Accounts.passwordBytes
        guard let password, allowed.contains(password.utf8.count) else {
            throw Refusal(
                sentence: "a password has \(allowed.lowerBound) to \(allowed.upperBound) bytes")
        }
        guard let hash = Password.hash(password) else {
            throw Refusal(sentence: "no memory is left to hash a password")
        }
        return hash
    }

    private static func refuse(_ sentence: String) -> Int32 {
        writeLine("grapevine user: \(sentence.printable)", to: 2)
        writeText(help.usage, to: 2)
        return ExitStatus.usage
    }
}
