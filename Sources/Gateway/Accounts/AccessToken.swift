import CRDT
import Chat
import Crypto
import JSON
import LineProtocol
import Wire

/// A signed token that identifies a client's user (JSON Web Token, RFC 7519).
package struct AccessToken: Hashable, Sendable {
    /// The maximum length of an access token, in bytes.
    package static let bytesMax = 4_096
    /// The tolerated clock skew for a token's `nbf` claim, in seconds.
    static let secondsAheadMax: Int64 = 5

    package let user: UserID
    /// The expiry time (`exp`) of the access token, in milliseconds since 1970.
    package let expiresAt: Int64
    /// The sign-in for which the cluster issued this access token; nil if an app issued the token.
    package let signIn: DeviceSignIn?

    /// Parses a JSON Web Token (RFC 7515, section 7.1), and checks its signature, its claims and
    /// that it is not revoked.
    ///
    /// - Parameter now: the wall-clock time, in milliseconds since 1970.
    /// - Throws: 401; the error message tells only whether the signature or a claim is wrong.
    package init(_ text: String, signedBy keys: KeySet, now: Int64) throws(LineError) {
        let claims = try AccessToken.claims(of: text, signedBy: keys)
        try self.init(claims: claims, under: keys.rules, now: now)
        guard !keys.revokes(self) else { throw .signedOut }
    }

    /// Returns the sign-in for which the cluster issued an access token, even if the sign-in has
    /// ended; nil if no key of the cluster has signed the token.
    static func signIn(shownBy text: String, signedBy keys: KeySet) -> DeviceSignIn? {
        guard keys.rules == nil else { return nil }
        do throws(LineError) {
            return DeviceSignIn(try claims(of: text, signedBy: keys))
        } catch {
            return nil
        }
    }

    /// - Throws: 401 if the token is malformed, or if no key of the key set verifies its signature.
    private static func claims(
        of text: String, signedBy keys: KeySet
    ) throws(LineError) -> JSONValue {
        guard text.utf8.count <= AccessToken.bytesMax else { throw .tokenRefused }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let header = AccessToken.object(parts[0]),
            let signature = Base64.decode(parts[2])
        else { throw .tokenRefused }
        // A token with critical header extensions (`crit`) is refused, because this program
        // supports none (RFC 7515, section 4.1.11).
        guard case .text(let algorithm)? = header["alg"], header["crit"] == nil else {
            throw .tokenRefused
        }
        var name: String?
        if case .text(let text)? = header["kid"] { name = text }
        let message = Array((parts[0] + "." + parts[1]).utf8)
        guard keys.verifies(signature, of: message, algorithm: algorithm, keyName: name),
            let claims = AccessToken.object(parts[1])
        else { throw .tokenRefused }
        return claims
    }

    /// Returns the key ID (`kid`) in the header of a JSON Web Token; nil if the header has none.
    static func keyName(of text: String) -> String? {
        guard text.utf8.count <= AccessToken.bytesMax,
            let header = object(String(text.prefix { $0 != "." })),
            case .text(let name)? = header["kid"]
        else { return nil }
        return name
    }

    /// - Parameter rules: the rules that a token of an app's own account system must meet; nil for
    ///   a token that the cluster has issued.
    private init(
        claims: JSONValue, under rules: TokenRules?, now: Int64
    ) throws(LineError) {
        let claim = rules?.userClaim ?? TokenRules.subject
        guard case .text(let subject)? = claims[claim],
            let user = rules == nil ? UserID(subject) : UserID(subject: subject)
        else { throw LineError(401, "The token's \(claim) has to be a user's name") }
        guard let expiresAt = AccessToken.milliseconds(claims["exp"]) else {
            throw LineError(401, "The token's exp has to be a time in seconds")
        }
        guard now < expiresAt else { throw .signInExpired }
        if let value = claims["nbf"] {
            guard let start = AccessToken.milliseconds(value),
                start - AccessToken.secondsAheadMax * 1_000 <= now
            else { throw LineError(401, "The token is not valid yet") }
        }
        try rules?.check(claims, expiresAt: expiresAt, now: now)
        self.user = user
        self.expiresAt = expiresAt
        // A token that an app has signed names no sign-in of this cluster, whatever its claims are.
        signIn = rules == nil ? DeviceSignIn(claims) : nil
    }

    /// Whether this access token, which was verified with earlier keys, is still valid with the
    /// current keys and revocations.
    package func isValid(_ text: String, _ keys: KeySet?) -> Bool {
        guard let keys else { return false }
        // The cluster withdraws no signing key, so only a revocation invalidates a token before its
        // expiry.
        guard signIn == nil else { return !keys.revokes(self) }
        do throws(LineError) {
            // The caller checks the expiry elsewhere, so this check uses a time just before the
            // expiry.
            return try AccessToken(text, signedBy: keys, now: expiresAt - 1) == self
        } catch {
            return false
        }
    }

    /// Returns an access token for a sign-in that was made on the command line, not over HTTP.
    ///
    /// - Parameters:
    ///   - key: the signing key and its name, as the command `KEYS` lists them.
    ///   - stamp: the hybrid timestamp of the sign-in.
    ///   - start: the time of issue (`iat`), in seconds since 1970.
    package static func issued(
        to user: UserID, at address: String, signIn: String, stamp: UInt64,
        signedBy key: (name: String, secret: [UInt8]), from start: Int64
    ) -> String {
        let signIn = DeviceSignIn(
            address: AddressID(checked: address), id: SignInID(checked: signIn),
            began: HybridTimestamp(bits: stamp))
        return signed(
            by: ClusterKeys.Key(name: key.name, secret: key.secret, createdAt: 0, readAt: 0),
            of: user, signIn, from: start, to: start + Accounts.accessSeconds)
    }

    /// Returns an access token that is signed with a key of the cluster (HS256).
    ///
    /// - Parameter start: the time of issue (`iat`), in seconds since 1970; `end`, the expiry time
    ///   (`exp`), has the same unit.
    static func signed(
        by key: ClusterKeys.Key, of user: UserID, _ signIn: DeviceSignIn, from start: Int64,
        to end: Int64
    ) -> String {
        var header = JSONWriter()
        header.object {
            $0.pair("alg", "HS256")
            $0.pair("typ", "JWT")
            $0.pair("kid", key.name)
        }
        var claims = JSONWriter()
        claims.object {
            $0.pair("sub", user.text)
            $0.pair("iat", start)
            $0.pair("exp", end)
            $0.pair("sid", signIn.id.text)
            $0.pair("adr", signIn.address.text)
            $0.pair("at", signIn.began.bits)
        }
        let message = Base64.encode(header.bytes) + "." + Base64.encode(claims.bytes)
        let signature = Digest.hmacSHA256(message.utf8, key: key.secret)
        return message + "." + Base64.encode(signature)
    }

    private static func object(_ part: String) -> JSONValue? {
        guard let bytes = Base64.decode(part) else { return nil }
        do throws(JSONError) {
            let value = try JSONValue(reading: bytes)
            if case .object = value { return value }
        } catch {
            // A part that is not JSON makes the whole token invalid.
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
    static let keyComing = LineError(
        503, "This node is about to hear of the key of the access token; try again")
    static let signedOut = LineError(401, "The sign-in has ended; sign in again")
}
