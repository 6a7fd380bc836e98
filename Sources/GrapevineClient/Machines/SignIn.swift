/// The sign-in of a user on this device: the tokens, and their renewal.
///
/// The name of a renewal is stored before it is sent, and its tokens before they are used, so that
/// a lost answer or a crash makes the same renewal again: nodes end a sign-in if its refresh token
/// is used under two names. One renewal is under way at a time.
struct SignIn: Equatable, Codable, Sendable {
    /// Milliseconds before its end at which an access token is renewed.
    private static let early: Int64 = 30_000

    let user: String
    let email: String
    private(set) var accessToken: String
    private(set) var refreshToken: String
    /// The time of this device at which the access token ends, in milliseconds since 1970.
    private(set) var end: Int64
    /// The name of a renewal that was begun, and of which no answer is known.
    private(set) var renewal: String?

    /// - Parameters:
    ///   - seconds: the time for which the access token is valid.
    ///   - now: the time of this device, in milliseconds since 1970.
    init(
        user: String, email: String, accessToken: String, refreshToken: String, seconds: Int64,
        now: Int64
    ) {
        self.user = user
        self.email = email
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        end = now + seconds * 1_000
    }

    /// Whether the access token can be used.
    ///
    /// - Parameter refused: an access token that a node has refused.
    func isUsable(refused: String? = nil, now: Int64) -> Bool {
        accessToken != refused && now < end - Self.early
    }

    /// Begins a renewal, or goes on with one that was begun: the caller stores the sign-in before
    /// it sends the request.
    ///
    /// - Parameter name: a new name, which is used if no renewal was begun.
    mutating func renew(as name: String) -> Request {
        let name = renewal ?? name
        renewal = name
        let body: [String: Request.Value] = [
            "refreshToken": .text(refreshToken), "id": .text(name),
        ]
        return Request(method: .post, path: "/v1/sessions/refresh", body: body)
    }

    /// Takes in the tokens of a renewal: the caller stores the sign-in before it uses them.
    mutating func renewed(
        accessToken: String, refreshToken: String, seconds: Int64, now: Int64
    ) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        end = now + seconds * 1_000
        renewal = nil
    }

    /// Whether an error ends the sign-in, when a node has answered a renewal with it.
    ///
    /// The user's data and operations stay for the same user.
    static func ends(with error: GrapevineError) -> Bool {
        error.code == 401 || error.code == 403
    }
}
