import Crypto
import JSON
import LineProtocol
import Wire

/// A signed statement of who a client is (JSON Web Token, RFC 7519).
package struct AccessToken: Hashable, Sendable {
    /// The most bytes of a token.
    package static let bytesMax = 4_096
    /// How far the clock of the signer may be ahead, in seconds.
    static let secondsAheadMax: Int64 = 5

    package let user: UserID
    /// The time from which on it is not accepted, in milliseconds since 1970.
    package let expiresAt: Int64

    /// Reads a token in compact form (RFC 7515, section 7.1) and checks its signature and times.
    ///
    /// - Parameter now: milliseconds since 1970.
    /// - Throws: 401; the sentence does not say more than which of the two to mend.
    package init(_ text: String, signedBy keys: KeySet, now: Int64) throws(LineError) {
        guard text.utf8.count <= AccessToken.bytesMax else { throw .tokenRefused }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let header = AccessToken.object(parts[0]),
            let signature = Base64.decode(parts[2])
        else { throw .tokenRefused }
        // Extensions that must be understood are not (RFC 7515, section 4.1.11).
        guard case .text(let algorithm)? = header["alg"], header["crit"] == nil else {
            throw .tokenRefused
        }
        var name: String?
        if case .text(let text)? = header["kid"] { name = text }
        let message = Array((parts[0] + "." + parts[1]).utf8)
        guard keys.verifies(signature, of: message, algorithm: algorithm, keyName: name),
            let claims = AccessToken.object(parts[1])
        else { throw .tokenRefused }
        try self.init(claims: claims, now: now)
    }

    private init(claims: JSONValue, now: Int64) throws(LineError) {
        guard case .text(let subject)? = claims["sub"], let user = UserID(subject) else {
            throw LineError(401, "The token's sub has to be a user's name")
        }
        guard let expiresAt = AccessToken.milliseconds(claims["exp"]) else {
            throw LineError(401, "The token's exp has to be a time in seconds")
        }
        guard now < expiresAt else { throw .signInExpired }
        if let value = claims["nbf"] {
            guard let start = AccessToken.milliseconds(value),
                start - AccessToken.secondsAheadMax * 1_000 <= now
            else { throw LineError(401, "The token is not valid yet") }
        }
        self.user = user
        self.expiresAt = expiresAt
    }

    /// Whether a token that was accepted with the keys before is accepted with these.
    package func isValid(_ text: String, _ keys: KeySet?) -> Bool {
        guard let keys else { return false }
        do throws(LineError) {
            // Its times were checked before, and are checked apart.
            return try AccessToken(text, signedBy: keys, now: expiresAt - 1) == self
        } catch {
            return false
        }
    }

    private static func object(_ part: String) -> JSONValue? {
        guard let bytes = Base64.decode(part) else { return nil }
        do throws(JSONError) {
            let value = try JSONValue(reading: bytes)
            if case .object = value { return value }
        } catch {
            // What is no JSON is no part of a token either.
        }
        return nil
    }

    private static func milliseconds(_ value: JSONValue?) -> Int64? {
        let seconds: Int64
        switch value {
        case .integer(let number)?: seconds = number
        case .real(let number)?:
            guard let whole = Int64(exactly: number.rounded(.down)) else { return nil }
            seconds = whole
        default: return nil
        }
        let (milliseconds, isTooLarge) = seconds.multipliedReportingOverflow(by: 1_000)
        return isTooLarge || seconds < 0 ? nil : milliseconds
    }
}

extension LineError {
    static let tokenMissing = LineError(
        401, "Sign in first: send Authorization: Bearer <access token>")
    static let tokenRefused = LineError(401, "The access token is not valid")
}
