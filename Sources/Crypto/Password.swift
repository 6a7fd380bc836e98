import CSodium
import Spelling

/// The hashing of passwords by argon2id (RFC 9106), with a salt of its own for each.
///
/// Each call takes some 15 ms and `memoryBytes`, and so belongs on a thread that may wait.
public enum Password {
    /// OWASP's least parameters: 19 MiB and two passes.
    public static let memoryBytes = 19 << 20
    private static let passes: UInt64 = 2

    /// The hash of a password, however it is spelled, with its parameters, in the text format of
    /// the algorithm's authors.
    ///
    /// - Returns: nil where memory is short.
    public static func hash(_ password: String) -> String? {
        Spelling.ofPassword(password).flatMap { hash(Array($0.utf8)) }
    }

    /// Whether this is the password of the hash, which an earlier version may have made of the
    /// password as it was typed.
    public static func verifies(_ password: String, _ hash: String) -> Bool {
        guard let spelled = Spelling.ofPassword(password) else { return false }
        if verifies(Array(spelled.utf8), hash) { return true }
        let isSpelledSo = spelled.utf8.elementsEqual(password.utf8)
        return !isSpelledSo && verifies(Array(password.utf8), hash)
    }

    /// - Returns: nil where memory is short.
    static func hash(_ password: [UInt8]) -> String? {
        guard sodium_init() >= 0 else { return nil }
        var text = [CChar](repeating: 0, count: Int(crypto_pwhash_argon2id_STRBYTES))
        let result = crypto_pwhash_argon2id_str(
            &text, characters(of: password), UInt64(password.count), passes, memoryBytes)
        guard result == 0 else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Whether these are the bytes of the hash; the time it takes does not depend on how much of
    /// it is right.
    static func verifies(_ password: [UInt8], _ hash: String) -> Bool {
        guard sodium_init() >= 0, hash.utf8.count < Int(crypto_pwhash_argon2id_STRBYTES) else {
            return false
        }
        return crypto_pwhash_argon2id_str_verify(
            hash, characters(of: password), UInt64(password.count)) == 0
    }

    /// The password as the library takes it; one that is empty has an address as well.
    private static func characters(of password: [UInt8]) -> [CChar] {
        password.map(CChar.init(bitPattern:)) + [0]
    }
}
