import COpenSSL

/// The secret that all nodes of a cluster share; a peer that sends the secret, or proves to have
/// it, belongs to the cluster.
///
/// The textual description of a key never contains the secret.
package struct Key: Hashable, Sendable {
    /// The minimum and the maximum length of a cluster key, in bytes: 32 hexadecimal digits are 128
    /// bits, which cannot be guessed; a text of more than 256 bytes is probably from another kind
    /// of file.
    package static let bytesMin = 32
    package static let bytesMax = 256

    /// The cluster key as it is written in the key file.
    package let text: String

    /// The name of the cluster key, by which two nodes find a key that both have.
    let identity: [UInt8]
    /// The pre-shared key of TLS, derived from the cluster key.
    let secret: [UInt8]
    /// The hash of the cluster key with which the secret that a client sends is compared.
    let digest: [UInt8]

    private static let digestBytes = 32
    /// The length of the name of a cluster key, in bytes of a hash; no two keys have the same name.
    private static let identityBytes = 16

    /// Whether `text` is this cluster key, compared in a time that does not depend on how much of
    /// it is right.
    func isSaid(by text: String) -> Bool {
        let said = Key.hash("comparison", [UInt8](text.utf8))
        return CRYPTO_memcmp(said, digest, Key.digestBytes) == 0
    }

    /// Whether a key would be parsed as an option after the command `AUTH`: it begins with
    /// `[a-z]+=`.
    static func looksLikeOption(_ bytes: [UInt8]) -> Bool {
        let name = bytes.prefix { (0x61...0x7a).contains($0) }
        return !name.isEmpty && name.count < bytes.count
            && bytes[name.count] == UInt8(ascii: "=")
    }

    /// The minimum number of different characters in a cluster key, and of different steps between
    /// neighbours.
    ///
    /// Of random keys of 32 hexadecimal digits, one in 28 million has fewer than 8 different
    /// digits. The steps vary more than the digits, and longer keys have more of both.
    private static let differentMin = 8

    /// Whether a key is so regular that no random source created it: it consists of a few
    /// characters, a repeated block, or characters in their order.
    static func isGuessable(_ bytes: [UInt8]) -> Bool {
        let steps = zip(bytes, bytes.dropFirst()).map { Int($1) - Int($0) }
        guard Set(bytes).count >= differentMin, Set(steps).count >= differentMin else {
            return true
        }
        return (1...max(1, bytes.count / 2)).contains { period in
            bytes.dropFirst(period).elementsEqual(bytes.dropLast(period))
        }
    }

    /// Returns a SHA-256 hash of a key for one use, so that the hash for one use does not reveal
    /// another's.
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
    /// Creates a cluster key; nil for text that is no valid key, for which `KeyFile` gives the
    /// reason.
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

/// The one or two cluster keys of a node, which uses the first key and accepts either.
package struct KeyRing: Hashable, Sendable {
    package let first: Key
    package let second: Key?

    package init(_ first: Key, _ second: Key? = nil) {
        self.first = first
        self.second = second
    }

    package var keys: [Key] { [first] + (second.map { [$0] } ?? []) }

    package func contains(_ key: Key) -> Bool { keys.contains(key) }

    /// Returns the cluster key that equals `text`, after comparing it with both; nil if neither
    /// does.
    package func key(saidBy text: String) -> Key? {
        let found = keys.filter { $0.isSaid(by: text) }
        return found.first
    }

    func key(named identity: UnsafeRawBufferPointer) -> Key? {
        keys.first { $0.identity.elementsEqual(identity) }
    }
}
