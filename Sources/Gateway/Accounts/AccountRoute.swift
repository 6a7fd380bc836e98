import Admin
import CRDT
import Chat
import HTTP
import JSON
import LineProtocol
import Wire

/// A kind of HTTP request about an account: its method, its path, and the keys of its JSON body.
enum AccountRoute: String, CaseIterable, Sendable {
    case signUp = "POST accounts"
    case signIn = "POST sessions"
    case renew = "POST sessions/refresh"
    case signOut = "DELETE sessions/current"
    case signOutEverywhere = "DELETE sessions"
    case show = "GET account"
    case setPassword = "PUT account/password"
    case setEmail = "PUT account/email"
    case delete = "POST account/delete"

    struct Key: Sendable {
        let name: String
        var isRequired = true
    }

    /// - Parameter path: the segments of the request's URL path, of which the first is `v1`.
    init?(_ method: Method, _ path: [String]) {
        guard path.first == "v1" else { return nil }
        let method = method == .head ? .get : method
        let name = "\(method.rawValue) \(path.dropFirst().joined(separator: "/"))"
        self.init(rawValue: name)
    }

    /// Returns the HTTP methods of the account requests with this URL path; none for any other
    /// path.
    static func methods(of path: [String]) -> [Method] {
        [Method.get, .post, .put, .delete].filter { AccountRoute($0, path) != nil }
    }

    var method: String { String(rawValue.prefix { $0 != " " }) }
    /// The URL path as the OpenAPI description shows it, such as `/v1/account/password`.
    var path: String { "/v1/" + rawValue.drop { $0 != " " }.dropFirst() }

    /// Whether only a signed-in user may make this request about an account.
    var needsSignIn: Bool {
        switch self {
        case .signUp, .signIn, .renew: false
        case .signOut, .signOutEverywhere, .show, .setPassword, .setEmail, .delete: true
        }
    }

    /// Whether this node executes the account request only once the replicas that it reads contain
    /// all writes that the client's session token names.
    ///
    /// A sign-out does not wait, because it returns no data, and because any node can execute it,
    /// even one that cannot obtain the writes that the client has seen on other nodes.
    var waitsForToken: Bool {
        switch self {
        case .signOut, .signOutEverywhere: false
        case .signUp, .signIn, .renew, .show, .setPassword, .setEmail, .delete: true
        }
    }

    /// Whether the response body contains access and refresh tokens.
    var answersTokens: Bool {
        switch self {
        case .signUp, .signIn, .renew, .setPassword, .setEmail: true
        case .signOut, .signOutEverywhere, .show, .delete: false
        }
    }

    var keys: [Key] {
        switch self {
        case .signUp: [Key(name: "email"), Key(name: "password")]
        case .signIn:
            [Key(name: "email"), Key(name: "password"), Key(name: "device", isRequired: false)]
        case .renew: [Key(name: "refreshToken"), Key(name: "id", isRequired: false)]
        case .setPassword: [Key(name: "password"), Key(name: "newPassword")]
        case .setEmail: [Key(name: "password"), Key(name: "email")]
        case .delete: [Key(name: "password")]
        case .signOut, .signOutEverywhere, .show: []
        }
    }

    var about: String {
        switch self {
        case .signUp: "Signs an e-mail address up, and its user in."
        case .signIn: "Signs a user in on one device."
        case .renew: "Replaces a refresh token, which is used once, and issues an access token."
        case .signOut: "Signs this device out."
        case .signOutEverywhere: "Signs all devices of the user out."
        case .show: "Shows the account of the user."
        case .setPassword: "Changes the password, and signs all other devices out."
        case .setEmail: "Changes the e-mail address, and signs all other devices out."
        case .delete: "Deletes the account; its messages stay."
        }
    }

    /// Returns the values of a JSON request body by key.
    ///
    /// - Throws: 400 for an unknown or a missing key, or for a value that is no string.
    func values(of members: [JSONValue.Member]) throws(LineError) -> [String: String] {
        var values: [String: String] = [:]
        for member in members {
            guard keys.contains(where: { $0.name == member.name }) else {
                let known = keys.isEmpty ? "none" : keys.map(\.name).joined(separator: ", ")
                throw LineError(400, "Unknown key; the keys of this request are: \(known)")
            }
            guard case .text(let text) = member.value else { throw .notText(member.name) }
            values[member.name] = text
        }
        for key in keys where key.isRequired && values[key.name] == nil {
            throw .missing(key.name)
        }
        return values
    }
}

/// An HTTP request about an account, with the values of its body and the identity of its client.
struct AccountRequest: Sendable {
    let route: AccountRoute
    let values: [String: String]
    /// The client's access token; nil on a route that needs no sign-in.
    let access: AccessToken?
    let source: AttemptSource
}

extension Accounts {
    /// Executes an HTTP request about an account, such as a sign-in.
    ///
    /// - Returns: the JSON body of the response.
    func answer(_ request: AccountRequest) async throws(LineError) -> [UInt8] {
        func value(_ name: String) -> String { request.values[name] ?? "" }
        let source = request.source
        switch request.route {
        case .signUp:
            return try await signUp(value("email"), value("password"), from: source).json
        case .signIn:
            let signIn = signIn(shownBy: request.values["device"])
            return try await self.signIn(
                value("email"), value("password"),
                from: AttemptSource(address: source.address, signIn: signIn)
            ).json
        case .renew:
            return try await renew(
                value("refreshToken"), as: request.values["id"], from: source
            ).json
        case .signOut, .signOutEverywhere, .show, .setPassword, .setEmail, .delete: break
        }
        guard let access = request.access, let signIn = access.signIn else {
            throw .tokenMissing
        }
        return try await answer(request, signIn, of: access.user)
    }

    private func answer(
        _ request: AccountRequest, _ signIn: DeviceSignIn, of user: UserID
    ) async throws(LineError) -> [UInt8] {
        let address = signIn.address
        let source = AttemptSource(address: request.source.address, signIn: signIn)
        let password = request.values["password"] ?? ""
        switch request.route {
        case .signOut: try await end(signIn, of: user)
        case .signOutEverywhere: try await endAll(of: user, at: address)
        case .show: return try await account(of: user, at: address).json
        case .setPassword:
            let new = request.values["newPassword"] ?? ""
            return try await change(password, to: new, of: user, at: address, from: source).json
        case .setEmail:
            return try await changeEmail(
                to: request.values["email"] ?? "", of: user, at: address, with: password,
                from: source
            ).json
        case .delete: try await delete(user, at: address, with: password, from: source)
        case .signUp, .signIn, .renew: break
        }
        return Array("{}".utf8)
    }
}

extension SignedInTokens {
    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object {
            $0.pair("user", user.text)
            $0.pair("accessToken", accessToken)
            $0.pair("expiresIn", Accounts.accessSeconds)
            $0.pair("refreshToken", refreshToken)
        }
        return writer.bytes
    }
}

extension AccountView {
    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object {
            $0.pair("user", user.text)
            $0.pair("email", email)
            $0.pair("createdAt", LineTime.text(createdAt.lineTime))
        }
        return writer.bytes
    }
}
