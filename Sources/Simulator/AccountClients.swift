import CRDT
import Chat
import Wire

/// A refresh token of a sign-in, as a client keeps it.
struct RefreshToken {
    let address: AddressID
    let user: UserID
    let signIn: SignInID
    let secret: SecretDigest
    /// Around the time at which it was given; nobody compares it but to tell two errors apart.
    let issued: HybridTimestamp
    /// Around the time at which the sign-in began.
    let began: HybridTimestamp
}

/// Random changes of accounts: two addresses and few users, so that the changes collide.
extension World {
    private static let addresses = (0..<2).map { AddressID(checked: "a\($0)") }
    private static let owners = (0..<4).map { UserID(checked: "u\($0)") }
    private static let keys = (0..<20).map { SigningKeyID(checked: "k\($0)") }

    func accountChange() -> Mutation {
        if accountRandom.chance(percent: 15) { return Mutation(signingAction()) }
        let draw = accountRandom.below(100)
        if draw < 40, !clients.refreshTokens.isEmpty { return signInChange(draw) }
        let address = accountRandom.pick(World.addresses)
        let isNew = (40..<52).contains(draw) || accountRandom.chance(percent: 10)
        let owner = isNew ? nil : ledger.entries(of: .credentials(address)).last?.mutation.user
        let user = owner ?? accountRandom.pick(World.owners)
        let action: Credentials.Action
        switch draw {
        case ..<52: action = .signUp(email: FieldText(text()), password: FieldText(text()))
        case ..<80:
            let token = RefreshToken(
                address: address, user: user, signIn: SignInID(checked: name("s")),
                secret: SecretDigest(checked: name("r")),
                issued: HybridTimestamp(milliseconds: milliseconds),
                began: HybridTimestamp(milliseconds: milliseconds))
            clients.refreshTokens.append(token)
            action = .begin(token.signIn, token.secret)
        case ..<86: action = .setPassword(FieldText(text()))
        case ..<92: action = .setDisabled(accountRandom.chance(percent: 40))
        case ..<96: action = .endAll
        default: action = .remove
        }
        return Mutation(action, at: address, of: user)
    }

    /// Draws a change of a sign-in by one of the last refresh tokens, which may be replaced.
    private func signInChange(_ draw: Int) -> Mutation {
        let back = min(clients.refreshTokens.count, 1 + accountRandom.below(6))
        let token = clients.refreshTokens[clients.refreshTokens.count - back]
        guard draw >= 10 else {
            return Mutation(.end(token.signIn), at: token.address, of: token.user)
        }
        let next = RefreshToken(
            address: token.address, user: token.user, signIn: token.signIn,
            secret: SecretDigest(checked: name("r")),
            issued: HybridTimestamp(milliseconds: milliseconds), began: token.began)
        clients.refreshTokens.append(next)
        let renewal = Credentials.Renewal(
            secret: next.secret, replaced: token.secret,
            request: accountRandom.chance(percent: 50) ? SecretDigest(checked: name("q")) : nil)
        return Mutation(
            .renew(token.signIn, renewal, issued: token.issued, began: token.began),
            at: token.address, of: token.user)
    }

    private func signingAction() -> Signing.Action {
        guard accountRandom.chance(percent: 60) else {
            return .addKey(accountRandom.pick(World.keys), SecretDigest(checked: name("x")))
        }
        let time = HybridTimestamp(milliseconds: milliseconds)
        return .revoke(accountRandom.pick(World.owners), through: time)
    }

    /// Returns a name that nothing else has.
    private func name(_ kind: String) -> String {
        clients.texts += 1
        return "\(kind)\(clients.texts)"
    }
}

extension Mutation.Action {
    /// Whether it is a sign-in, whose id is never used for a second one.
    var isSignIn: Bool {
        if case .credentials(.begin) = self { true } else { false }
    }
}
