import LineProtocol
import TLS

/// The option `--key-file <file>` of a command line.
package enum KeyOption {
    package struct Unusable: Error {
        package let sentence: String
    }

    /// Removes the option from the words, if it is the first, and reads the file.
    package static func removeKeyOption(
        _ words: inout ArraySlice<String>
    ) throws(Unusable) -> [Key] {
        guard let first = words.first, first.hasPrefix("--key-file") else { return [] }
        words = words.dropFirst()
        let path: String
        if first.hasPrefix("--key-file=") {
            path = String(first.dropFirst("--key-file=".count))
        } else if first == "--key-file", let word = words.popFirst() {
            path = word
        } else {
            throw Unusable(sentence: "--key-file needs a file")
        }
        do throws(KeyFileError) {
            return try KeyFile.read(path).keys
        } catch {
            throw Unusable(sentence: error.sentence(of: path))
        }
    }
}

extension LineConnection {
    package enum SignedIn {
        case signedIn
        case refused(LineReply)
        case failed(LineFailure)
    }

    /// Tries one key after another: during a change of keys, a node may know only the second.
    package func signIn(with keys: [Key], then: @escaping (SignedIn) -> Void) {
        guard let key = keys.first else { return then(.signedIn) }
        let isSent = send("AUTH \(key.text)") { [self] answer in
            switch answer {
            case .success(let reply):
                // A node without a key requires none.
                if reply.isOK || reply.error?.code == 403 {
                    then(.signedIn)
                } else if keys.count > 1 {
                    signIn(with: Array(keys.dropFirst()), then: then)
                } else {
                    then(.refused(reply))
                }
            case .failure(let failure): then(.failed(failure))
            }
        }
        if !isSent { then(.failed(.closed)) }
    }
}
