import COpenSSL
import NetworkIO

/// One end of a TLS connection whose two ends prove to each other that they have the same cluster
/// key.
package final class OpenSSLLayer: TLSLayer {
    /// The maximum number of bytes that the peer may send before the handshake is complete; a
    /// handshake with a pre-shared key has less than 1 KiB.
    static let handshakeBytesMax = 32 * 1024

    /// Whether both ends have proved that they have the same cluster key.
    package var isUp: Bool { engine.isUp }
    package var hasReachedEnd: Bool { engine.hasReachedEnd }
    /// The cluster key that both ends have proved to have, or that the peer claims to have.
    package private(set) var key: Key?
    /// The number of times that the key for sent records was replaced (TLS key update).
    var renewals: Int { engine.renewals }

    /// The node's cluster keys when the connection was made.
    let keys: KeyRing
    /// The name of the cluster key that this end uses, at an address that OpenSSL reads.
    let identity: UnsafeMutableBufferPointer<UInt8>

    private let isDialling: Bool
    private let engine: OpenSSLEngine
    private var hasOfferedUnknownKey = false

    init(_ context: TLSContext, isDialling: Bool) {
        self.isDialling = isDialling
        keys = context.keys
        identity = .allocate(capacity: keys.first.identity.count)
        _ = identity.initialize(from: keys.first.identity)
        engine = OpenSSLEngine(
            context.raw, scratch: context.scratch, recordsPerKeyMax: context.recordsPerKeyMax)
        SSL_set_ex_data(engine.ssl, 0, Unmanaged.passUnretained(self).toOpaque())
        if isDialling {
            SSL_set_connect_state(engine.ssl)
            // A peer that presents a certificate instead of a pre-shared key is not trusted,
            // whoever has signed it.
            SSL_set_verify(engine.ssl, SSL_VERIFY_PEER, nil)
        } else {
            SSL_set_accept_state(engine.ssl)
        }
    }

    deinit { identity.deallocate() }

    static func of(_ ssl: OpaquePointer?) -> OpenSSLLayer? {
        guard let ssl, let data = SSL_get_ex_data(ssl, 0) else { return nil }
        return Unmanaged<OpenSSLLayer>.fromOpaque(data).takeUnretainedValue()
    }

    // MARK: The handshake

    package func begin() throws(HandshakeError) {
        if isDialling { try shakeHands() }
    }

    package func receive(_ wire: UnsafeRawBufferPointer) throws(HandshakeError) {
        try engine.receive(
            wire, handshakeBytesMax: OpenSSLLayer.handshakeBytesMax, mayBegin: mayBegin
        ) { () throws(HandshakeError) in try shakeHands() }
    }

    /// Whether the peer's first byte may be this one: that of a handshake record, and, from the
    /// peer of the end that connected, also that of an alert.
    private func mayBegin(with byte: UInt8) -> Bool {
        byte == UInt8(SSL3_RT_HANDSHAKE) || (isDialling && byte == UInt8(SSL3_RT_ALERT))
    }

    private func shakeHands() throws(HandshakeError) {
        try engine.shakeHands(
            check: { () throws(HandshakeError) in
                // A handshake can also succeed with a certificate, which proves no cluster key.
                guard SSL_session_reused(engine.ssl) == 1 else { throw .noKey }
                if isDialling { key = keys.first }
            }, reason: reasonOfRefusal)
    }

    private func reasonOfRefusal() -> HandshakeError {
        let reason = ERR_GET_REASON(ERR_peek_error())
        if isDialling {
            // The peer sent an alert, because it does not have the key.
            return reason >= SSL_AD_REASON_OFFSET ? .wrongKey : .unreadable
        }
        if hasOfferedUnknownKey { return .wrongKey }
        let lacks = [
            SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, SSL_R_NO_SHARED_CIPHER,
            SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_NO_SUITABLE_KEY_SHARE, SSL_R_VERSION_TOO_LOW,
            SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS, SSL_R_NO_CERTIFICATE_SET,
        ]
        return key == nil && lacks.contains(reason) ? .noKey : .unreadable
    }

    /// Returns the cluster key that the peer claims to have, which it has yet to prove.
    func key(named identity: UnsafeRawBufferPointer) -> Key? {
        key = keys.key(named: identity)
        hasOfferedUnknownKey = key == nil
        return key
    }

    /// Creates the TLS session by which OpenSSL gets a pre-shared key; OpenSSL then owns the
    /// session.
    func makeSession(of key: Key) -> OpaquePointer? {
        // The number of TLS_AES_128_GCM_SHA256 in the TLS protocol.
        guard let cipher = SSL_CIPHER_find(engine.ssl, [0x13, 0x01]),
            let session = SSL_SESSION_new()
        else { return nil }
        let codes = [
            SSL_SESSION_set1_master_key(session, key.secret, key.secret.count),
            SSL_SESSION_set_cipher(session, cipher),
            SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION),
        ]
        guard codes.allSatisfy({ $0 == 1 }) else {
            SSL_SESSION_free(session)
            return nil
        }
        return session
    }

    // MARK: Data of the owners

    package func open() throws(HandshakeError) -> UnsafeRawBufferPointer { try engine.open() }

    package func seal(_ plain: UnsafeRawBufferPointer) throws(HandshakeError) {
        try engine.seal(plain)
    }

    package func sealEnd() throws(HandshakeError) { try engine.sealEnd() }

    package func takeWire(_ body: (UnsafeRawBufferPointer) -> Void) { engine.takeWire(body) }
}
