import CSodium
import Spelling

/// The hashing of passwords with argon2id (RFC 9106) and a separate salt for each password.
///
/// Each call takes some 15 ms and `memoryBytes`, so it must run on a thread that may block.
public enum Password {
    /// OWASP's minimum parameters: 19 MiB of memory and two passes.
    public static let memoryBytes = 19 << 20
    private static let passes: UInt64 = 2

    /// Returns the hash of a normalised password, with its parameters, in the text format of
    /// argon2.
    ///
    /// - Returns: nil if there is too little memory to hash the password.
    public static func hash(_ password: String) -> String? {
        Spelling.ofPassword(password).flatMap { hash(Array($0.utf8)) }
    }

    /// Whether a password matches a hash, which earlier versions may have computed without
    /// normalising the password.
    public static func verifies(_ password: String, _ hash: String) -> Bool {
        guard let spelled = Spelling.ofPassword(password) else { return false }
        if verifies(Array(spelled.utf8), hash) { return true }
        let isSpelledSo = spelled.utf8.elementsEqual(password.utf8)
        return !isSpelledSo && verifies(Array(password.utf8), hash)
    }

    /// - Returns: nil if there is too little memory to hash the password.
    static func hash(_ password: [UInt8]) -> String? {
        guard sodium_init() >= 0 else { return nil }
        var text = [CChar](repeating: 0, count: Int(crypto_pwhash_argon2id_STRBYTES))
        let result = crypto_pwhash_argon2id_str(
            &text, characters(of: password), UInt64(password.count), passes, memoryBytes)
        guard result == 0 else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Whether a password's bytes match a hash; the time does not depend on how many match.
    static func verifies(_ password: [UInt8], _ hash: String) -> Bool {
        guard sodium_init() >= 0, hash.utf8.count < Int(crypto_pwhash_argon2id_STRBYTES) else {
            return false
        }
        return crypto_pwhash_argon2id_str_verify(
            hash, characters(of: password), UInt64(password.count)) == 0
    }

    /// The password as a C string, which has an address even if the password is empty.
    private static func characters(of password: [UInt8]) -> [CChar] {
        password.map(CChar.init(bitPattern:)) + [0]
    }
}
