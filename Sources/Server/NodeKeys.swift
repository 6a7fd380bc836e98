import Crypto
import Gateway
import NetworkIO
import TLS

/// The keys of a node: those that nodes prove to each other, and those that clients sign in with.
struct NodeKeys: Sendable {
    /// The keys in `--key-file`; nil where the node has none.
    let ofNodes: KeyRing?
    /// The keys in `--admin-key-file`, or else those of the nodes.
    ///
    /// A person who knows only the keys in that file cannot act as a node.
    let ofClients: KeyRing?
    /// The keys in `--jwt-key`, with which access tokens are signed; nil where it is not given.
    let ofTokens: KeySet?

    /// The secret in `--push-key`, from which the keys of pushes are derived; nil for none.
    let ofPushes: [UInt8]?

    /// What the port for apps shows to its clients; nil where it does not encrypt.
    let certificate: Certificate?

    /// The most bytes of the file of `--jwt-key`.
    private static let keySetBytesMax = 64 << 10

    /// The reason why the files cannot be used, for the person who named them.
    struct Unusable: Error {
        let sentence: String
    }

    init(of command: NodeCommand) throws(Unusable) {
        certificate = try NodeKeys.readCertificate(command)
        var ofTokens = try NodeKeys.readKeySet(command.jwtKeyFile)
        ofTokens?.rules = command.tokenRules
        self.ofTokens = ofTokens
        ofPushes = try NodeKeys.readPushKey(command.pushKeyFile)
        ofNodes = try NodeKeys.read(command.keyFile, "--key-file")
        guard let path = command.adminKeyFile else {
            ofClients = ofNodes
            return
        }
        let keys = try NodeKeys.read(path, "--admin-key-file")
        if let ofNodes, let keys, keys.keys.contains(where: ofNodes.contains) {
            throw Unusable(
                sentence: "--admin-key-file \(path) holds a key of --key-file: with it an operator "
                    + "could act as a node")
        }
        ofClients = keys
    }

    private static func readCertificate(
        _ command: NodeCommand
    ) throws(Unusable) -> Certificate? {
        guard let certificate = command.tlsCertificate, let key = command.tlsKey else {
            return nil
        }
        do throws(Certificate.Unusable) {
            return try Certificate(certificate: certificate, key: key)
        } catch {
            throw Unusable(sentence: error.sentence(certificate: certificate, key: key))
        }
    }

    private static func readPushKey(_ path: String?) throws(Unusable) -> [UInt8]? {
        guard let path else { return nil }
        var text: [UInt8]
        do throws(KeyFileError) {
            text = try KeyFile.contents(of: path, bytesMax: 4_096)
        } catch {
            throw Unusable(sentence: error.sentence(of: path, option: "--push-key"))
        }
        while let last = text.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") {
            text.removeLast()
        }
        guard text.count >= SignatureKey.secretBytesMin else {
            throw Unusable(
                sentence: "--push-key \(path) has fewer than \(SignatureKey.secretBytesMin) bytes")
        }
        return text
    }

    private static func readKeySet(_ path: String?) throws(Unusable) -> KeySet? {
        guard let path else { return nil }
        let text: [UInt8]
        do throws(KeyFileError) {
            text = try KeyFile.contents(of: path, bytesMax: keySetBytesMax)
        } catch {
            throw Unusable(sentence: error.sentence(of: path, option: "--jwt-key"))
        }
        do throws(KeySet.Unusable) {
            return try KeySet(reading: text)
        } catch {
            throw Unusable(
                sentence: "--jwt-key \(path) is not a set of keys (RFC 7517): \(error.sentence)")
        }
    }

    private static func read(
        _ path: String?, _ option: String
    ) throws(Unusable) -> KeyRing? {
        guard let path else { return nil }
        do throws(KeyFileError) {
            return try KeyFile.read(path)
        } catch {
            throw Unusable(sentence: error.sentence(of: path, option: option))
        }
    }
}
