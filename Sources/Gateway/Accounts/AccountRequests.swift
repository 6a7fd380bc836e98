import LineProtocol
import Wire

/// An account as the cluster stores it.
struct StoredAccount: Sendable {
    let user: UserID
    /// The digest of the e-mail address under which it is stored.
    let address: String
    let email: String
    /// The hash of the password.
    let password: String
    let createdAt: String
    let isDisabled: Bool
    /// The stamp of the last sign-in or renewal; 0 where there is none.
    let signedInStamp: UInt64

    init?(_ fields: ReplyFields) {
        guard let user = fields["user"].flatMap(UserID.init), let email = fields["email"],
            let password = fields["password"], let createdAt = fields["createdAt"],
            let address = fields["address"]
        else { return nil }
        self.user = user
        self.address = address
        self.email = email
        self.password = password
        self.createdAt = createdAt
        isDisabled = fields.isTrue("disabled")
        signedInStamp = fields["stamp"].flatMap { UInt64($0) } ?? 0
    }
}

/// The tokens with which a device goes on after it has signed in.
struct SignedInTokens: Sendable {
    let user: UserID
    let accessToken: String
    let refreshToken: String
}

/// What users do with their accounts.
///
/// A change of several steps may be repeated after any of them. What cannot be undone comes last,
/// and access tokens are revoked also where it is not known whether a step was made.
extension Accounts {
    func signUp(
        _ email: String, _ password: String, from source: AttemptSource
    ) async throws(LineError) -> SignedInTokens {
        guard isSignUpOpen else {
            throw LineError(403, "Sign-up is closed here; ask the operator for an account")
        }
        let address = try EmailAddress(email)
        try Accounts.check(password)
        try begin([.signUps(from: source.address)])
        try await awaitSigner()
        guard try await accounts(of: email).isEmpty else { throw .emailInUse }
        let hash = try await hash(password, for: source)
        let user = UserID(checked: random("u"))
        try await add(user, at: address, hash)
        return try await begin(user, at: address.digest, judgedBy: hash, from: source)
    }

    func signIn(
        _ email: String, _ password: String, from source: AttemptSource
    ) async throws(LineError) -> SignedInTokens {
        let digests = try EmailAddress.storedDigests(of: email)
        // A device knows its account by the digest under which that is stored.
        let known = source.signIn.map(\.address).flatMap { digests.contains($0) ? $0 : nil }
        let found = try await guess(of: known ?? digests[0], from: source) {
            () async throws(LineError) -> StoredAccount? in
            try await awaitSigner()
            let accounts = try await accounts(of: email)
            return try await account(among: accounts, with: password, from: source)
        }
        guard let found else { throw LineError(401, "Wrong e-mail address or password") }
        return try await begin(
            found.user, at: found.address, judgedBy: found.password, from: source)
    }

    /// Replaces a refresh token, which is used once.
    ///
    /// - Parameter request: the client's own name for its request, by which a repetition is
    ///   recognised; nil where it gives none.
    func renew(
        _ text: String, as request: String?, from source: AttemptSource
    ) async throws(LineError) -> SignedInTokens {
        try begin([.renewals(from: source.address)])
        try await awaitSigner()
        let token = try refreshToken(text)
        // The end of the sign-in may be known, and not have reached the account.
        if isRevoked(token) { try await end(token) }
        // A repetition was perhaps answered before a newer key was known.
        let secrets =
            request.map { request in derivingKeys.map { token.nextSecret(for: request, by: $0) } }
            ?? [randomSecret()]
        var refusal = LineError.signedOut
        for secret in secrets {
            do throws(LineError) {
                let next = try await renew(token, to: Base64.encode(secret), as: request)
                end(.renewals(from: source.address))
                return try tokens(next)
            } catch {
                guard error.code == 401 || error.code == 403 else {
                    throw error.code == 404 ? .signedOut : error
                }
                // A disabled account has no sign-in that goes on.
                refusal = error.code == 401 ? error : .signedOut
            }
        }
        // Whoever used it before may have stolen it, so that neither goes on. The access tokens of
        // a sign-in that has ended are refused, even if the node died that ended it.
        try await end(token)
        throw refusal
    }

    private func end(_ token: RefreshToken) async throws(LineError) {
        let signIn = SignInName(address: token.address, id: token.signIn, stamp: token.began)
        try await end(signIn, of: token.user)
    }

    /// Ends a sign-in; one that has ended or has not arrived yet does no harm.
    func end(_ signIn: SignInName, of user: UserID) async throws(LineError) {
        let line = "SIGNIN END \(signIn.address) \(user) \(signIn.id) began=\(signIn.stamp)"
        try await change(line, revoking: signIn.id, upTo: stamp, mayBeMissing: true)
        await removeDevices(of: user, registeredBy: signIn.id)
    }

    func endAll(of user: UserID, at address: String) async throws(LineError) {
        let account = try await accounts(at: address).first { $0.user == user }
        let line = "SIGNIN END \(address) \(user)"
        try await change(
            line, revoking: user.text, upTo: account?.signedInStamp ?? 0, mayBeMissing: true)
        await removeDevices(of: user)
    }

    func change(
        _ password: String, to newPassword: String, of user: UserID, at address: String,
        from source: AttemptSource
    ) async throws(LineError) -> SignedInTokens {
        try Accounts.check(newPassword)
        let account = try await account(of: user, at: address, with: password, from: source)
        let hash = try await hash(newPassword, for: source)
        let line = "ACCOUNT PASSWORD \(address) \(user) password=\(spelledValue(hash))"
        try await change(line, revoking: user.text, upTo: account.signedInStamp)
        await removeDevices(of: user)
        return try await begin(user, at: address, judgedBy: hash, from: source)
    }

    /// Has a user sign in with another address from here on.
    func changeEmail(
        to text: String, of user: UserID, at address: String, with password: String,
        from source: AttemptSource
    ) async throws(LineError) -> SignedInTokens {
        let email = try EmailAddress(text)
        let account = try await account(of: user, at: address, with: password, from: source)
        guard email.digest != address else {
            throw LineError(409, "The account has this e-mail address already")
        }
        // First the new one: if the node dies in between, the user has both, and asks again.
        // An account that an earlier version stored under another spelling moves, too.
        let holder = try await accounts(of: text).first { $0.address != address }
        guard holder.map({ $0.address == email.digest }) ?? true else { throw .emailInUse }
        let password = account.password
        if holder?.user != user {
            try await add(user, at: email, password)
        } else if holder?.password != password {
            let value = spelledValue(password)
            _ = try await write("ACCOUNT PASSWORD \(email.digest) \(user) password=\(value)").get()
        }
        try await showInProfile(email, of: user)
        try await remove(account, at: address)
        await removeDevices(of: user)
        return try await begin(user, at: email.digest, judgedBy: password, from: source)
    }

    func delete(
        _ user: UserID, at address: String, with password: String, from source: AttemptSource
    ) async throws(LineError) {
        let account = try await account(of: user, at: address, with: password, from: source)
        // The user's messages stay, as after leaving; notifications about them are withdrawn.
        _ = try await write("PROFILE \(user) name= email= photo=").get()
        for (_, fields) in try await ask("DEVICES \(user)").get().lines {
            if let id = fields["id"] { _ = try await write("DEVICE REMOVE \(user) \(id)").get() }
        }
        let items = try await ask("ACTIONS \(user)").get()
        guard items.status?.isTrue("partial") != true else {
            throw LineError(503, "Some nodes did not say which items there are; try again")
        }
        for (_, fields) in items.lines {
            if let id = fields["id"] { _ = try await write("ACTION DELETE \(user) \(id)").get() }
        }
        try await remove(account, at: address)
        // What they uploaded and did not send goes with this, too.
        _ = try await write("REVOKE \(user)").get()
    }

    /// Returns the accounts that addresses find.
    ///
    /// - Throws: 404 for one that finds none, or 429 for a user who looks many addresses up.
    func find(_ emails: [String], for user: UserID) async throws(LineError) -> [UserID] {
        // All at once: a request that is refused in between would be so again and again.
        try begin(Array(repeating: .lookUps(by: user), count: emails.count))
        var found: [UserID] = []
        for email in emails {
            guard let first = try await accounts(of: email).first else {
                throw LineError(
                    404,
                    emails.count == 1
                        ? "No account has this e-mail address"
                        : "No account has the e-mail address \(email)")
            }
            found.append(first.user)
        }
        return found
    }

    /// Returns the account of a user who is signed in.
    func account(of user: UserID, at address: String) async throws(LineError) -> StoredAccount {
        guard let account = try await accounts(at: address).first(where: { $0.user == user })
        else { throw LineError(404, "Account not found") }
        guard !account.isDisabled else { throw LineError(403, "This account is disabled") }
        return account
    }

    // MARK: Steps

    private static func check(_ password: String) throws(LineError) {
        let allowed = passwordBytes
        guard allowed.contains(password.utf8.count) else {
            throw LineError(
                400, "A password has \(allowed.lowerBound) to \(allowed.upperBound) bytes")
        }
    }

    /// Returns the accounts of an e-mail address, under whichever digest they are stored.
    ///
    /// One that an earlier version stored under just this spelling is first: another one may have
    /// been signed up since with the spelling by which addresses are compared now.
    private func accounts(of email: String) async throws(LineError) -> [StoredAccount] {
        var accounts: [StoredAccount] = []
        for digest in try EmailAddress.storedDigests(of: email).reversed() {
            accounts += try await self.accounts(at: digest)
        }
        return accounts
    }

    private func accounts(at address: String) async throws(LineError) -> [StoredAccount] {
        try await ask("ACCOUNTS \(address)").get().lines.compactMap { StoredAccount($0.fields) }
    }

    /// Returns the account of a user who shows that they know its password.
    ///
    /// - Throws: 403 for a wrong one: the client is signed in.
    private func account(
        of user: UserID, at address: String, with password: String, from source: AttemptSource
    ) async throws(LineError) -> StoredAccount {
        let found = try await guess(of: address, from: source) {
            () async throws(LineError) -> StoredAccount? in
            let account = try await account(of: user, at: address)
            return try await self.account(among: [account], with: password, from: source)
        }
        guard let found else { throw LineError(403, "Wrong password") }
        return found
    }

    /// Adds an account, unless another one is first.
    ///
    /// Two nodes that are asked at the same moment both accept. When the write is answered, all
    /// owners that are alive have both, and both nodes see which is first.
    private func add(_ user: UserID, at email: EmailAddress, _ hash: String) async throws(LineError)
    {
        let (typed, hash) = (spelledValue(email.text), spelledValue(hash))
        _ = try await write("ACCOUNT ADD \(email.digest) \(user) email=\(typed) password=\(hash)")
            .get()
        guard try await accounts(at: email.digest).first?.user != user else { return }
        _ = try await write("ACCOUNT REMOVE \(email.digest) \(user)").get()
        throw .emailInUse
    }

    /// Replaces the e-mail address of a profile, where it has one.
    private func showInProfile(_ email: EmailAddress, of user: UserID) async throws(LineError) {
        let profile: ReplyFields?
        do throws(LineError) {
            profile = try await ask("PROFILE \(user)").get().lines.first?.fields
        } catch {
            guard error.code == 404 else { throw error }
            return
        }
        guard let shown = profile?["email"], !shown.isEmpty else { return }
        _ = try await write("PROFILE \(user) email=\(spelledValue(email.text))").get()
    }

    private func remove(_ account: StoredAccount, at address: String) async throws(LineError) {
        let line = "ACCOUNT REMOVE \(address) \(account.user)"
        try await change(
            line, revoking: account.user.text, upTo: account.signedInStamp, mayBeMissing: true)
    }

    /// - Parameter hash: that of the password which the user has shown to know.
    private func begin(
        _ user: UserID, at address: String, judgedBy hash: String, from source: AttemptSource
    ) async throws(LineError) -> SignedInTokens {
        try begin([.signIns(of: address), .signIns(from: source.address)])
        let (id, secret) = (random("s"), Base64.encode(randomSecret()))
        let digest = RefreshToken.digest(of: secret)
        let stamp = try await stamp(
            "SIGNIN ADD \(address) \(user) \(id) secret=\(digest) "
                + "password=\(spelledValue(hash))")
        return try tokens(
            RefreshToken(
                address: address, user: user, signIn: id, secret: secret, began: stamp,
                stamp: stamp))
    }

    private func renew(
        _ token: RefreshToken, to secret: String, as request: String?
    ) async throws(LineError) -> RefreshToken {
        let name = request.map { " request=\(RefreshToken.digest(of: $0))" } ?? ""
        let line =
            "SIGNIN RENEW \(token.address) \(token.user) \(token.signIn) "
            + "secret=\(RefreshToken.digest(of: secret)) replaced=\(token.digest) "
            + "issued=\(token.stamp) began=\(token.began)\(name)"
        let stamp = try await stamp(line)
        // Two nodes that are asked at the same moment both accept. When the write is answered, all
        // owners that are alive have both renewals, and the same line is refused for the lesser.
        _ = try await write(line).get()
        return RefreshToken(
            address: token.address, user: token.user, signIn: token.signIn, secret: secret,
            began: token.began, stamp: stamp)
    }

    /// Changes an account and revokes access tokens up to the change, or up to now where it is not
    /// known whether the change was made.
    ///
    /// Those that were issued up to now are revoked before it, too: if this node dies in between,
    /// no token outlives the change. A client whose token is revoked and whose sign-in goes on
    /// renews it.
    ///
    /// - Parameter issued: the stamp of the last sign-in or renewal; 0 where there is none.
    private func change(
        _ line: String, revoking name: String, upTo issued: UInt64, mayBeMissing: Bool = false
    ) async throws(LineError) {
        if issued > 0 { try await revoke(name, through: issued) }
        do throws(LineError) {
            try await revoke(name, through: try await stamp(line))
        } catch {
            let isMissing = error.code == 404 && mayBeMissing
            guard isMissing || error.code >= 500 else { throw error }
            try await revoke(name, through: stamp)
            guard isMissing else { throw error }
        }
    }

    private func revoke(_ name: String, through stamp: UInt64) async throws(LineError) {
        _ = try await write("REVOKE \(name) through=\(stamp)").get()
    }

    /// Has the node change an account, and returns the stamp of the change.
    private func stamp(_ line: String) async throws(LineError) -> UInt64 {
        let reply = try await write(line).get()
        guard let stamp = reply.status?["stamp"].flatMap({ UInt64($0) }) else {
            throw LineError(500, "A change of an account has no stamp")
        }
        return stamp
    }
}

extension LineError {
    static let emailInUse = LineError(409, "This e-mail address is in use")
}
