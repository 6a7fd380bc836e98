import COpenSSL

/// A private key on the elliptic curve P-256, and its public key.
public final class ECKeyPair: Sendable {
    /// The length of a private key, in bytes.
    public static let privateBytes = 32
    /// The length of a public key in bytes: an uncompressed point of the curve (SEC 1, section
    /// 2.3.3).
    public static let publicBytes = 65
    /// The maximum number of random candidates for a private key; one in 2^32 is not valid.
    private static let candidatesMax = 8

    public let privateKey: [UInt8]
    public let publicKey: [UInt8]

    // SAFETY: the object is only read after its creation, which OpenSSL allows on several threads.
    nonisolated(unsafe) private let key: OpaquePointer

    /// Creates the pair of a private key; nil if the key has another length or is not on the curve.
    public init?(privateKey: [UInt8]) {
        guard privateKey.count == ECKeyPair.privateBytes,
            let number = BN_bin2bn(privateKey, Int32(privateKey.count), nil)
        else { return nil }
        defer { BN_clear_free(number) }
        guard let point = Curve.point(of: number) else { return nil }
        let key = point.withUnsafeBytes { point in
            KeyParameters.key("EC", KeyParameters.ofKeyPair) { builder in
                KeyParameters.addP256(point, to: builder)
                OSSL_PARAM_BLD_push_BN(builder, KeyParameters.privateNumber.start, number)
            }
        }
        guard let key else { return nil }
        self.key = key
        self.privateKey = privateKey
        publicKey = point
    }

    deinit { EVP_PKEY_free(key) }

    /// Creates a key pair from random bits (FIPS 186-5, appendix A.2.2).
    public static func generate() -> ECKeyPair {
        for _ in 0..<candidatesMax {
            var bytes = [UInt8](repeating: 0, count: privateBytes)
            let code = RAND_priv_bytes(&bytes, Int32(bytes.count))
            precondition(code == 1, "the system always has random bits")
            if let pair = ECKeyPair(privateKey: bytes) { return pair }
        }
        preconditionFailure("OpenSSL is out of memory")
    }

    /// Returns a 64-byte ES256 signature (RFC 7518, section 3.4), which is different in each call;
    /// nil if OpenSSL has no memory.
    public func signature(of message: [UInt8]) -> [UInt8]? {
        guard let context = EVP_MD_CTX_new() else { return nil }
        defer { EVP_MD_CTX_free(context) }
        var count = 0
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            EVP_DigestSign(context, nil, &count, message, message.count) == 1
        else { return nil }
        var signature = [UInt8](repeating: 0, count: count)
        guard EVP_DigestSign(context, &signature, &count, message, message.count) == 1
        else { return nil }
        return SignatureKey.raw(ofDER: Array(signature.prefix(count)))
    }

    /// Returns the 32 bytes that only the owners of the two private keys can compute (ECDH; SEC 1,
    /// section 3.3.1); nil if OpenSSL has no memory.
    func sharedSecret(with peer: PublicKey) -> [UInt8]? {
        guard let context = EVP_PKEY_CTX_new(key, nil) else { return nil }
        defer {
            EVP_PKEY_CTX_free(context)
            ERR_clear_error()
        }
        var secret = [UInt8](repeating: 0, count: 32)
        var count = secret.count
        guard EVP_PKEY_derive_init(context) == 1,
            EVP_PKEY_derive_set_peer(context, peer.key) == 1,
            EVP_PKEY_derive(context, &secret, &count) == 1, count == secret.count
        else { return nil }
        return secret
    }
}

/// The elliptic curve P-256.
private enum Curve {
    // SAFETY: the object is only read after its creation, which OpenSSL allows on several threads.
    nonisolated(unsafe) private static let group: OpaquePointer = {
        guard let group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1) else {
            preconditionFailure("OpenSSL always has P-256")
        }
        return group
    }()

    /// Returns the public key of a private key; nil if that is not between 0 and the curve's order.
    static func point(of number: OpaquePointer) -> [UInt8]? {
        guard BN_is_zero(number) == 0, BN_cmp(number, EC_GROUP_get0_order(group)) < 0,
            let point = EC_POINT_new(group)
        else { return nil }
        defer { EC_POINT_free(point) }
        guard EC_POINT_mul(group, point, number, nil, nil, nil) == 1 else { return nil }
        var bytes = [UInt8](repeating: 0, count: ECKeyPair.publicBytes)
        let count = EC_POINT_point2oct(
            group, point, POINT_CONVERSION_UNCOMPRESSED, &bytes, bytes.count, nil)
        return count == bytes.count ? bytes : nil
    }
}
