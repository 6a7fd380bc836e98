import Admin
import CRDT
import Chat
import LineProtocol
import Node
import Wire

/// The access token and the refresh token that a device gets at a sign-in or a renewal.
struct SignedInTokens: Sendable {
    let user: UserID
    let accessToken: String
    let refreshToken: String
}

/// The operations of users on their accounts: sign-up, sign-in, renewal, changes and deletion.
///
/// An operation of several writes may fail after any of them. The irreversible write, such as the
/// removal of the account under the old e-mail address, comes after the writes that prepare it. The
/// client can therefore repeat an operation that has failed before the irreversible write.
///
/// If this node cannot know whether the irreversible write was executed, the operation fails, and
/// the node nevertheless revokes the access tokens of all the user's sign-ins so far, or of the one
/// sign-in that the write was to end. To repeat the operation, the user has to sign in again.
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
        // The device's earlier sign-in contains the digest under which the account is stored.
        let known = source.signIn.map(\.address).flatMap { digests.contains($0) ? $0 : nil }
        let found = try await guess(of: (known ?? digests[0]).text, from: source) {
            () async throws(LineError) -> AccountView? in
            try await awaitSigner()
            let accounts = try await accounts(of: email)
            return try await account(among: accounts, with: password, from: source)
        }
        guard let found else { throw LineError(401, "Wrong e-mail address or password") }
        return try await begin(
            found.user, at: found.address, judgedBy: found.password, from: source)
    }

    /// Exchanges a single-use refresh token for a new access token and a new refresh token.
    ///
    /// - Parameter request: the idempotency key of the client's request; nil if the client gives
    ///   none.
    func renew(
        _ text: String, as request: String?, from source: AttemptSource
    ) async throws(LineError) -> SignedInTokens {
        try begin([.renewals(from: source.address)])
        try await awaitSigner()
        let token = try refreshToken(text)
        // This node may know that the sign-in has ended before the stored account shows it.
        if isRevoked(token) { try await end(token) }
        // If this request is a repetition, the node that executed it first may have derived the
        // next refresh token from the second-newest signing key.
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
                // No sign-in of a disabled account (403) can be renewed.
                refusal = error.code == 401 ? error : .signedOut
            }
        }
        // The refresh token was used before, perhaps by a thief, so the sign-in ends for everybody
        // who has a token of it. Its access tokens are revoked even if a node died while it ended
        // the sign-in.
        try await end(token)
        throw refusal
    }

    private func end(_ token: RefreshToken) async throws(LineError) {
        let signIn = DeviceSignIn(
            address: token.address, id: token.signIn, began: token.began)
        try await end(signIn, of: token.user)
    }

    /// Ends a device's sign-in; succeeds even if the sign-in has already ended, or is not known to
    /// this node yet.
    func end(_ signIn: DeviceSignIn, of user: UserID) async throws(LineError) {
        let end = Mutation(
            EndSignIn(signIn.id, began: signIn.began), at: signIn.address, of: user)
        try await change(
            end, revoking: UserID(checked: signIn.id.text), upTo: now, mayBeMissing: true)
        await removeDevices(of: user, registeredBy: signIn.id)
    }

    func endAll(of user: UserID, at address: AddressID) async throws(LineError) {
        let account = try await accounts(at: address).first { $0.user == user }
        try await change(
            Mutation(EndAllSignIns(), at: address, of: user), revoking: user,
            upTo: account?.signedInAt ?? .zero, mayBeMissing: true)
        await removeDevices(of: user)
    }

    func change(
        _ password: String, to newPassword: String, of user: UserID, at address: AddressID,
        from source: AttemptSource
    ) async throws(LineError) -> SignedInTokens {
        try Accounts.check(newPassword)
        let account = try await account(of: user, at: address, with: password, from: source)
        let hash = try await hash(newPassword, for: source)
        try await change(
            Mutation(SetPassword(FieldText(hash)), at: address, of: user), revoking: user,
            upTo: account.signedInAt)
        await removeDevices(of: user)
        return try await begin(user, at: address, judgedBy: hash, from: source)
    }

    /// Replaces the e-mail address with which a user signs in.
    func changeEmail(
        to text: String, of user: UserID, at address: AddressID, with password: String,
        from source: AttemptSource
    ) async throws(LineError) -> SignedInTokens {
        let email = try EmailAddress(text)
        let account = try await account(of: user, at: address, with: password, from: source)
        guard email.digest != address else {
            throw LineError(409, "The account has this e-mail address already")
        }
        // The new address is stored first, so that the user can sign in with both addresses, and
        // can repeat the request, if the node dies before it removes the old address. An account
        // that an earlier version of this program stored under another digest of the same address
        // moves in the same way.
        let holder = try await accounts(of: text).first { $0.address != address }
        guard holder.map({ $0.address == email.digest }) ?? true else { throw .emailInUse }
        let password = account.password
        if holder?.user != user {
            try await add(user, at: email, password)
        } else if holder?.password != password {
            try await write(
                Mutation(SetPassword(FieldText(password)), at: email.digest, of: user))
        }
        try await showInProfile(email, of: user)
        try await remove(account, at: address)
        await removeDevices(of: user)
        return try await begin(user, at: email.digest, judgedBy: password, from: source)
    }

    func delete(
        _ user: UserID, at address: AddressID, with password: String, from source: AttemptSource
    ) async throws(LineError) {
        let account = try await account(of: user, at: address, with: password, from: source)
        // The user's messages stay, as after leaving a chat; notifications about them are
        // withdrawn.
        let none = Clearable<FieldText>(nil)
        try await write(
            Mutation(SetProfile(Profile.Edit(name: none, email: none, photo: none)), by: user))
        for device in try await devices(of: user) {
            try await write(Mutation(RemoveDevice(), on: device.id, by: user))
        }
        let items = try await find(ItemsQuery(), of: user)
        guard !items.isPartial else {
            throw LineError(
                503,
                "The account is not deleted: not all its action items could be listed; try again"
            )
        }
        for item in items.found {
            try await write(Mutation(DeleteItem(), on: item.id, by: user))
        }
        try await remove(account, at: address)
        // This revocation also deletes the files that the user uploaded and did not send.
        try await write(Mutation(.revoke(user, through: SigningTable.deletionNow)))
    }

    /// Returns the users whose accounts have these e-mail addresses, in the order of the addresses.
    ///
    /// - Throws: 404 if an address has no account; 429 if the user looks up too many addresses.
    func find(_ emails: [String], for user: UserID) async throws(LineError) -> [UserID] {
        // All look-ups are counted at once, because a request that is refused in the middle would
        // be refused at each repetition.
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

    /// Returns the account of a signed-in user; throws if it is missing (404) or disabled (403).
    func account(of user: UserID, at address: AddressID) async throws(LineError) -> AccountView {
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

    /// Returns the accounts with an e-mail address, which this version of the program or an earlier
    /// one has stored, perhaps under different digests of the address.
    ///
    /// An account under the digest that earlier versions used comes first, because another user may
    /// have signed up later under the digest that the present version uses.
    private func accounts(of email: String) async throws(LineError) -> [AccountView] {
        var accounts: [AccountView] = []
        for digest in try EmailAddress.storedDigests(of: email).reversed() {
            accounts += try await self.accounts(at: digest)
        }
        return accounts
    }

    private func accounts(at address: AddressID) async throws(LineError) -> [AccountView] {
        try await find(AccountsQuery(address)).found
    }

    /// Returns the account of a user after checking the user's password.
    ///
    /// - Throws: 403 for a wrong password; not 401, because the client is signed in.
    private func account(
        of user: UserID, at address: AddressID, with password: String, from source: AttemptSource
    ) async throws(LineError) -> AccountView {
        let found = try await guess(of: address.text, from: source) {
            () async throws(LineError) -> AccountView? in
            let account = try await account(of: user, at: address)
            return try await self.account(among: [account], with: password, from: source)
        }
        guard let found else { throw LineError(403, "Wrong password") }
        return found
    }

    /// Adds an account, unless another account with the same e-mail address was added first.
    ///
    /// Two nodes that handle sign-ups with one e-mail address at the same time both write an
    /// account. Once the writes are acknowledged, all live owners of the shard store both accounts,
    /// so both nodes see which account came first, and the other account is removed.
    private func add(_ user: UserID, at email: EmailAddress, _ hash: String) async throws(LineError)
    {
        let signUp = SignUp(
            email: FieldText(email.text), password: FieldText(hash))
        try await write(Mutation(signUp, at: email.digest, of: user))
        guard try await accounts(at: email.digest).first?.user != user else { return }
        try await write(Mutation(RemoveAccount(), at: email.digest, of: user))
        throw .emailInUse
    }

    /// Replaces the e-mail address in a user's profile, if the profile shows one.
    private func showInProfile(_ email: EmailAddress, of user: UserID) async throws(LineError) {
        do throws(LineError) {
            let profile = try await find(ProfileQuery(of: user), of: user).found
            guard let shown = profile.email, !shown.isEmpty else { return }
        } catch {
            guard error.code == 404 else { throw error }
            return
        }
        try await write(
            Mutation(
                SetProfile(
                    Profile.Edit(name: nil, email: Clearable(FieldText(email.text)), photo: nil)),
                by: user))
    }

    private func remove(_ account: AccountView, at address: AddressID) async throws(LineError) {
        try await change(
            Mutation(RemoveAccount(), at: address, of: account.user), revoking: account.user,
            upTo: account.signedInAt, mayBeMissing: true)
    }

    /// Begins a device's sign-in to an account, and returns an access token and a refresh token.
    ///
    /// - Parameter hash: the hash that the given password matched; the sign-in is refused if the
    ///   account has another password by now.
    private func begin(
        _ user: UserID, at address: AddressID, judgedBy hash: String, from source: AttemptSource
    ) async throws(LineError) -> SignedInTokens {
        try begin([.signIns(of: address.text), .signIns(from: source.address)])
        let (id, secret) = (SignInID(checked: random("s")), Base64.encode(randomSecret()))
        let begin = BeginSignIn(
            id, RefreshToken.digest(of: secret), judgedBy: FieldText(hash))
        let stamp = try await stamp(of: Mutation(begin, at: address, of: user))
        return try tokens(
            RefreshToken(
                address: address, user: user, signIn: id, secret: secret, began: stamp,
                stamp: stamp))
    }

    private func renew(
        _ token: RefreshToken, to secret: String, as request: String?
    ) async throws(LineError) -> RefreshToken {
        let renewal = Credentials.Renewal(
            secret: RefreshToken.digest(of: secret), replaced: token.digest,
            request: request.map { RefreshToken.digest(of: $0) })
        let renew = Mutation(
            RenewSignIn(token.signIn, renewal, issued: token.stamp, began: token.began),
            at: token.address, of: token.user)
        let stamp = try await stamp(of: renew)
        // If two nodes receive one refresh token at the same moment, both accept it at first. Once
        // the first write is acknowledged, all live owners store both renewals, so that the same
        // write, if repeated, is refused for one of the two renewals.
        try await write(renew)
        return RefreshToken(
            address: token.address, user: token.user, signIn: token.signIn, secret: secret,
            began: token.began, stamp: stamp)
    }

    /// Changes an account, and revokes access tokens before and after the change.
    ///
    /// Before the change, the tokens issued up to `issued` are revoked, so that none stays valid if
    /// this node dies after the change. After the change, the tokens issued up to the time of the
    /// change are revoked, or up to now if that time is unknown. A client whose access token is
    /// revoked, and whose sign-in is still valid, uses its refresh token to get a new access token.
    ///
    /// - Parameters:
    ///   - name: the ID of the user, or of the sign-in, whose access tokens are revoked.
    ///   - issued: the time up to which access tokens are revoked before the change; zero for none.
    private func change(
        _ mutation: Mutation, revoking name: UserID, upTo issued: HybridTimestamp,
        mayBeMissing: Bool = false
    ) async throws(LineError) {
        if issued > .zero { try await revoke(name, through: issued) }
        do throws(LineError) {
            try await revoke(name, through: try await stamp(of: mutation))
        } catch {
            let isMissing = error.code == 404 && mayBeMissing
            guard isMissing || error.code >= 500 else { throw error }
            try await revoke(name, through: now)
            guard isMissing else { throw error }
        }
    }

    private func revoke(_ name: UserID, through time: HybridTimestamp) async throws(LineError) {
        try await write(Mutation(.revoke(name, through: time)))
    }

    /// Writes a change of an account and returns the change's hybrid timestamp.
    private func stamp(of mutation: Mutation) async throws(LineError) -> HybridTimestamp {
        guard case .written(let acknowledgement) = try await write(mutation),
            let stamp = acknowledgement.receipt.accountStamp
        else { throw LineError(500, "The node changed an account and returned no time of it") }
        return HybridTimestamp(bits: stamp)
    }
}

extension LineError {
    static let emailInUse = LineError(409, "This e-mail address is in use")
}
