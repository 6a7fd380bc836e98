import COpenSSL

/// A key that verifies signatures of one algorithm for tokens (RFC 7518, section 3; RFC 8037).
public enum SignatureKey: Sendable {
    /// HMAC with SHA-256.
    case hs256([UInt8])
    /// RSA with PKCS #1 v1.5 and SHA-256.
    case rs256(PublicKey)
    /// ECDSA on the curve P-256 with SHA-256.
    case es256(PublicKey)
    /// Ed25519.
    case edDSA(PublicKey)

    /// The minimum length of an HMAC secret, in bytes (RFC 7518, section 3.2).
    public static let secretBytesMin = 32
    /// The minimum length of an RSA modulus, in bits (RFC 7518, section 3.3).
    public static let rsaBitsMin = 2_048
    /// The maximum length of an RSA modulus, in bits; with a longer one verifying takes too long.
    public static let rsaBitsMax = 8_192

    /// The name of the signature algorithm in a token's header.
    public var algorithm: String {
        switch self {
        case .hs256: "HS256"
        case .rs256: "RS256"
        case .es256: "ES256"
        case .edDSA: "EdDSA"
        }
    }

    /// Whether a signature of a message is valid.
    public func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        switch self {
        case .hs256(let secret):
            Digest.areEqual(signature, Digest.hmacSHA256(message, key: secret))
        case .rs256(let key): key.verifies(signature, of: message, with: EVP_sha256())
        case .es256(let key):
            SignatureKey.der(ofRaw: signature).map {
                key.verifies($0, of: message, with: EVP_sha256())
            } ?? false
        case .edDSA(let key): key.verifies(signature, of: message, with: nil)
        }
    }

    /// Returns an ECDSA signature in DER for OpenSSL; nil if it is not two numbers of 32 bytes.
    private static func der(ofRaw signature: [UInt8]) -> [UInt8]? {
        guard signature.count == 64, let pair = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(pair) }
        let numbers = [signature[..<32], signature[32...]].map { BN_bin2bn(Array($0), 32, nil) }
        // The pair now owns the numbers.
        guard ECDSA_SIG_set0(pair, numbers[0], numbers[1]) == 1 else {
            for number in numbers { BN_free(number) }
            return nil
        }
        var start: UnsafeMutablePointer<UInt8>?
        let count = i2d_ECDSA_SIG(pair, &start)
        guard count > 0, let start else { return nil }
        defer { CRYPTO_free(start, nil, 0) }
        return Array(UnsafeBufferPointer(start: start, count: Int(count)))
    }

    /// Returns an ECDSA signature in DER, as OpenSSL creates it, as two numbers of 32 bytes.
    static func raw(ofDER signature: [UInt8]) -> [UInt8]? {
        let pair = signature.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_ECDSA_SIG(nil, &start, bytes.count)
        }
        guard let pair else { return nil }
        defer { ECDSA_SIG_free(pair) }
        var (first, second) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 32))
        guard BN_bn2binpad(ECDSA_SIG_get0_r(pair), &first, 32) == 32,
            BN_bn2binpad(ECDSA_SIG_get0_s(pair), &second, 32) == 32
        else { return nil }
        return first + second
    }
}

/// A public key, stored as an OpenSSL object.
public final class PublicKey: Sendable {
    // SAFETY: the key is not modified after its creation, and OpenSSL allows concurrent reads.
    nonisolated(unsafe) let key: OpaquePointer

    private init(_ key: OpaquePointer) { self.key = key }

    deinit { EVP_PKEY_free(key) }

    /// Creates an RSA public key; nil if the modulus is too short or too long.
    public static func rsa(modulus: [UInt8], exponent: [UInt8]) -> PublicKey? {
        guard modulus.count <= SignatureKey.rsaBitsMax / 8, exponent.count <= 4 else { return nil }
        let numbers = [modulus, exponent].map { (bytes: [UInt8]) in
            BN_bin2bn(bytes, Int32(bytes.count), nil)
        }
        defer { for number in numbers { BN_free(number) } }
        let key = KeyParameters.key("RSA", KeyParameters.ofPublicKey) { builder in
            OSSL_PARAM_BLD_push_BN(builder, KeyParameters.modulus.start, numbers[0])
            OSSL_PARAM_BLD_push_BN(builder, KeyParameters.exponent.start, numbers[1])
        }.map(PublicKey.init)
        guard let key, EVP_PKEY_get_bits(key.key) >= SignatureKey.rsaBitsMin else { return nil }
        return key
    }

    /// Creates a public key on the elliptic curve P-256; nil if the point is not on the curve.
    public static func p256(x: [UInt8], y: [UInt8]) -> PublicKey? {
        guard x.count == 32, y.count == 32 else { return nil }
        return p256(point: [4] + x + y)
    }

    /// Creates a public key on the elliptic curve P-256 from its uncompressed point in 65 bytes
    /// (SEC 1, section 2.3.3); nil for any other bytes.
    public static func p256(point: [UInt8]) -> PublicKey? {
        guard point.count == ECKeyPair.publicBytes, point[0] == 4 else { return nil }
        return point.withUnsafeBytes { point in
            KeyParameters.key("EC", KeyParameters.ofPublicKey) {
                KeyParameters.addP256(point, to: $0)
            }
        }.map(PublicKey.init)
    }

    /// Creates an Ed25519 public key; nil if it has not 32 bytes.
    public static func ed25519(_ bytes: [UInt8]) -> PublicKey? {
        guard bytes.count == 32 else { return nil }
        return EVP_PKEY_new_raw_public_key(NID_ED25519, nil, bytes, bytes.count)
            .map(PublicKey.init)
    }

    /// - Parameter digest: the hash function; nil for a signature algorithm that includes one.
    func verifies(
        _ signature: [UInt8], of message: [UInt8], with digest: OpaquePointer?
    ) -> Bool {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer {
            EVP_MD_CTX_free(context)
            // The error queue is cleared, because a wrong signature leaves errors in it.
            ERR_clear_error()
        }
        return EVP_DigestVerifyInit(context, nil, digest, nil, key) == 1
            && EVP_DigestVerify(
                context, signature, signature.count, message, message.count) == 1
    }
}
