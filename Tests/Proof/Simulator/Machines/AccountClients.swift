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
        let action: any CredentialsAction
        switch draw {
        case ..<52: action = SignUp(email: FieldText(text()), password: FieldText(text()))
        case ..<80:
            let token = RefreshToken(
                address: address, user: user, signIn: SignInID(checked: name("s")),
                secret: SecretDigest(checked: name("r")),
                issued: HybridTimestamp(milliseconds: milliseconds))
            clients.refreshTokens.append(token)
            action = BeginSignIn(
                token.signIn, token.secret, judgedBy: passwordKnown(at: address, user))
        case ..<86: action = SetPassword(FieldText(text()))
        case ..<92: action = SetAccountDisabled(accountRandom.chance(percent: 40))
        case ..<96: action = EndAllSignIns()
        default: action = RemoveAccount()
        }
        return Mutation(action, at: address, of: user)
    }

    /// Draws a change of a sign-in by one of the last refresh tokens, which may be replaced.
    private func signInChange(_ draw: Int) -> Mutation {
        let back = min(clients.refreshTokens.count, 1 + accountRandom.below(6))
        let token = clients.refreshTokens[clients.refreshTokens.count - back]
        let began = beginning(of: token)
        guard draw >= 10 else {
            return Mutation(
                EndSignIn(token.signIn, began: began), at: token.address, of: token.user)
        }
        let next = RefreshToken(
            address: token.address, user: token.user, signIn: token.signIn,
            secret: SecretDigest(checked: name("r")),
            issued: HybridTimestamp(milliseconds: milliseconds))
        clients.refreshTokens.append(next)
        let renewal = Credentials.Renewal(
            secret: next.secret, replaced: token.secret,
            request: accountRandom.chance(percent: 50) ? SecretDigest(checked: name("q")) : nil)
        return Mutation(
            RenewSignIn(token.signIn, renewal, issued: token.issued, began: began),
            at: token.address, of: token.user)
    }

    /// The beginning of a sign-in, as its tokens name it.
    private func beginning(of token: RefreshToken) -> HybridTimestamp {
        ledger.entries(of: .credentials(token.address)).last {
            $0.mutation.action.signInBegun == token.signIn
        }?.operation.time ?? HybridTimestamp(milliseconds: milliseconds)
    }

    /// Draws the password that a client may have been judged by; nil for whichever it is.
    private func passwordKnown(at address: AddressID, _ user: UserID) -> FieldText? {
        guard accountRandom.chance(percent: 30) else { return nil }
        return ledger.entries(of: .credentials(address)).last { $0.mutation.user == user }?
            .mutation.action.newPassword
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

extension DocumentAction {
    /// The sign-in that begins, whose id is never used for a second one; nil for none.
    var signInBegun: SignInID? { (self as? BeginSignIn)?.id }

    /// The sign-in that the action ends; nil for none.
    var signInEnded: SignInID? { (self as? EndSignIn)?.id }

    /// The password that the action sets; nil for none.
    var newPassword: FieldText? { (self as? SignUp)?.password ?? (self as? SetPassword)?.password }

    /// The beginning of the sign-in that the action ends or renews.
    var beginning: HybridTimestamp? {
        (self as? EndSignIn)?.began ?? (self as? RenewSignIn)?.began
    }

    var signInRenewed: SignInID? { (self as? RenewSignIn)?.id }
}

/// What clients were told of sign-ins.
extension World {
    /// Notes that a client was told that its sign-in is over.
    ///
    /// Nobody who was not told of a sign-in ends it: the request has to name its beginning.
    func noteToldEnd(of mutation: Mutation) {
        guard let signIn = mutation.action.signInEnded ?? mutation.action.signInRenewed else {
            return
        }
        let isTold = ledger.entries(of: mutation.key).contains {
            $0.mutation.action.signInBegun == signIn
                && $0.operation.time == mutation.action.beginning
        }
        if isTold { clients.endedSignIns[signIn] = mutation }
    }

    /// Notes the refusal of a renewal, if it is for what is on the disk.
    func noteRefused(
        _ refusal: Refusal, of mutation: Mutation, in shard: Int, at node: SimNode
    ) throws(Violation) {
        guard let signIn = mutation.action.signInRenewed,
            [.signInEnded, .signInSuperseded, .signInDisplaced].contains(refusal)
        else { return }
        coverage.count("told of an end: \(refusal)")
        // A disk that has not even the beginning did not take the end either, and may never.
        let document = try stored(mutation.key, in: shard, at: node)
        guard let document, document.greatestTime >= mutation.action.beginning ?? .zero else {
            return
        }
        let account = document.credentials?.account(of: mutation.user)
        if account?.signIn(signIn)?.isOpen != true { noteToldEnd(of: mutation) }
    }

    /// Throws if a sign-in goes on although a client was told that it is over.
    ///
    /// A disk that was destroyed may have held what the answer went by.
    func checkEndedSignIns() throws(Violation) {
        guard !nodes.contains(where: { $0.destroyedAt > 0 }) else { return }
        for (signIn, mutation) in clients.endedSignIns.sorted(by: { $0.key < $1.key }) {
            let shard = shard(of: mutation)
            for node in owners(of: shard) {
                let account = try account(of: mutation, in: shard, at: node)
                guard account?.signIn(signIn)?.isOpen == true else { continue }
                throw Violation(
                    invariant: .deleted,
                    explanation:
                        "\(node.name) has the sign-in \(signIn), of which a client was told "
                        + "that it has ended")
            }
        }
    }

    private func account(
        of mutation: Mutation, in shard: Int, at node: SimNode
    ) throws(Violation) -> Credentials.Account? {
        try stored(mutation.key, in: shard, at: node)?.credentials?.account(of: mutation.user)
    }

    func stored(
        _ key: DocumentKey, in shard: Int, at node: SimNode
    ) throws(Violation) -> Document? {
        guard let stored = node.disk.state.shards[shard].documents[key] else { return nil }
        do throws(WireError) {
            return try Document(key, decoding: stored.bytes)
        } catch {
            throw Violation(invariant: .badRecord, explanation: "an account: \(error)")
        }
    }
}
