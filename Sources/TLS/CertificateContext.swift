import COpenSSL
import NetworkIO

/// The OpenSSL context of all TLS connections that present a certificate: TLS 1.2 or 1.3, without
/// session resumption.
///
/// The context may be used only on the thread of its connections.
package final class CertificateContext {
    /// The maximum number of records that are encrypted with one key of a connection, as between
    /// nodes.
    static let recordsPerKeyMax = 1 << 22
    private static let plainBytesMax = 64 * 1024
    /// The cipher suites of TLS 1.2 with forward secrecy and authenticated encryption.
    private static let ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20"

    let raw: OpaquePointer
    let scratch = ScratchBuffer(byteCount: CertificateContext.plainBytesMax)

    /// - Throws: an error if the certificate cannot be used; never for a certificate that was used
    ///   before.
    package init(_ certificate: Certificate) throws(Certificate.Unusable) {
        guard let raw = SSL_CTX_new(TLS_server_method()) else {
            preconditionFailure("OpenSSL always has TLS")
        }
        self.raw = raw
        configure()
        ERR_clear_error()
        defer { ERR_clear_error() }
        guard useCertificates(certificate.chain) else { throw .certificate }
        guard useKey(certificate.key), SSL_CTX_check_private_key(raw) == 1 else { throw .key }
    }

    deinit { SSL_CTX_free(raw) }

    /// Uses the first certificate of a PEM file as the server's, and the others as its chain of
    /// issuers.
    private func useCertificates(_ pem: [UInt8]) -> Bool {
        read(pem) { file in
            guard let first = PEM_read_bio_X509(file, nil, noPassphrase, nil)
            else { return false }
            defer { X509_free(first) }
            guard SSL_CTX_use_certificate(raw, first) == 1 else { return false }
            while let next = PEM_read_bio_X509(
                file, nil, noPassphrase, nil)
            {
                // The OpenSSL context now owns the certificate.
                let code = SSL_CTX_ctrl(
                    raw, SSL_CTRL_CHAIN_CERT, 0, UnsafeMutableRawPointer(next))
                guard code == 1 else {
                    X509_free(next)
                    return false
                }
            }
            return true
        }
    }

    private func useKey(_ pem: [UInt8]) -> Bool {
        read(pem) { file in
            guard
                let key = PEM_read_bio_PrivateKey(
                    file, nil, noPassphrase, nil)
            else { return false }
            defer { EVP_PKEY_free(key) }
            return SSL_CTX_use_PrivateKey(raw, key) == 1
        }
    }

    private func read(_ pem: [UInt8], _ body: (OpaquePointer) -> Bool) -> Bool {
        pem.withUnsafeBytes { bytes in
            guard let file = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else {
                return false
            }
            defer { BIO_free(file) }
            return body(file)
        }
    }

    private func configure() {
        let codes = [
            SSL_CTX_ctrl(raw, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil),
            Int(SSL_CTX_set_cipher_list(raw, CertificateContext.ciphers)),
            Int(SSL_CTX_set_num_tickets(raw, 0)),
        ]
        precondition(codes.allSatisfy { $0 == 1 }, "OpenSSL 3 has TLS 1.2 and AES")
        // Session tickets are off: their key exists as long as the process and could decrypt
        // recorded traffic.
        SSL_CTX_set_options(raw, UInt64(CertificateContext.options))
        SSL_CTX_ctrl(raw, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), nil)
        // An idle connection uses no memory for buffers.
        SSL_CTX_ctrl(raw, SSL_CTRL_MODE, Int(SSL_MODE_RELEASE_BUFFERS), nil)
        SSL_CTX_set_alpn_select_cb(
            raw,
            { _, chosen, count, offered, offeredCount, _ in
                var rest = UnsafeBufferPointer(start: offered, count: Int(offeredCount))[...]
                while let length = rest.popFirst() {
                    let name = rest.prefix(Int(length))
                    rest = rest.dropFirst(name.count)
                    guard name.elementsEqual("http/1.1".utf8) else { continue }
                    chosen?.pointee = UnsafeBufferPointer(rebasing: name).baseAddress
                    count?.pointee = length
                    return SSL_TLSEXT_ERR_OK
                }
                return SSL_TLSEXT_ERR_NOACK
            }, nil)
    }

    /// OpenSSL's options for no tickets, no renegotiation and no compression, whose macros Swift
    /// cannot import.
    private static let options: UInt64 = 1 << 14 | 1 << 30 | 1 << 17

    /// Creates the TLS layer of an accepted connection.
    package func accepting() -> CertificateLayer { CertificateLayer(self) }
}

/// Returns an empty passphrase, because OpenSSL would otherwise ask for one at the terminal.
private func noPassphrase(
    _: UnsafeMutablePointer<CChar>?, _: Int32, _: Int32, _: UnsafeMutableRawPointer?
) -> Int32 { 0 }
