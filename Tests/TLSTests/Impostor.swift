import COpenSSL
import NetworkIO
import Testing

@testable import TLS

/// A dialler that claims to know a key by its name.
struct Liar {
    private let context: TLSContext

    init(name: [UInt8], secret: [UInt8]) {
        context = TLSContext(KeyRing(Key(text: "", identity: name, secret: secret, digest: [])))
    }

    func hello() throws(HandshakeError) -> [UInt8] {
        let tls = context.dialling()
        try tls.begin()
        return tls.said()
    }
}

/// A peer that speaks TLS 1.3 and has a certificate of its own making, or none.
final class Impostor {
    private let context: OpaquePointer
    private let ssl: OpaquePointer
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer

    private init(_ context: OpaquePointer) {
        guard let ssl = SSL_new(context), let incoming = BIO_new(BIO_s_mem()),
            let outgoing = BIO_new(BIO_s_mem())
        else { preconditionFailure("OpenSSL is out of memory") }
        (self.context, self.ssl, self.incoming, self.outgoing) = (context, ssl, incoming, outgoing)
        SSL_set_bio(ssl, incoming, outgoing)
    }

    convenience init() throws {
        let context = try #require(SSL_CTX_new(TLS_method()))
        let pair = try #require(newPair())
        let certificate = try #require(X509_new())
        X509_set_version(certificate, 2)
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1)
        X509_gmtime_adj(X509_getm_notBefore(certificate), 0)
        X509_gmtime_adj(X509_getm_notAfter(certificate), 3_600)
        X509_set_pubkey(certificate, pair)
        X509_sign(certificate, pair, nil)
        #expect(SSL_CTX_use_certificate(context, certificate) == 1)
        #expect(SSL_CTX_use_PrivateKey(context, pair) == 1)
        X509_free(certificate)
        EVP_PKEY_free(pair)
        self.init(context)
        SSL_set_accept_state(ssl)
    }

    static func dialler() -> Impostor {
        guard let context = SSL_CTX_new(TLS_method()) else {
            preconditionFailure("OpenSSL always has TLS")
        }
        let it = Impostor(context)
        SSL_set_connect_state(it.ssl)
        return it
    }

    deinit {
        SSL_free(ssl)
        SSL_CTX_free(context)
    }

    func hello() -> [UInt8] { answer([]) }

    func answer(_ bytes: [UInt8]) -> [UInt8] {
        if !bytes.isEmpty { BIO_write(incoming, bytes, Int32(bytes.count)) }
        SSL_do_handshake(ssl)
        var said = [UInt8](repeating: 0, count: 64 * 1024)
        let count = BIO_read(outgoing, &said, Int32(said.count))
        return Array(said.prefix(max(0, Int(count))))
    }
}

private func newPair() -> OpaquePointer? {
    guard let maker = EVP_PKEY_CTX_new_from_name(nil, "ED25519", nil) else { return nil }
    defer { EVP_PKEY_CTX_free(maker) }
    var pair: OpaquePointer?
    guard EVP_PKEY_keygen_init(maker) == 1, EVP_PKEY_generate(maker, &pair) == 1 else {
        return nil
    }
    return pair
}
