import COpenSSL

/// The hashes and message authentication codes of OpenSSL.
public enum Digest {
    /// Returns the 20-byte SHA-1 hash, which may be used only for the WebSocket handshake.
    public static func sha1(_ bytes: some Collection<UInt8>) -> [UInt8] {
        digest(Array(bytes), EVP_sha1(), count: 20)
    }

    /// Returns the 32-byte SHA-256 hash.
    public static func sha256(_ bytes: some Collection<UInt8>) -> [UInt8] {
        digest(Array(bytes), EVP_sha256(), count: 32)
    }

    /// Returns the 32-byte HMAC with SHA-256 (RFC 2104).
    public static func hmacSHA256(_ bytes: some Collection<UInt8>, key: [UInt8]) -> [UInt8] {
        let bytes = Array(bytes)
        var code = [UInt8](repeating: 0, count: 32)
        let result = HMAC(
            EVP_sha256(), key, Int32(key.count), bytes, bytes.count, &code, nil)
        precondition(result != nil, "SHA-256 is always there")
        return code
    }

    /// Whether two byte strings are equal; the time does not depend on where they differ.
    public static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0
    }

    private static func digest(_ bytes: [UInt8], _ kind: OpaquePointer, count: Int) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: count)
        let result = EVP_Digest(bytes, bytes.count, &digest, nil, kind, nil)
        precondition(result == 1, "the hash is always there")
        return digest
    }
}
