import COpenSSL

/// A secret that every node of a cluster has: who says it, or proves to know it, belongs to it.
///
/// What is printed of it is never the secret.
package struct Key: Hashable, Sendable {
    /// The fewest and the most bytes of one: 32 of `openssl rand -hex` are 128 bits and past all
    /// guessing, and beyond 256 somebody has taken another file for a key.
    package static let bytesMin = 32
    package static let bytesMax = 256

    /// As it stands in the file.
    package let text: String

    /// What names it where both ends have to find out whether they have one in common.
    let identity: [UInt8]
    /// What the encryption of a connection starts from.
    let secret: [UInt8]
    /// What a secret that somebody says is compared with.
    let digest: [UInt8]

    private static let digestBytes = 32
    /// So many bytes of a hash name a key: two never have the same.
    private static let identityBytes = 16

    /// Whether this is the same secret; that takes as long for a near miss as for any other.
    func isSaid(by text: String) -> Bool {
        let said = Key.hash("comparison", [UInt8](text.utf8))
        return CRYPTO_memcmp(said, digest, Key.digestBytes) == 0
    }

    /// What begins so would be read as an option behind `AUTH`: `[a-z]+=`.
    static func looksLikeOption(_ bytes: [UInt8]) -> Bool {
        let name = bytes.prefix { (0x61...0x7a).contains($0) }
        return !name.isEmpty && name.count < bytes.count
            && bytes[name.count] == UInt8(ascii: "=")
    }

    /// The fewest different characters of a key, and steps from one character to the next.
    ///
    /// Of 32 random hexadecimal digits fewer than 8 are different once in 28 million keys; the
    /// steps vary more; longer keys, and those of more characters, have more of both.
    private static let differentMin = 8

    /// Whether these bytes are so regular that no random source made them: one character, a few, a
    /// block again and again, or characters in their order.
    static func isGuessable(_ bytes: [UInt8]) -> Bool {
        let steps = zip(bytes, bytes.dropFirst()).map { Int($1) - Int($0) }
        guard Set(bytes).count >= differentMin, Set(steps).count >= differentMin else {
            return true
        }
        return (1...max(1, bytes.count / 2)).contains { period in
            bytes.dropFirst(period).elementsEqual(bytes.dropLast(period))
        }
    }

    /// SHA-256; each use has a hash of its own, so that none gives another away.
    private static func hash(_ use: String, _ bytes: [UInt8]) -> [UInt8] {
        let input = Array("grapevine key 1, \(use)\n".utf8) + bytes
        var output = [UInt8](repeating: 0, count: Key.digestBytes)
        let code = EVP_Digest(input, input.count, &output, nil, EVP_sha256(), nil)
        precondition(code == 1, "OpenSSL always has SHA-256")
        return output
    }

    private static func hexadecimal(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        return bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    }
}

extension Key {
    /// Nil for what cannot be a key; `KeyFile` says why.
    package init?(_ text: String) {
        let bytes = [UInt8](text.utf8)
        guard (Key.bytesMin...Key.bytesMax).contains(bytes.count),
            bytes.allSatisfy({ (0x21...0x7e).contains($0) }), !Key.looksLikeOption(bytes)
        else { return nil }
        self.init(
            text: text,
            identity: Key.hexadecimal(Key.hash("name", bytes).prefix(Key.identityBytes)),
            secret: Key.hash("pre-shared key", bytes), digest: Key.hash("comparison", bytes))
    }
}

extension Key: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "a key" }

    package var debugDescription: String { description }

    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The one or two keys of a node: it says the first, and believes either.
package struct KeyRing: Hashable, Sendable {
    package let first: Key
    package let second: Key?

    package init(_ first: Key, _ second: Key? = nil) {
        self.first = first
        self.second = second
    }

    package var keys: [Key] { [first] + (second.map { [$0] } ?? []) }

    package func contains(_ key: Key) -> Bool { keys.contains(key) }

    /// The key that somebody says, if it is one of these; both are always looked at.
    package func key(saidBy text: String) -> Key? {
        let found = keys.filter { $0.isSaid(by: text) }
        return found.first
    }

    func key(named identity: UnsafeRawBufferPointer) -> Key? {
        keys.first { $0.identity.elementsEqual(identity) }
    }
}
