import CRDT
import Crypto
import LineProtocol
import Wire

/// The single-use token by which a device renews its access token and continues its sign-in.
///
/// Refresh tokens are signed, so that a node can tell a genuine token used twice from a forged one.
package struct RefreshToken: Hashable, Sendable {
    /// The digest of the user's e-mail address, under which the account is stored.
    let address: AddressID
    let user: UserID
    let signIn: SignInID
    let secret: String
    /// The time at which the sign-in began.
    let began: HybridTimestamp
    /// The time at which the refresh token was issued, by the sign-in or by a renewal.
    let stamp: HybridTimestamp

    private static let bytesMax = 768

    init(
        address: AddressID, user: UserID, signIn: SignInID, secret: String,
        began: HybridTimestamp, stamp: HybridTimestamp
    ) {
        self.address = address
        self.user = user
        self.signIn = signIn
        self.secret = secret
        self.began = began
        self.stamp = stamp
    }

    /// Reads a refresh token and verifies its signature with one of the keys.
    ///
    /// - Throws: 401 if the token is invalid; 503 if its signing key may still propagate to this
    ///   node.
    init(
        _ text: String, signedBy keys: [ClusterKeys.Key], isComing: (String) -> Bool
    ) throws(LineError) {
        let parts = text.split(separator: "~", omittingEmptySubsequences: false).map(String.init)
        guard text.utf8.count <= RefreshToken.bytesMax, parts.count == 8,
            parts.allSatisfy({ isName($0.utf8) }), let address = AddressID(parts[0]),
            let user = UserID(parts[1]), let signIn = SignInID(parts[2]),
            let began = UInt64(parts[4]), let stamp = UInt64(parts[5]),
            let signature = Base64.decode(parts[7])
        else { throw .refreshTokenRefused }
        guard let key = keys.first(where: { $0.name == parts[6] }) else {
            throw isComing(parts[6]) ? .keyComing : .refreshTokenRefused
        }
        let message = parts[..<7].joined(separator: "~")
        guard Digest.areEqual(signature, RefreshToken.signature(of: message, by: key)) else {
            throw .refreshTokenRefused
        }
        self.init(
            address: address, user: user, signIn: signIn, secret: parts[3],
            began: HybridTimestamp(bits: began), stamp: HybridTimestamp(bits: stamp))
    }

    func text(signedBy key: ClusterKeys.Key) -> String {
        let message = [
            address.text, user.text, signIn.text, secret, "\(began.bits)", "\(stamp.bits)",
            key.name,
        ].joined(separator: "~")
        return message + "~" + Base64.encode(RefreshToken.signature(of: message, by: key))
    }

    private static func signature(of message: String, by key: ClusterKeys.Key) -> [UInt8] {
        Digest.hmacSHA256("refresh\n\(message)".utf8, key: key.secret)
    }

    /// The SHA-256 digest of the token's secret, which the cluster stores in place of the secret.
    var digest: SecretDigest { RefreshToken.digest(of: secret) }

    package static func digest(of text: String) -> SecretDigest {
        SecretDigest(checked: Base64.encode(Digest.sha256(text.utf8)))
    }

    /// Returns the secret of the refresh token that follows this one, derived from this token's
    /// secret, the client's idempotency key and a signing key.
    ///
    /// All nodes derive the same secret, so a client that did not receive the response may send the
    /// same request to another node.
    func nextSecret(for request: String, by key: ClusterKeys.Key) -> [UInt8] {
        Digest.hmacSHA256(
            "next\n\(signIn)\n\(secret)\n\(request)".utf8, key: key.secret)
    }
}

extension LineError {
    static let refreshTokenRefused = LineError(401, "The refresh token is not valid")
}
