import LineProtocol
import Wire

/// An account as the cluster stores it.
struct StoredAccount: Sendable {
    let user: UserID
    let email: String
    /// The hash of the password.
    let password: String
    let createdAt: String
    let isDisabled: Bool

    init?(_ fields: ReplyFields) {
        guard let user = fields["user"].flatMap(UserID.init), let email = fields["email"],
            let password = fields["password"], let createdAt = fields["createdAt"]
        else { return nil }
        self.user = user
        self.email = email
        self.password = password
        self.createdAt = createdAt
        isDisabled = fields.isTrue("disabled")
    }
}

/// The tokens with which a device goes on after it has signed in.
struct SignedInTokens: Sendable {
    let user: UserID
    let accessToken: String
    let refreshToken: String
}

/// What users do with their accounts.
extension Accounts {
    func signUp(_ email: String, _ password: String, from source: String) async throws(LineError)
        -> SignedInTokens
    {
        let email = try EmailAddress(email)
        try Accounts.check(password)
        try checkPause(["up " + source])
        try await awaitSigner()
        guard try await accounts(at: email.digest).isEmpty else { throw .emailInUse }
        noteSignUp(of: source)
        let hash = try await hash(password)
        guard let user = UserID(random("u")) else { preconditionFailure("base64url is a name") }
        try await add(user, at: email, hash)
        return try await begin(user, at: email.digest)
    }

    func signIn(_ email: String, _ password: String, from source: String) async throws(LineError)
        -> SignedInTokens
    {
        let email = try EmailAddress(email)
        try checkPause([email.digest, source])
        try await awaitSigner()
        let accounts = try await accounts(at: email.digest)
        guard let account = try await account(among: accounts, with: password) else {
            noteFailure(email.digest, of: source)
            throw LineError(401, "Wrong e-mail address or password")
        }
        noteSuccess(email.digest)
        return try await begin(account.user, at: email.digest)
    }

    /// Replaces a refresh token, which is used once.
    ///
    /// - Parameter request: the client's own name for its request, by which a repetition is
    ///   recognised; nil where it gives none.
    func renew(_ text: String, as request: String?) async throws(LineError) -> SignedInTokens {
        let token = try RefreshToken(text)
        try await awaitSigner()
        // A repetition was perhaps answered before a newer key was known.
        let secrets =
            request.map { request in derivingKeys.map { token.nextSecret(for: request, by: $0) } }
            ?? [randomSecret()]
        var refusal = LineError.signedOut
        for secret in secrets {
            let next = token.next(secret)
            do throws(LineError) {
                let stamp = try await renew(token, to: next, as: request)
                return try tokens(next, stamp)
            } catch {
                guard error.code == 401 else { throw error.code == 404 ? .signedOut : error }
                refusal = error
            }
        }
        // Somebody has used it before: it may be stolen, so that neither goes on.
        try await end(
            SignInName(address: token.address, id: token.signIn, stamp: 1), of: token.user)
        throw refusal
    }

    /// Ends a sign-in; one that has ended or is not there any more does no harm.
    func end(_ signIn: SignInName, of user: UserID) async throws(LineError) {
        let line = "SIGNIN END \(signIn.address) \(user) \(signIn.id)"
        guard let stamp = try await stampUnlessMissing(line) else { return }
        try await revoke(signIn.id, through: stamp)
    }

    func endAll(of user: UserID, at address: String) async throws(LineError) {
        guard let stamp = try await stampUnlessMissing("SIGNIN END \(address) \(user)") else {
            return
        }
        try await revoke(user.text, through: stamp)
    }

    func change(
        _ password: String, to newPassword: String, of user: UserID, at address: String,
        from source: String
    ) async throws(LineError) -> SignedInTokens {
        try Accounts.check(newPassword)
        _ = try await account(of: user, at: address, with: password, from: source)
        let hash = try await hash(newPassword)
        let line = "ACCOUNT PASSWORD \(address) \(user) password=\(Accounts.quoted(hash))"
        try await revoke(user.text, through: try await stamp(line))
        return try await begin(user, at: address)
    }

    /// Has a user sign in with another address from here on.
    func changeEmail(
        to email: String, of user: UserID, at address: String, with password: String,
        from source: String
    ) async throws(LineError) -> SignedInTokens {
        let email = try EmailAddress(email)
        let account = try await account(of: user, at: address, with: password, from: source)
        guard email.digest != address else { return try await begin(user, at: address) }
        // First the new one: if the node dies in between, the user has both, and asks again.
        try await add(user, at: email, account.password)
        try await remove(user, at: address)
        return try await begin(user, at: email.digest)
    }

    func delete(
        _ user: UserID, at address: String, with password: String, from source: String
    ) async throws(LineError) {
        _ = try await account(of: user, at: address, with: password, from: source)
        try await remove(user, at: address)
        // Their messages stay, as those of anybody who leaves; what tells of them does not.
        _ = try await write("PROFILE \(user) name= email= photo=").get()
        for (_, fields) in try await ask("DEVICES \(user)").get().lines {
            if let id = fields["id"] { _ = await write("DEVICE REMOVE \(user) \(id)") }
        }
    }

    /// Returns the account that an address finds.
    ///
    /// - Throws: 404.
    func find(_ email: String) async throws(LineError) -> UserID {
        guard let first = try await accounts(at: EmailAddress(email).digest).first else {
            throw LineError(404, "No account has this e-mail address")
        }
        return first.user
    }

    /// Returns the account of a user who is signed in.
    func account(of user: UserID, at address: String) async throws(LineError) -> StoredAccount {
        guard let account = try await accounts(at: address).first(where: { $0.user == user })
        else { throw LineError(404, "Account not found") }
        return account
    }

    // MARK: Steps

    private static func check(_ password: String) throws(LineError) {
        guard passwordBytes.contains(password.utf8.count) else {
            throw LineError(
                400,
                "A password has \(passwordBytes.lowerBound) to \(passwordBytes.upperBound) bytes")
        }
    }

    private static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.appendValue(text)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func accounts(at address: String) async throws(LineError) -> [StoredAccount] {
        try await ask("ACCOUNTS \(address)").get().lines.compactMap { StoredAccount($0.fields) }
    }

    /// Returns the account of a user who shows that they know its password.
    ///
    /// - Throws: 403 for a wrong one: the client is signed in.
    private func account(
        of user: UserID, at address: String, with password: String, from source: String
    ) async throws(LineError) -> StoredAccount {
        try checkPause([user.text, source])
        let account = try await account(of: user, at: address)
        guard try await self.account(among: [account], with: password) != nil else {
            noteFailure(user.text, of: source)
            throw LineError(403, "Wrong password")
        }
        noteSuccess(user.text)
        return account
    }

    private func add(_ user: UserID, at email: EmailAddress, _ hash: String) async throws(LineError)
    {
        let (typed, hash) = (Accounts.quoted(email.text), Accounts.quoted(hash))
        _ = try await write("ACCOUNT ADD \(email.digest) \(user) email=\(typed) password=\(hash)")
            .get()
    }

    private func remove(_ user: UserID, at address: String) async throws(LineError) {
        let line = "ACCOUNT REMOVE \(address) \(user)"
        guard let stamp = try await stampUnlessMissing(line) else { return }
        try await revoke(user.text, through: stamp)
    }

    private func begin(_ user: UserID, at address: String) async throws(LineError)
        -> SignedInTokens
    {
        let token = RefreshToken(
            address: address, user: user, signIn: random("s"),
            secret: Base64.encode(randomSecret()))
        let line = "SIGNIN ADD \(address) \(user) \(token.signIn) secret=\(token.digest)"
        return try tokens(token, try await stamp(line))
    }

    private func renew(
        _ token: RefreshToken, to next: RefreshToken, as request: String?
    ) async throws(LineError) -> UInt64 {
        let name = request.map { " request=\(RefreshToken.digest(of: $0))" } ?? ""
        return try await stamp(
            "SIGNIN RENEW \(token.address) \(token.user) \(token.signIn) secret=\(next.digest) "
                + "replaced=\(token.digest)\(name)")
    }

    private func tokens(_ token: RefreshToken, _ stamp: UInt64) throws(LineError)
        -> SignedInTokens
    {
        SignedInTokens(
            user: token.user, accessToken: try accessToken(of: token, stamp: stamp),
            refreshToken: token.text)
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

    private func stampUnlessMissing(_ line: String) async throws(LineError) -> UInt64? {
        do throws(LineError) {
            return try await stamp(line)
        } catch {
            guard error.code == 404 else { throw error }
            return nil
        }
    }
}

extension LineError {
    static let emailInUse = LineError(409, "This e-mail address is in use")
}
