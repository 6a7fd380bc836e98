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

/// The lines that change an account, each sent when the one before has its reply.
final class UserDialogue {
    private let change: UserCommand.Change
    /// The e-mail address as it was typed; nil for a list of all.
    private let email: String?
    /// The digests under which accounts of the address may be stored: the account of just this
    /// spelling, which an earlier version stored, is first; a new one is stored under the last.
    private let digests: [String]
    private let hash: String?
    private let onEnd: () -> Void
    private var connection: LineConnection?
    private(set) var status: Int32 = 0

    init(
        _ change: UserCommand.Change, _ email: String?, at digests: [String], _ hash: String?,
        _ onEnd: @escaping () -> Void
    ) {
        self.change = change
        self.email = email
        self.digests = digests
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

    private func begin() {
        guard email != nil else { return list(after: nil) }
        // What may be done once has to be refused everywhere, so that all owners store each change.
        ask("SET ack=all") { [self] _ in look(at: digests[...]) }
    }

    /// Looks under each digest under which an account may be stored, and changes what it finds.
    private func look(at rest: ArraySlice<String>) {
        guard let digest = rest.first else {
            if change == .add { return add() }
            return end(1, "no account has this e-mail address")
        }
        ask("ACCOUNTS \(digest)") { [self] reply in
            let accounts = reply.data("ACCOUNT")
            switch (change, accounts.first?["user"]) {
            case (_, nil): look(at: rest.dropFirst())
            case (.show, _?):
                show(accounts)
                end(0)
            case (.add, _?): end(1, "this e-mail address is in use")
            case (.token, let user?):
                signIn(user, at: digest, accounts.first?["password"] ?? "")
            case (.remove, let user?): remove(user, at: digest)
            case (_, let user?): apply(to: user, at: digest)
            }
        }
    }

    // MARK: What is shown

    /// Lists the accounts of the addresses after one, some at a time.
    private func list(after last: String?) {
        ask("ACCOUNTS" + (last.map { " after=\($0)" } ?? "")) { [self] reply in
            let accounts = reply.data("ACCOUNT")
            show(accounts)
            guard reply.ok?.isTrue("partial") == false else {
                return endPartial()
            }
            guard let next = accounts.last?["address"] else { return end(0) }
            list(after: next)
        }
    }

    private func show(_ accounts: [ReplyFields]) {
        for account in accounts {
            let shown = account.pairs.filter { !["address", "password", "stamp"].contains($0.key) }
            writeLine(shown.map { "\($0.key)=\($0.value)" }.joined(separator: " ").printable, to: 1)
        }
    }

    // MARK: Access tokens

    /// Signs a user in for as long as one access token, which nobody can renew.
    private func signIn(_ user: String, at address: String, _ hash: String) {
        let (id, secret) = ("s\(random())", RefreshToken.digest(of: random()))
        let password = spelledValue(hash)
        ask(
            "SIGNIN ADD \(address) \(user) \(id) secret=\(secret) password=\(password)"
        ) { [self] reply in
            guard let stamp = reply.ok?["stamp"].flatMap({ UInt64($0) }),
                let user = UserID(user)
            else { return end(69, "the sign-in has no stamp") }
            ask("KEYS") { [self] reply in
                let now = Int64(time(nil))
                guard let key = UserDialogue.key(among: reply.data("KEY"), now: now) else {
                    return end(1, "no node has made a key yet; one with --http does at once")
                }
                writeLine(
                    AccessToken.issued(
                        to: user, at: address, signIn: id, stamp: stamp, signedBy: key, from: now),
                    to: 1)
                end(0)
            }
        }
    }

    /// The seconds after which all nodes know a key.
    private static let settleSeconds: Int64 = 2

    /// Returns the newest key that all nodes know, else the newest.
    private static func key(
        among keys: [ReplyFields], now: Int64
    ) -> (name: String, secret: [UInt8])? {
        let known = keys.last { key in
            key["stamp"].flatMap { UInt64($0) }.map {
                Int64($0 >> 16) / 1_000 + settleSeconds <= now
            } ?? false
        }
        guard let key = known ?? keys.last, let name = key["id"],
            let secret = key["secret"].flatMap(Base64.decode)
        else { return nil }
        return (name, secret)
    }

    private func random() -> String {
        Base64.encode((0..<16).map { _ in UInt8.random(in: 0...255) })
    }

    // MARK: Changes

    private func add() {
        guard let email, let digest = digests.last else { return }
        let user = "u\(random())"
        let line =
            "ACCOUNT ADD \(digest) \(user) email=\(spelledValue(email)) "
            + "password=\(spelledValue(hash ?? ""))"
        ask(line) { [self] _ in
            writeLine("user=\(user) email=\(email)".printable, to: 1)
            end(0)
        }
    }

    private func apply(to user: String, at address: String) {
        let password = change == .password ? " password=\(spelledValue(hash ?? ""))" : ""
        let line = "ACCOUNT \(change.rawValue.uppercased()) \(address) \(user)\(password)"
        ask(line) { [self] reply in
            guard change != .enable, let stamp = reply.ok?["stamp"] else { return end(0) }
            ask("REVOKE \(user) through=\(stamp)") { [self] _ in end(0) }
        }
    }

    // MARK: Removal

    /// Removes an account, and what its user has stored, unless the user has another one.
    ///
    /// The sign-ins end first, so that nothing is stored meanwhile. Where the command ends in
    /// between, the account is disabled, and is removed by the next one.
    private func remove(_ user: String, at address: String) {
        ask("ACCOUNT DISABLE \(address) \(user)") { [self] reply in
            guard let stamp = reply.ok?["stamp"] else { return end(69, "the change has no stamp") }
            ask("REVOKE \(user) through=\(stamp)") { [self] _ in
                lookForOther(of: user, than: address) { [self] hasOther in
                    guard hasOther else {
                        return erase(user) { [self] in
                            let lines = ["ACCOUNT REMOVE \(address) \(user)", "REVOKE \(user)"]
                            ask(lines[...]) { [self] in end(0) }
                        }
                    }
                    ask("ACCOUNT REMOVE \(address) \(user)") { [self] _ in end(0) }
                }
            }
        }
    }

    /// Looks whether a user has an account at another address: of two nodes on two sides of a
    /// network partition, each may have given the user another one.
    private func lookForOther(
        of user: String, than address: String, after last: String? = nil,
        then: @escaping (Bool) -> Void
    ) {
        ask("ACCOUNTS" + (last.map { " after=\($0)" } ?? "")) { [self] reply in
            let accounts = reply.data("ACCOUNT")
            guard reply.ok?.isTrue("partial") != true else { return endPartial() }
            guard let next = accounts.last?["address"] else { return then(false) }
            let isThere = accounts.contains { $0["user"] == user && $0["address"] != address }
            if isThere { return then(true) }
            lookForOther(of: user, than: address, after: next, then: then)
        }
    }

    /// Deletes what tells of a user, which is the profile, the devices and the items.
    ///
    /// The messages stay.
    private func erase(_ user: String, then: @escaping () -> Void) {
        ask("DEVICES \(user)") { [self] devices in
            ask("ACTIONS \(user)") { [self] items in
                guard items.ok?.isTrue("partial") != true else { return endPartial() }
                let lines =
                    ["PROFILE \(user) name= email= photo="]
                    + devices.data("DEVICE").compactMap { $0["id"] }
                    .map { "DEVICE REMOVE \(user) \($0)" }
                    + items.data("ACTION").compactMap { $0["id"] }
                    .map { "ACTION DELETE \(user) \($0)" }
                ask(lines[...], then: then)
            }
        }
    }

    /// Sends lines, each after the reply to the one before.
    private func ask(_ lines: ArraySlice<String>, then: @escaping () -> Void) {
        guard let line = lines.first else { return then() }
        ask(line) { [self] _ in ask(lines.dropFirst(), then: then) }
    }

    private func endPartial() { end(69, "the list is not whole: some nodes did not answer") }

    // MARK: Lines

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
