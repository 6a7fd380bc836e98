import COpenSSL

/// The encryption of a push message for a browser (RFC 8291), and the signed token that identifies
/// the sender to the push service (VAPID, RFC 8292).
public enum WebPush {
    /// The maximum size of a push message's payload, in bytes: the request body then has 4,096
    /// bytes, the most that every push service has to accept (RFC 8030, section 7.2).
    public static let payloadBytesMax = bodyBytesMax - headerBytes - overheadBytes
    /// The length of the authentication secret of a push subscription, in bytes.
    public static let secretBytes = 16
    /// The length of the salt, which must be random and used for one message only, in bytes.
    public static let saltBytes = 16
    /// The maximum lifetime of a VAPID token, in seconds (RFC 8292, section 2).
    public static let authorizationSecondsMax: Int64 = 24 * 60 * 60

    private static let bodyBytesMax = 4_096
    /// The length of the header before the encrypted record: the salt, the record size in 4 bytes,
    /// the key length in 1 byte, and the key (RFC 8188, section 2.1).
    private static let headerBytes = saltBytes + 4 + 1 + ECKeyPair.publicBytes
    /// The bytes that encryption adds to a payload: the delimiter of the only record, and the tag.
    private static let overheadBytes = 1 + SealingCipher.tagBytes
    /// The delimiter byte that follows the data of the last record, before its padding.
    private static let lastRecord: UInt8 = 2

    /// Returns the body of a push request, encrypted with content coding `aes128gcm` (RFC 8188), in
    /// one record without padding.
    ///
    /// - Parameters:
    ///   - payload: at most `payloadBytesMax` bytes.
    ///   - key: the `p256dh` of the push subscription.
    ///   - auth: the `auth` of the push subscription.
    ///   - salt: 16 random bytes.
    ///   - ephemeral: a key pair that was created for this message.
    /// - Returns: nil if the payload is too long, if the key, secret or salt has another length, or
    ///   if the key is no point of the curve.
    public static func encrypt(
        _ payload: [UInt8], for key: [UInt8], auth: [UInt8], salt: [UInt8], ephemeral: ECKeyPair
    ) -> [UInt8]? {
        guard payload.count <= payloadBytesMax, auth.count == secretBytes, salt.count == saltBytes,
            let receiver = PublicKey.p256(point: key),
            let secret = ephemeral.sharedSecret(with: receiver)
        else { return nil }
        // RFC 8291, section 3.4; an HKDF output of at most 32 bytes needs only two HMAC steps.
        let info = Array("WebPush: info\0".utf8) + key + ephemeral.publicKey
        let material = expand(Digest.hmacSHA256(secret, key: auth), info)
        let extracted = Digest.hmacSHA256(material, key: salt)
        let cipher = SealingCipher(
            key: expand(extracted, Array("Content-Encoding: aes128gcm\0".utf8)),
            nonce: expand(extracted, Array("Content-Encoding: nonce\0".utf8)))
        guard let record = cipher.seal(payload + [lastRecord]) else { return nil }
        return salt + withUnsafeBytes(of: UInt32(bodyBytesMax).bigEndian, Array.init)
            + [UInt8(ephemeral.publicKey.count)] + ephemeral.publicKey + record
    }

    /// Returns the value of the field `Authorization` of a push request (RFC 8292, section 3).
    ///
    /// The value may be used for all requests to a push service until it expires.
    ///
    /// - Parameters:
    ///   - audience: the origin of the push service, such as `https://push.example.net`.
    ///   - subject: the operator's contact, as `mailto:…` or `https://…`.
    ///   - expiresAt: the expiry in seconds since 1970, at most `authorizationSecondsMax` from now.
    ///   - key: the key pair whose public key the browser used for its subscription.
    ///   - base64url: an encoder of base64url without padding.
    /// - Returns: nil if the audience or the subject has characters that are not allowed in a URL.
    public static func authorization(
        audience: String, subject: String, expiresAt: Int64, key: ECKeyPair,
        base64url: ([UInt8]) -> String
    ) -> String? {
        guard isPlain(audience), isPlain(subject) else { return nil }
        let header = #"{"typ":"JWT","alg":"ES256"}"#
        let claims = #"{"aud":"\#(audience)","exp":\#(expiresAt),"sub":"\#(subject)"}"#
        let message = base64url(Array(header.utf8)) + "." + base64url(Array(claims.utf8))
        guard let signature = key.signature(of: Array(message.utf8)) else { return nil }
        return "vapid t=\(message).\(base64url(signature)), k=\(base64url(key.publicKey))"
    }

    /// Returns the first block of HKDF-Expand with SHA-256 (RFC 5869, section 2.3).
    private static func expand(_ key: [UInt8], _ info: [UInt8]) -> [UInt8] {
        Digest.hmacSHA256(info + [1], key: key)
    }

    /// Whether a text can be a JSON string without escapes.
    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy {
            (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
        }
    }
}

/// The cipher AES-128-GCM (NIST SP 800-38D) with a key and a nonce that are used once.
private struct SealingCipher {
    static let tagBytes = 16
    static let keyBytes = 16
    static let nonceBytes = 12

    private let key: [UInt8]
    private let nonce: [UInt8]

    /// Creates the cipher from the first bytes of a key and of a nonce.
    init(key: [UInt8], nonce: [UInt8]) {
        precondition(key.count >= Self.keyBytes && nonce.count >= Self.nonceBytes, "enough bytes")
        (self.key, self.nonce) = (key, nonce)
    }

    /// Returns the ciphertext and the authentication tag; nil if OpenSSL has no memory.
    func seal(_ plain: [UInt8]) -> [UInt8]? {
        guard let context = EVP_CIPHER_CTX_new() else { return nil }
        defer { EVP_CIPHER_CTX_free(context) }
        var sealed = [UInt8](repeating: 0, count: plain.count)
        var tag = [UInt8](repeating: 0, count: Self.tagBytes)
        var (count, rest): (Int32, Int32) = (0, 0)
        // GCM is a stream mode, so no ciphertext is left for the final call.
        guard EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nil, key, nonce) == 1,
            EVP_EncryptUpdate(context, &sealed, &count, plain, Int32(plain.count)) == 1,
            Int(count) == plain.count, EVP_EncryptFinal_ex(context, &tag, &rest) == 1, rest == 0,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), &tag) == 1
        else { return nil }
        return sealed + tag
    }
}
