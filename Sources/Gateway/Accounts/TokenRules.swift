import Crypto
import JSON
import LineProtocol
import Wire

/// What the access tokens of an app's own accounts have to say (RFC 7519, section 4.1), beside a
/// signature by one of the keys.
package struct TokenRules: Hashable, Sendable {
    /// Who this cluster is for the issuer; nil where nobody said so: then a token that names an
    /// audience is meant for another.
    package var audience: String?
    /// Who issues the tokens; nil for anybody who has a key.
    package var issuer: String?
    /// The claim with the user's name.
    package var userClaim = TokenRules.subject
    /// The most hours from now to the end of a token, 1…`hoursMax`.
    package var hours = TokenRules.hoursDefault

    package static let subject = "sub"
    package static let hoursDefault = 24
    package static let hoursMax = 24 * 366

    package init() {}

    /// What these rules let through, for the log; nil where they name the audience and the issuer.
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

    /// Checks the claims of a token.
    ///
    /// - Parameters:
    ///   - expiresAt: milliseconds since 1970, as `now`.
    /// - Throws: 401.
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
    /// What a name begins with that stands for a subject which is none.
    private static let encodedPrefix = "sub:"

    /// Returns the name of a token's subject; nil for an empty one.
    ///
    /// A subject that is no name, as `auth0|5f7c`, is encoded: each has one name, and no two have
    /// the same.
    package init?(subject: String) {
        guard !subject.isEmpty else { return nil }
        if let user = UserID(subject), !subject.hasPrefix(UserID.encodedPrefix) {
            self = user
            return
        }
        let whole = UserID.encodedPrefix + Base64.encode(Array(subject.utf8))
        // A point is in no base64.
        let digest = Base64.encode(Digest.sha256(subject.utf8))
        self.init(UserID(whole) == nil ? UserID.encodedPrefix + "." + digest : whole)
    }
}
