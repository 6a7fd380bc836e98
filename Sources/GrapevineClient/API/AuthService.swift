import Foundation

/// The signed-in user.
public struct User: Identifiable, Hashable, Sendable {
    /// The id, which never changes.
    public let id: String
    /// The e-mail address.
    public let email: String
}

/// The account of the user: it takes the place of an `AuthManager`.
public struct AuthService: Sendable {
    let engine: Engine

    /// The signed-in user; nil if nobody is.
    public var currentUser: User? {
        get async { await engine.user }
    }

    /// Returns a stream of the signed-in user: the present one, and each one that follows.
    public func users() -> AsyncStream<User?> {
        engine.stream(.user) { engine in engine.user }
    }

    /// Creates an account, and signs in.
    ///
    /// - Parameters:
    ///   - email: the e-mail address.
    ///   - password: 8 to 256 bytes of UTF-8.
    /// - Throws: 400 for a password that is too short, and 409 if the address is in use.
    public func signUp(email: String, password: String) async throws(GrapevineError) {
        do {
            try await enter("/v1/accounts", email, password)
        } catch {
            guard error.reason == "email_in_use" else { throw error }
            // An attempt whose answer was lost may have created the account.
            do {
                try await enter("/v1/sessions", email, password)
            } catch let second {
                throw second.code == 401 ? error : second
            }
        }
    }

    /// Signs in.
    ///
    /// - Throws: 401 for a wrong address or password.
    public func signIn(email: String, password: String) async throws(GrapevineError) {
        try await enter("/v1/sessions", email, password)
    }

    private func enter(
        _ path: String, _ email: String, _ password: String
    ) async throws(GrapevineError) {
        let body: [String: Request.Value] = ["email": .text(email), "password": .text(password)]
        let response = try await engine.bareRequest(
            Request(method: .post, path: path, body: body))
        try await take(response, email: email)
    }

    private func take(_ response: Response, email: String) async throws(GrapevineError) {
        guard let tokens: Tokens = response.object() else { throw .noAnswer }
        try await engine.begin(tokens, email: email)
    }

    /// Signs out, and deletes what this device has stored.
    ///
    /// Without a network, the cluster does not learn of it, and accepts the access token until it
    /// ends.
    ///
    /// - Parameter everywhere: whether all sign-ins of the user end: then the network is needed.
    /// - Throws: 507 if the store cannot be deleted, and the cluster's error if `everywhere`.
    public func signOut(everywhere: Bool = false) async throws(GrapevineError) {
        let path = everywhere ? "/v1/sessions" : "/v1/sessions/current"
        do {
            _ = try await engine.request(
                Request(method: .delete, path: path), attempts: everywhere ? 6 : 1)
        } catch  where everywhere {
            throw error
        } catch {
            // The access token ends by itself.
        }
        try await engine.forget()
    }

    /// Changes the password; all other sign-ins of the user end.
    ///
    /// - Throws: 401 for a wrong password.
    public func changePassword(
        from password: String, to newPassword: String
    ) async throws(GrapevineError) {
        guard let user = await engine.user else { throw .unauthorized }
        let response = try await engine.request(
            Request(
                method: .put, path: "/v1/account/password",
                body: ["password": .text(password), "newPassword": .text(newPassword)]))
        try await take(response, email: user.email)
    }

    /// Changes the e-mail address; all other sign-ins of the user end.
    ///
    /// - Throws: 401 for a wrong password, and 409 if the address is in use.
    public func changeEmail(to email: String, password: String) async throws(GrapevineError) {
        let response = try await engine.request(
            Request(
                method: .put, path: "/v1/account/email",
                body: ["password": .text(password), "email": .text(email)]))
        try await take(response, email: email)
    }

    /// Deletes the account, and what this device has stored.
    ///
    /// - Throws: 401 for a wrong password.
    public func deleteAccount(password: String) async throws(GrapevineError) {
        _ = try await engine.request(
            Request(
                method: .post, path: "/v1/account/delete", body: ["password": .text(password)]))
        try await engine.forget()
    }
}

extension Engine {
    /// The signed-in user.
    var user: User? {
        core.map { User(id: $0.user, email: $0.machines.signIn.email) }
    }
}
