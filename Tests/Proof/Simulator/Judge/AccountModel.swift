import CRDT
import Chat
import Wire

/// The expected content of accounts, keys and revocations, derived from the changes that they name.
extension Model {
    func check(_ credentials: Credentials) throws(Violation) {
        let users = Set(entries.map(\.mutation.user)).sorted()
        guard credentials.accounts.map(\.user) == users else {
            throw violation(.claims, "has the accounts of \(credentials.accounts.map(\.user))")
        }
        var present: [(created: Stamp, user: UserID)] = []
        for user in users {
            let expected = AccountModel(of: user, entries)
            guard let account = credentials.account(of: user) else { continue }
            try check(account, expected)
            if let created = expected.created { present.append((created, user)) }
        }
        let order = present.sorted { ($0.created, $0.user) < ($1.created, $1.user) }.map(\.user)
        guard credentials.present.map(\.user) == order else {
            throw violation(.claims, "finds \(credentials.present.map(\.user)), not \(order)")
        }
    }

    private func check(
        _ account: Credentials.Account, _ expected: AccountModel
    ) throws(Violation) {
        let user = account.user
        guard account.removed == expected.removed else {
            throw violation(.deleted, "has another removal of \(user)")
        }
        guard account.isPresent == (expected.created != nil) else {
            throw violation(.deleted, "has the account of \(user): \(account.isPresent)")
        }
        guard account.created == expected.created, account.password == expected.password ?? "",
            account.email == expected.email ?? "", account.isDisabled == expected.isDisabled,
            account.ended == expected.ended
        else { throw violation(.claims, "has the account \(account)") }
        let open = Set(account.signIns.filter(\.isOpen).map(\.id))
        if let id = open.subtracting(expected.open.keys).min() {
            throw violation(.deleted, "has the sign-in \(id), which has ended")
        }
        // Which one a node ends where there are too many is up to what the node knew.
        let lacking = Set(expected.open.keys).subtracting(open)
        if let id = lacking.min(), expected.begunCount <= Credentials.SignIn.countMax {
            throw violation(.kept, "lacks the sign-in \(id), which has not ended")
        }
        for signIn in account.signIns.filter(\.isOpen) {
            guard signIn.secret == expected.open[signIn.id] else {
                throw violation(.claims, "has another refresh token of \(signIn.id)")
            }
        }
    }

    func check(_ signing: Signing) throws(Violation) {
        var keys: [Stamp] = []
        var revoked: [UserID: HybridTimestamp] = [:]
        for entry in entries {
            switch entry.mutation.action {
            case Signing.Action.addKey where !keys.contains(entry.operation):
                keys.append(entry.operation)
            case Signing.Action.revoke(let name, let time):
                revoked[name] = max(revoked[name] ?? .zero, time)
            default: break
            }
        }
        guard signing.keys.map(\.created) == keys.sorted().suffix(Signing.keysMax) else {
            throw violation(.claims, "has the keys \(signing.keys.map(\.id))")
        }
        let now = Dictionary(uniqueKeysWithValues: signing.revocations.map { ($0.name, $0.time) })
        guard now == revoked, signing.floor == .zero else {
            throw violation(.deleted, "revokes \(now), not \(revoked)")
        }
    }
}

/// One account, as a function of the changes in its document.
private struct AccountModel {
    let removed: Stamp?
    private(set) var created: Stamp?
    private(set) var email: String?
    private(set) var password: String?
    private(set) var isDisabled = false
    private(set) var ended: Stamp?
    /// The refresh tokens of the sign-ins that have not ended.
    private(set) var open: [SignInID: SecretDigest] = [:]
    /// The number of sign-ins, ended ones too.
    private(set) var begunCount = 0

    init(of user: UserID, _ entries: [Ledger.Entry]) {
        let own = entries.filter { $0.mutation.user == user }
        removed = AccountModel.lastRemoval(in: own)
        let life = AccountModel.lastLife(in: own).sorted { $0.operation < $1.operation }
        ended = own.filter { AccountModel.endsAll($0, of: own) }.map(\.operation).max()
        // A sign-in that one node executed in the life before ends with that, wherever else it was
        // executed.
        let dots = Set(life.map(\.dot))
        let over = Set(
            own.filter { !dots.contains($0.dot) }.compactMap(\.mutation.action.signInBegun))
        var begun: [SignInID: (stamp: Stamp, password: Stamp?)] = [:]
        var passwordStamp: Stamp?
        for change in life {
            switch change.mutation.action {
            case let signUp as SignUp:
                if created == nil { created = change.operation }
                (email, password) = (signUp.email.text, signUp.password.text)
                passwordStamp = change.operation
            case let set as SetPassword:
                (password, passwordStamp) = (set.password.text, change.operation)
            case let set as SetAccountDisabled: isDisabled = set.isDisabled
            case let begin as BeginSignIn:
                // The earliest password that a node which executed it knew.
                let password = life.filter { $0.setsPassword && change.knew(of: $0) }
                    .map(\.operation).max()
                let known = [password, begun[begin.id]?.password].compactMap(\.self).min()
                begun[begin.id] = (change.operation, known)
                open[begin.id] = begin.secret
            case let renew as RenewSignIn: open[renew.id] = renew.renewal.secret
            default: break
            }
        }
        begunCount = begun.count
        open = open.filter { id, _ in
            guard let signIn = begun[id], !over.contains(id),
                !own.contains(where: { $0.ends(id, begunAt: signIn.stamp.time, of: own) })
            else { return false }
            let isLater = ended.map { signIn.stamp.time > $0.time } ?? true
            return isLater && signIn.password.map(\.time) == passwordStamp.map(\.time)
        }
    }

    private static func lastRemoval(in own: [Ledger.Entry]) -> Stamp? {
        own.filter { $0.mutation.action is RemoveAccount }.map(\.operation).max()
    }

    /// The changes of the present life: a change belongs to the life that began with the last
    /// removal that it had seen.
    private static func lastLife(in own: [Ledger.Entry]) -> [Ledger.Entry] {
        let last = lastRemoval(in: own)
        return own.filter { change in
            !(change.mutation.action is RemoveAccount)
                && lastRemoval(in: own.filter { change.knew(of: $0) }) == last
        }
    }

    /// Whether a change ends all sign-ins that began before; where it enables an account, only if
    /// the node knew it as disabled.
    private static func endsAll(_ change: Ledger.Entry, of own: [Ledger.Entry]) -> Bool {
        switch change.mutation.action {
        case is SetPassword, is EndAllSignIns: return true
        case let set as SetAccountDisabled:
            if set.isDisabled { return true }
            let known = own.filter { change.knew(of: $0) }
            let last = lastLife(in: known).filter(\.setsAccess).max { $0.operation < $1.operation }
            return last?.mutation.makes(SetAccountDisabled(true)) ?? false
        default: return false
        }
    }
}

extension Ledger.Entry {
    /// Whether the change ends a sign-in: one that its node knew, or that began no later than it
    /// says, or than the change itself where it does not say.
    func ends(
        _ id: SignInID, begunAt time: HybridTimestamp, of own: [Ledger.Entry]
    ) -> Bool {
        guard let end = mutation.action as? EndSignIn, end.id == id else { return false }
        return time <= end.began ?? operation.time
            || own.contains { $0.mutation.action.signInBegun == id && knew(of: $0) }
    }

    var setsAccess: Bool {
        mutation.action is SetAccountDisabled
    }

    var setsPassword: Bool {
        mutation.action is SignUp || mutation.action is SetPassword
    }
}
