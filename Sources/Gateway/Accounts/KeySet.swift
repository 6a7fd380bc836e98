import Crypto
import JSON
import Wire

/// The keys that verify access tokens (JSON Web Key Set, RFC 7517), and the revocations of tokens.
package struct KeySet: Sendable {
    /// The error for a text that is no usable JSON Web Key Set.
    package struct Unusable: Error, Hashable {
        /// The error message for the person who wrote the key file; it contains no key.
        package let sentence: String
    }

    struct Entry: Sendable {
        let name: String?
        let key: SignatureKey
    }

    /// The maximum number of keys in a set, since a token may have to be checked with each key.
    package static let keysMax = 32

    /// The rules for tokens of an app's own account system; nil if the cluster issues the tokens.
    package var rules: TokenRules?
    private var entries: [Entry] = []
    private var revocations = Revocations()

    /// Creates the key set from the cluster's own keys, which sign with HS256.
    init(_ secrets: [(name: String, secret: [UInt8])], _ revocations: Revocations) {
        entries = secrets.map { Entry(name: $0.name, key: .hs256($0.secret)) }
        self.revocations = revocations
    }

    func revokes(_ access: AccessToken) -> Bool { revocations.contains(access) }

    /// Whether the key set has a key with this key ID (`kid`), or a key without a key ID.
    func hasKey(named name: String) -> Bool {
        entries.contains { $0.name == nil || $0.name == name }
    }

    package var count: Int { entries.count }

    /// Reads a JSON Web Key Set, `{"keys":[…]}`, or a single JSON Web Key.
    package init(reading text: [UInt8]) throws(Unusable) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(reading: text)
        } catch {
            throw Unusable(sentence: error.message)
        }
        let keys: [JSONValue]
        if case .list(let list)? = value["keys"] { keys = list } else { keys = [value] }
        guard (1...KeySet.keysMax).contains(keys.count) else {
            throw Unusable(sentence: "A set has 1 to \(KeySet.keysMax) keys")
        }
        for (index, key) in keys.enumerated() {
            do throws(Unusable) {
                entries.append(try Entry(key))
            } catch {
                throw Unusable(sentence: "Key \(index + 1): \(error.sentence)")
            }
        }
    }

    /// Whether one of the key set's keys verifies the signature of a message.
    ///
    /// - Parameters:
    ///   - algorithm: the `alg` of the token; a key verifies only its own algorithm.
    ///   - keyName: the `kid` of the token; nil if it has none.
    func verifies(
        _ signature: [UInt8], of message: [UInt8], algorithm: String, keyName: String?
    ) -> Bool {
        entries.contains { entry in
            entry.key.algorithm == algorithm
                && (keyName == nil || entry.name == nil || entry.name == keyName)
                && entry.key.verifies(signature, of: message)
        }
    }
}

extension KeySet.Entry {
    init(_ value: JSONValue) throws(KeySet.Unusable) {
        func text(_ name: String) -> String? {
            if case .text(let text)? = value[name] { text } else { nil }
        }
        func bytes(_ name: String) -> [UInt8] { text(name).flatMap(Base64.decode) ?? [] }
        let key: SignatureKey?
        switch (text("kty"), text("crv")) {
        case ("oct", _):
            let secret = bytes("k")
            guard secret.count >= SignatureKey.secretBytesMin else {
                throw .init(
                    sentence:
                        "k has to be \(SignatureKey.secretBytesMin) bytes or more, in base64url")
            }
            key = .hs256(secret)
        case ("RSA", _):
            key = PublicKey.rsa(modulus: bytes("n"), exponent: bytes("e")).map(SignatureKey.rs256)
        case ("EC", "P-256"):
            key = PublicKey.p256(x: bytes("x"), y: bytes("y")).map(SignatureKey.es256)
        case ("OKP", "Ed25519"):
            key = PublicKey.ed25519(bytes("x")).map(SignatureKey.edDSA)
        default:
            throw .init(
                sentence: "kty has to be oct, RSA, EC with crv P-256, or OKP with crv Ed25519")
        }
        guard let key else { throw .init(sentence: "its numbers are not those of such a key") }
        if let algorithm = text("alg"), algorithm != key.algorithm {
            throw .init(sentence: "alg has to be \(key.algorithm)")
        }
        self.init(name: text("kid"), key: key)
    }
}
