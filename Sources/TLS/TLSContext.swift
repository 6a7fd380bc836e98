import COpenSSL
import NetworkIO

/// The OpenSSL context of all connections between nodes: TLS 1.3, one cipher suite, and the cluster
/// keys.
///
/// No certificates are used. Both ends prove that they have a cluster key, and each connection gets
/// new keys by Diffie-Hellman, so recorded traffic stays secret even if the cluster key becomes
/// known later, and replayed traffic proves nothing. Session tickets and early data are off,
/// because they would weaken this. The context may be used only on the thread of its connections.
package final class TLSContext {
    /// The maximum number of bytes that are decrypted at a time.
    private static let plainBytesMax = 64 * 1024

    /// The maximum number of records that are encrypted with one key of a connection: a sixth of
    /// what RFC 8446, section 5.5, allows for AES-GCM.
    private static let recordsPerKeyMax = 1 << 22

    /// The cluster keys for future connections: the first key is used, and all are accepted.
    package var keys: KeyRing

    let raw: OpaquePointer
    let scratch = ScratchBuffer(byteCount: TLSContext.plainBytesMax)
    let recordsPerKeyMax: Int

    package convenience init(_ keys: KeyRing) {
        self.init(keys, recordsPerKeyMax: TLSContext.recordsPerKeyMax)
    }

    init(_ keys: KeyRing, recordsPerKeyMax: Int) {
        self.keys = keys
        self.recordsPerKeyMax = recordsPerKeyMax
        guard let raw = SSL_CTX_new(TLS_method()) else {
            preconditionFailure("OpenSSL always has TLS")
        }
        self.raw = raw
        let version = Int(TLS1_3_VERSION)
        let codes = [
            SSL_CTX_ctrl(raw, SSL_CTRL_SET_MIN_PROTO_VERSION, version, nil),
            SSL_CTX_ctrl(raw, SSL_CTRL_SET_MAX_PROTO_VERSION, version, nil),
            Int(SSL_CTX_set_ciphersuites(raw, "TLS_AES_128_GCM_SHA256")),
            Int(SSL_CTX_set_num_tickets(raw, 0)),
        ]
        precondition(codes.allSatisfy { $0 == 1 }, "OpenSSL 3 has TLS 1.3 and AES")
        SSL_CTX_ctrl(raw, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), nil)
        SSL_CTX_set_psk_use_session_callback(raw) { ssl, _, name, count, session in
            guard let tls = OpenSSLLayer.of(ssl), let name, let count, let session else { return 0 }
            name.pointee = UnsafePointer(tls.identity.baseAddress)
            count.pointee = tls.identity.count
            session.pointee = tls.makeSession(of: tls.keys.first)
            return 1
        }
        SSL_CTX_set_psk_find_session_callback(raw) { ssl, name, count, session in
            guard let tls = OpenSSLLayer.of(ssl), let session else { return 0 }
            let key = tls.key(named: UnsafeRawBufferPointer(start: name, count: count))
            session.pointee = key.flatMap { tls.makeSession(of: $0) }
            return 1
        }
    }

    deinit { SSL_CTX_free(raw) }

    /// Creates the TLS layer of the end that opens a connection.
    package func dialling() -> OpenSSLLayer { OpenSSLLayer(self, isDialling: true) }

    /// Creates the TLS layer of the end that accepts a connection.
    package func accepting() -> OpenSSLLayer { OpenSSLLayer(self, isDialling: false) }
}
