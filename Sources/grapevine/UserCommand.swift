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
        case add, show, password, disable, enable, remove

        /// Whether a password is read.
        var needsPassword: Bool { self == .add || self == .password }
    }

    static let help = CommandHelp(
        "user", "adds, shows and changes an account",
        synopsis: [
            "grapevine user [--key-file <file>] <admin host:port> "
                + "add|show|password|disable|enable|remove <email>"
        ],
        "Adds an account with an e-mail address, or changes the one that the address finds.",
        [
            CommandHelp.Option("--key-file", .file, "signs in first, with a key of this file")
        ],
        notes: """
            add and password read the password: from the terminal, else the first line of standard
            input. password, disable and remove end all sign-ins, on all nodes within a second.
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
        guard rest.count == 3 else {
            return refuse("an address, what to do and an e-mail address are needed")
        }
        guard let address = Endpoint(rest[0]) else { return refuse("not an address: \(rest[0])") }
        guard let change = Change(rawValue: rest[1]) else {
            return refuse("unknown: \(rest[1])")
        }
        let email: EmailAddress
        do throws(LineError) {
            email = try EmailAddress(rest[2])
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
            let dialogue = UserDialogue(change, email, hash) { loop.stop() }
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
        guard let hash = Password.hash(Array(password.utf8)) else {
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

/// The lines that change an account, each sent when the one before has its reply.
private final class UserDialogue {
    private let change: UserCommand.Change
    private let email: EmailAddress
    private let hash: String?
    private let onEnd: () -> Void
    private var connection: LineConnection?
    private(set) var status: Int32 = 0

    init(
        _ change: UserCommand.Change, _ email: EmailAddress, _ hash: String?,
        _ onEnd: @escaping () -> Void
    ) {
        self.change = change
        self.email = email
        self.hash = hash
        self.onEnd = onEnd
    }

    func start(at address: Endpoint, _ keys: [Key], on loop: EventLoop) {
        LineConnection.dial(address, on: loop) { [self] result in
            switch result {
            case .success(let connection):
                self.connection = connection
                connection.signIn(with: keys) { [self] outcome in
                    switch outcome {
                    case .signedIn: begin()
                    case .refused(let reply): end(1, reply.statusText)
                    case .failed(let failure): end(69, "\(failure)")
                    }
                }
            case .failure(let failure): end(69, "\(address) \(failure)")
            }
        }
    }

    /// What may be done once has to be refused everywhere, so that all owners store each change.
    private func begin() {
        ask("SET ack=all") { [self] _ in
            ask("ACCOUNTS \(email.digest)") { [self] reply in
                let accounts = reply.data("ACCOUNT")
                switch (change, accounts.first?["user"]) {
                case (.show, _?): show(accounts)
                case (.add, nil): add()
                case (.add, _?): end(1, "this e-mail address is in use")
                case (_, nil): end(1, "no account has this e-mail address")
                case (_, let user?): apply(to: user)
                }
            }
        }
    }

    private func show(_ accounts: [ReplyFields]) {
        for account in accounts {
            let shown = account.pairs.filter { $0.key != "password" }
            writeLine(shown.map { "\($0.key)=\($0.value)" }.joined(separator: " ").printable, to: 1)
        }
        end(0)
    }

    private func add() {
        let user = "u\(Base64.encode((0..<16).map { _ in UInt8.random(in: 0...255) }))"
        let line =
            "ACCOUNT ADD \(email.digest) \(user) email=\(spelledValue(email.text)) "
            + "password=\(spelledValue(hash ?? ""))"
        ask(line) { [self] _ in
            writeLine("user=\(user) email=\(email.text)".printable, to: 1)
            end(0)
        }
    }

    private func apply(to user: String) {
        let password = change == .password ? " password=\(spelledValue(hash ?? ""))" : ""
        let line = "ACCOUNT \(change.rawValue.uppercased()) \(email.digest) \(user)\(password)"
        ask(line) { [self] reply in
            guard change != .enable, let stamp = reply.ok?["stamp"] else { return end(0) }
            ask("REVOKE \(user) through=\(stamp)") { [self] _ in end(0) }
        }
    }

    /// Sends a line; a refusal ends the command.
    private func ask(_ line: String, then: @escaping (LineReply) -> Void) {
        let isSent = connection?.send(line) { [self] answer in
            switch answer {
            case .success(let reply) where reply.isOK: then(reply)
            case .success(let reply): end(1, reply.statusText)
            case .failure(let failure): end(69, "\(failure)")
            }
        }
        if isSent != true { end(69, "the connection is closed") }
    }

    private func end(_ status: Int32, _ sentence: String? = nil) {
        self.status = status
        if let sentence { writeLine("grapevine user: \(sentence.printable)", to: 2) }
        onEnd()
    }
}
