import Crypto
import JSON
import LineProtocol
import Wire

/// The claims (RFC 7519, section 4.1) that the access tokens of an app's own accounts must have,
/// beside a valid signature.
package struct TokenRules: Hashable, Sendable {
    /// The required audience (`aud`) of a token; nil if the operator has set none, so that a token
    /// with an `aud` claim is refused.
    package var audience: String?
    /// The required issuer (`iss`) of a token; nil if any issuer with a known key is accepted.
    package var issuer: String?
    /// The name of the claim that contains the user's name.
    package var userClaim = TokenRules.subject
    /// The maximum remaining lifetime of an access token, in hours, from 1 to `hoursMax`.
    package var hours = TokenRules.hoursDefault

    package static let subject = "sub"
    package static let hoursDefault = 24
    package static let hoursMax = 24 * 366

    package init() {}

    /// The log's warning that the operator requires no audience or no issuer of access tokens; nil
    /// if the operator requires both.
    package var weakness: String? {
        switch (audience, issuer) {
        case (_?, _?): nil
        case (nil, nil):
            "--jwt-audience and --jwt-issuer are missing: a token that names no audience is taken "
                + "from whoever has a key, whatever it was issued for"
        case (nil, _?):
            "--jwt-audience is missing: a token that names no audience is taken, whatever it was "
                + "issued for"
        case (_?, nil):
            "--jwt-issuer is missing: a token is taken from whoever has a key"
        }
    }

    /// Checks the claims `exp`, `aud` and `iss` of an access token.
    ///
    /// - Parameters:
    ///   - expiresAt: the expiry of the token, in milliseconds since 1970; `now` has the same unit.
    /// - Throws: 401 if a claim violates the operator's rules.
    func check(_ claims: JSONValue, expiresAt: Int64, now: Int64) throws(LineError) {
        guard expiresAt - now <= Int64(hours) * 3_600_000 else {
            throw LineError(401, "The token's exp has to be within \(hours) hours")
        }
        if let value = claims["aud"] {
            guard let audience, TokenRules.texts(value).contains(audience) else {
                throw LineError(401, "The token's aud names others")
            }
        } else if audience != nil {
            throw LineError(401, "The token's aud is missing")
        }
        guard issuer == nil || claims["iss"].map({ TokenRules.texts($0) }) == issuer.map({ [$0] })
        else { throw LineError(401, "The token's iss names another issuer") }
    }

    private static func texts(_ value: JSONValue) -> [String] {
        switch value {
        case .text(let text): [text]
        case .list(let list): list.compactMap { if case .text(let text) = $0 { text } else { nil } }
        default: []
        }
    }
}

extension UserID {
    /// The prefix of user names that encode a subject (`sub`) which is no valid user name.
    private static let encodedPrefix = "sub:"

    /// Creates the user name for the subject of a token; nil for an empty subject.
    ///
    /// A subject that is no valid user name, such as `auth0|5f7c`, is encoded, so that each subject
    /// has one user name, and no two subjects share one.
    package init?(subject: String) {
        guard !subject.isEmpty else { return nil }
        if let user = UserID(subject), !subject.hasPrefix(UserID.encodedPrefix) {
            self = user
            return
        }
        let whole = UserID.encodedPrefix + Base64.encode(Array(subject.utf8))
        // The point, which base64url does not contain, distinguishes a digest from an encoded
        // subject.
        let digest = Base64.encode(Digest.sha256(subject.utf8))
        self.init(UserID(whole) == nil ? UserID.encodedPrefix + "." + digest : whole)
    }
}
