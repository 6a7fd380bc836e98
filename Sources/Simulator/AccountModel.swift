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
        if let id = Set(expected.open.keys).subtracting(open).min() {
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
            case .signing(.addKey) where !keys.contains(entry.operation):
                keys.append(entry.operation)
            case .signing(.revoke(let name, let time)):
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

    init(of user: UserID, _ entries: [Ledger.Entry]) {
        let own = entries.filter { $0.mutation.user == user }
        let removals = own.filter { $0.mutation.action == .credentials(.remove) }
        let last = removals.map(\.operation).max()
        removed = last
        // A change belongs to the life that began with the last removal that it had seen.
        let life = own.filter { change in
            change.mutation.action != .credentials(.remove)
                && removals.filter { change.knew(of: $0) }.map(\.operation).max() == last
        }.sorted { $0.operation < $1.operation }
        var begun: [(stamp: Stamp, id: SignInID)] = []
        var signedOut: Set<SignInID> = []
        for change in life {
            guard case .credentials(let action) = change.mutation.action else { continue }
            switch action {
            case .signUp(let email, let password):
                if created == nil { created = change.operation }
                (self.email, self.password) = (email.text, password.text)
            case .setPassword(let password):
                (self.password, ended) = (password.text, change.operation)
            case .setDisabled(let isDisabled):
                self.isDisabled = isDisabled
                if isDisabled { ended = change.operation }
            case .endAll: ended = change.operation
            case .end(let id): signedOut.insert(id)
            case .begin(let id, let secret):
                if !begun.contains(where: { $0.id == id }) { begun.append((change.operation, id)) }
                open[id] = secret
            case .renew(let id, let renewal, _, _): open[id] = renewal.secret
            case .remove: break
            }
        }
        let kept = begun.filter { signIn in ended.map { signIn.stamp > $0 } ?? true }
            .suffix(Credentials.SignIn.countMax).map(\.id)
        open = open.filter { kept.contains($0.key) && !signedOut.contains($0.key) }
    }
}
