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
    /// The expiry time (`exp`), in milliseconds since 1970; the token is valid before it.
    package let expiresAt: Int64
    /// The sign-in for which the cluster issued the token; nil for a token of an app's own
    /// accounts.
    package let signIn: DeviceSignIn?

    /// Reads a token in compact form (RFC 7515, section 7.1) and checks its signature and times.
    ///
    /// - Parameter now: the wall-clock time, in milliseconds since 1970.
    /// - Throws: 401; the message says only whether the signature or a claim is wrong.
    package init(_ text: String, signedBy keys: KeySet, now: Int64) throws(LineError) {
        let claims = try AccessToken.claims(of: text, signedBy: keys)
        try self.init(claims: claims, under: keys.rules, now: now)
        guard !keys.revokes(self) else { throw .signedOut }
    }

    /// Returns the sign-in for which the cluster issued a token, even one that has ended; nil for a
    /// text that no key of the cluster has signed.
    static func signIn(shownBy text: String, signedBy keys: KeySet) -> DeviceSignIn? {
        guard keys.rules == nil else { return nil }
        do throws(LineError) {
            return DeviceSignIn(try claims(of: text, signedBy: keys))
        } catch {
            return nil
        }
    }

    /// - Throws: 401 if no key of the set verifies the signature.
    private static func claims(
        of text: String, signedBy keys: KeySet
    ) throws(LineError) -> JSONValue {
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
        return claims
    }

    /// Returns the key ID (`kid`) in the header of a token; nil if the header has none.
    static func keyName(of text: String) -> String? {
        guard text.utf8.count <= AccessToken.bytesMax,
            let header = object(String(text.prefix { $0 != "." })),
            case .text(let name)? = header["kid"]
        else { return nil }
        return name
    }

    /// - Parameter rules: the rules for an app's own tokens; nil for a token of the cluster.
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
        // What others sign is no sign-in here, whatever it says: it ends with its key.
        signIn = rules == nil ? DeviceSignIn(claims) : nil
    }

    /// Whether this access token, which earlier keys have accepted, is still accepted with the
    /// current keys.
    package func isValid(_ text: String, _ keys: KeySet?) -> Bool {
        guard let keys else { return false }
        // A key of the cluster's own is never taken back.
        guard signIn == nil else { return !keys.revokes(self) }
        do throws(LineError) {
            // Its times were checked before, and are checked apart.
            return try AccessToken(text, signedBy: keys, now: expiresAt - 1) == self
        } catch {
            return false
        }
    }

    /// Returns the text of an access token for a sign-in that was made on the command line, and not
    /// over the port for apps.
    ///
    /// - Parameters:
    ///   - key: the signing key, with the name that `KEYS` lists.
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

    /// Returns the text of an access token that a key of the cluster signs (HS256).
    ///
    /// - Parameter start: the time of issue (`iat`), in seconds since 1970, as is the expiry,
    ///   `end`.
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
    static let keyComing = LineError(
        503, "This node is about to hear of the key of the access token; try again")
    static let signedOut = LineError(401, "The sign-in has ended; sign in again")
}
