import Crypto
import LineProtocol
import Wire

/// The text by which a device proves that its sign-in goes on, and that it uses once.
struct RefreshToken: Hashable, Sendable {
    /// The digest of the e-mail address, under which the account is stored.
    let address: String
    let user: UserID
    let signIn: String
    let secret: String

    private static let bytesMax = 512

    init(address: String, user: UserID, signIn: String, secret: String) {
        self.address = address
        self.user = user
        self.signIn = signIn
        self.secret = secret
    }

    /// - Throws: 401.
    init(_ text: String) throws(LineError) {
        let parts = text.split(separator: "~", omittingEmptySubsequences: false).map(String.init)
        guard text.utf8.count <= RefreshToken.bytesMax, parts.count == 4,
            parts.allSatisfy({ isName($0.utf8) }), let user = UserID(parts[1])
        else { throw LineError(401, "The refresh token is not valid") }
        self.init(address: parts[0], user: user, signIn: parts[2], secret: parts[3])
    }

    var text: String { [address, user.text, signIn, secret].joined(separator: "~") }

    /// What the cluster stores of it.
    var digest: String { RefreshToken.digest(of: secret) }

    static func digest(of text: String) -> String { Base64.encode(Digest.sha256(text.utf8)) }

    /// The token that replaces this one.
    func next(_ secret: [UInt8]) -> RefreshToken {
        RefreshToken(address: address, user: user, signIn: signIn, secret: Base64.encode(secret))
    }

    /// The secret of the token that replaces this one in a request that the client has named: each
    /// node derives the same, so that a client which was not told the answer may ask another node.
    func nextSecret(for request: String, by key: ClusterKeys.Key) -> [UInt8] {
        Digest.hmacSHA256("refresh\n\(text)\n\(request)".utf8, key: key.secret)
    }
}
