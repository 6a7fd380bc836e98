/// A TLS certificate with its chain of issuers, and its private key, in PEM.
package struct Certificate: Sendable {
    /// The reason why a certificate or its private key cannot be used.
    package enum Unusable: Error, Hashable {
        case unreadable(KeyFileError, option: String)
        case certificate
        case key

        /// Returns an error message for the person who named the files.
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

    /// The maximum size of the certificate file and of the key file, in bytes.
    static let bytesMax = 256 << 10

    let chain: [UInt8]
    let key: [UInt8]

    /// Reads a certificate file and a key file; only the key file's owner may have access to the
    /// key file.
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
        // A certificate that cannot be used is reported now, and not to the first client.
        _ = try CertificateContext(self)
    }
}
