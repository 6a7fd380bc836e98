import COpenSSL

/// A secret that every node of a cluster has; a peer that sends it, or proves to know it, belongs
/// to the cluster.
///
/// The description of a key never contains the secret.
package struct Key: Hashable, Sendable {
    /// The fewest and the most bytes of a key: 32 of `openssl rand -hex` are 128 bits, which cannot
    /// be guessed, and more than 256 mean that another file was taken for a key.
    package static let bytesMin = 32
    package static let bytesMax = 256

    /// The text as it stands in the file.
    package let text: String

    /// The name of the key, by which both ends find out whether they have one in common.
    let identity: [UInt8]
    /// The pre-shared key of TLS, from which the encryption of a connection starts.
    let secret: [UInt8]
    /// The hash that a secret sent by a client is compared with.
    let digest: [UInt8]

    private static let digestBytes = 32
    /// The bytes of a hash that name a key; two keys never have the same name.
    private static let identityBytes = 16

    /// Whether `text` is the same secret; the comparison takes equally long for a near miss.
    func isSaid(by text: String) -> Bool {
        let said = Key.hash("comparison", [UInt8](text.utf8))
        return CRYPTO_memcmp(said, digest, Key.digestBytes) == 0
    }

    /// Whether the bytes would be read as an option after `AUTH`: they begin with `[a-z]+=`.
    static func looksLikeOption(_ bytes: [UInt8]) -> Bool {
        let name = bytes.prefix { (0x61...0x7a).contains($0) }
        return !name.isEmpty && name.count < bytes.count
            && bytes[name.count] == UInt8(ascii: "=")
    }

    /// The fewest different characters of a key, and the fewest different steps between neighbours.
    ///
    /// Of keys of 32 random hexadecimal digits, one in 28 million has fewer than 8 different
    /// digits; the steps vary more; longer keys, and those of more characters, have more of both.
    private static let differentMin = 8

    /// Whether the bytes are so regular that no random source made them: one or a few characters, a
    /// repeated block, or characters in their order.
    static func isGuessable(_ bytes: [UInt8]) -> Bool {
        let steps = zip(bytes, bytes.dropFirst()).map { Int($1) - Int($0) }
        guard Set(bytes).count >= differentMin, Set(steps).count >= differentMin else {
            return true
        }
        return (1...max(1, bytes.count / 2)).contains { period in
            bytes.dropFirst(period).elementsEqual(bytes.dropLast(period))
        }
    }

    /// Returns a SHA-256 hash; each use has a hash of its own, so that none reveals another.
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
    /// Creates a key; nil for text that cannot be one, for which `KeyFile` gives the reason.
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

/// The one or two keys of a node: it uses the first, and accepts either.
package struct KeyRing: Hashable, Sendable {
    package let first: Key
    package let second: Key?

    package init(_ first: Key, _ second: Key? = nil) {
        self.first = first
        self.second = second
    }

    package var keys: [Key] { [first] + (second.map { [$0] } ?? []) }

    package func contains(_ key: Key) -> Bool { keys.contains(key) }

    /// Returns the key that `text` is, if any; both are always compared.
    package func key(saidBy text: String) -> Key? {
        let found = keys.filter { $0.isSaid(by: text) }
        return found.first
    }

    func key(named identity: UnsafeRawBufferPointer) -> Key? {
        keys.first { $0.identity.elementsEqual(identity) }
    }
}
