import COpenSSL

/// The encryption of a message for a browser (RFC 8291) and the identification of its sender to
/// the push service (VAPID, RFC 8292).
public enum WebPush {
    /// The most bytes of a payload: with them a body has 4,096 bytes, which is all that a push
    /// service has to accept (RFC 8030, section 7.2).
    public static let payloadBytesMax = bodyBytesMax - headerBytes - overheadBytes
    /// The length of the authentication secret of a subscription.
    public static let secretBytes = 16
    /// The length of the salt, which has to be random and of one message only.
    public static let saltBytes = 16
    /// The longest validity of an authorization, in seconds (RFC 8292, section 2).
    public static let authorizationSecondsMax: Int64 = 24 * 60 * 60

    private static let bodyBytesMax = 4_096
    /// The salt, the size of a record in 4 bytes, the length of the key in one, and the key (RFC
    /// 8188, section 2.1).
    private static let headerBytes = saltBytes + 4 + 1 + ECKeyPair.publicBytes
    /// The delimiter of the only record, and its tag.
    private static let overheadBytes = 1 + SealingCipher.tagBytes
    /// The byte that follows the data of the last record, before its padding.
    private static let lastRecord: UInt8 = 2

    /// Returns the body of a push request, of content coding `aes128gcm` (RFC 8188) in one record
    /// without padding.
    ///
    /// - Parameters:
    ///   - payload: at most `payloadBytesMax`.
    ///   - key: the subscription's `p256dh`.
    ///   - auth: the subscription's `auth`.
    ///   - salt: 16 random bytes.
    ///   - ephemeral: a pair that was made for this message.
    /// - Returns: nil for a payload that is too long, for a key, a secret or a salt of another
    ///   length, and for a key that is no point of the curve.
    public static func encrypt(
        _ payload: [UInt8], for key: [UInt8], auth: [UInt8], salt: [UInt8], ephemeral: ECKeyPair
    ) -> [UInt8]? {
        guard payload.count <= payloadBytesMax, auth.count == secretBytes, salt.count == saltBytes,
            let receiver = PublicKey.p256(point: key),
            let secret = ephemeral.sharedSecret(with: receiver)
        else { return nil }
        // RFC 8291, section 3.4, with the two steps of HKDF for outputs of at most 32 bytes.
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

    /// Returns the value of the header `Authorization` (RFC 8292, section 3).
    ///
    /// Until it expires, one value serves for all requests to a push service.
    ///
    /// - Parameters:
    ///   - audience: the origin of the push service, such as `https://push.example.net`.
    ///   - subject: how to reach the operator, as `mailto:…` or `https://…`.
    ///   - expiresAt: seconds since 1970, at most `authorizationSecondsMax` ahead.
    ///   - key: the pair whose public key the subscription was made with.
    ///   - base64url: the encoder, without padding.
    /// - Returns: nil for an audience or a subject with characters that no URL has.
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

    /// Whether a text is one of JSON as it stands.
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

    /// Takes the first bytes of each.
    init(key: [UInt8], nonce: [UInt8]) {
        precondition(key.count >= Self.keyBytes && nonce.count >= Self.nonceBytes, "enough bytes")
        (self.key, self.nonce) = (key, nonce)
    }

    /// Returns the encrypted bytes, as many, and the tag; nil where OpenSSL has no memory.
    func seal(_ plain: [UInt8]) -> [UInt8]? {
        guard let context = EVP_CIPHER_CTX_new() else { return nil }
        defer { EVP_CIPHER_CTX_free(context) }
        var sealed = [UInt8](repeating: 0, count: plain.count)
        var tag = [UInt8](repeating: 0, count: Self.tagBytes)
        var (count, rest): (Int32, Int32) = (0, 0)
        // A mode that makes a stream of the cipher leaves nothing for the end.
        guard EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nil, key, nonce) == 1,
            EVP_EncryptUpdate(context, &sealed, &count, plain, Int32(plain.count)) == 1,
            Int(count) == plain.count, EVP_EncryptFinal_ex(context, &tag, &rest) == 1, rest == 0,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), &tag) == 1
        else { return nil }
        return sealed + tag
    }
}
