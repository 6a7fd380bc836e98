/// A certificate with those that sign it, and its key, as PEM.
package struct Certificate: Sendable {
    /// The reason why a certificate or its key cannot be used.
    package enum Unusable: Error, Hashable {
        case unreadable(KeyFileError, option: String)
        case certificate
        case key

        /// Returns a description of the error for the person who named the files.
        package func sentence(certificate: String, key: String) -> String {
            switch self {
            case .unreadable(let error, let option):
                error.sentence(of: option == "--tls-key" ? key : certificate, option: option)
            case .certificate: "--tls-cert \(certificate) is not a certificate in PEM"
            case .key:
                "--tls-key \(key) is not the key of the certificate, in PEM and without a "
                    + "passphrase"
            }
        }
    }

    /// The most bytes of each file.
    static let bytesMax = 256 << 10

    let chain: [UInt8]
    let key: [UInt8]

    /// Reads the files; only its owner may have access to that of the key.
    package init(certificate: String, key: String) throws(Unusable) {
        do throws(KeyFileError) {
            chain = try KeyFile.contents(
                of: certificate, bytesMax: Certificate.bytesMax, isSecret: false)
        } catch {
            throw .unreadable(error, option: "--tls-cert")
        }
        do throws(KeyFileError) {
            self.key = try KeyFile.contents(of: key, bytesMax: Certificate.bytesMax)
        } catch {
            throw .unreadable(error, option: "--tls-key")
        }
        // What cannot be used is told now, not to the first client.
        _ = try CertificateContext(self)
    }
}
