import COpenSSL
import NetworkIO

/// An end of an encrypted connection: bytes in, bytes out, no socket.
package final class OpenSSLLayer: TLSLayer {
    /// The most bytes that the peer may send before the handshake is complete; a handshake with a
    /// key has less than 1 KiB.
    static let handshakeBytesMax = 32 * 1024

    /// The bytes given to the handshake at a time, since what follows it in one read is no part of
    /// it.
    private static let stepBytes = 4 * 1024

    /// The most bytes of a record, by RFC 8446, section 5.1.
    private static let recordBytesMax = 16 * 1024

    /// Whether both ends have proved that they know the key.
    package private(set) var isUp = false
    package private(set) var hasReachedEnd = false
    /// The key that both ends have proved, or that the peer claims to know.
    package private(set) var key: Key?
    /// How often the secret of this direction was replaced by the next.
    private(set) var renewals = 0

    /// The keys at the time when the connection was made.
    let keys: KeyRing
    /// The name of the key that this end uses, where OpenSSL finds it.
    let identity: UnsafeMutableBufferPointer<UInt8>

    private let context: TLSContext
    private let isDialling: Bool
    private let ssl: OpaquePointer
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer
    private var handshakeBytes = 0
    private var hasOfferedUnknownKey = false
    private var recordsSealed = 0
    /// An error found after decrypted bytes, and thrown after they were returned.
    private var failure: HandshakeError?

    init(_ context: TLSContext, isDialling: Bool) {
        self.context = context
        self.isDialling = isDialling
        keys = context.keys
        identity = .allocate(capacity: keys.first.identity.count)
        _ = identity.initialize(from: keys.first.identity)
        guard let ssl = SSL_new(context.raw), let incoming = BIO_new(BIO_s_mem()),
            let outgoing = BIO_new(BIO_s_mem())
        else { preconditionFailure("OpenSSL is out of memory") }
        (self.ssl, self.incoming, self.outgoing) = (ssl, incoming, outgoing)
        // `ssl` owns both from here on.
        SSL_set_bio(ssl, incoming, outgoing)
        SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(self).toOpaque())
        if isDialling {
            SSL_set_connect_state(ssl)
            // A peer that shows a certificate in place of the key is not trusted, whoever signed
            // it.
            SSL_set_verify(ssl, SSL_VERIFY_PEER, nil)
        } else {
            SSL_set_accept_state(ssl)
        }
    }

    deinit {
        SSL_free(ssl)
        identity.deallocate()
    }

    static func of(_ ssl: OpaquePointer?) -> OpenSSLLayer? {
        guard let ssl, let data = SSL_get_ex_data(ssl, 0) else { return nil }
        return Unmanaged<OpenSSLLayer>.fromOpaque(data).takeUnretainedValue()
    }

    // MARK: The handshake

    package func begin() throws(HandshakeError) {
        if isDialling { try shakeHands() }
    }

    package func receive(_ wire: UnsafeRawBufferPointer) throws(HandshakeError) {
        var rest = wire[...]
        while !isUp, let first = rest.first {
            if handshakeBytes == 0, !mayBegin(with: first) { throw .plainText }
            let step = rest.prefix(OpenSSLLayer.stepBytes)
            rest = rest.dropFirst(step.count)
            handshakeBytes += step.count
            put(step)
            try shakeHands()
            guard isUp || handshakeBytes <= OpenSSLLayer.handshakeBytesMax else { throw .tooMuch }
        }
        put(rest)
    }

    /// Whether the peer may begin with this byte: that of a handshake record, and for the end that
    /// dialled also that of an alert.
    private func mayBegin(with byte: UInt8) -> Bool {
        byte == UInt8(SSL3_RT_HANDSHAKE) || (isDialling && byte == UInt8(SSL3_RT_ALERT))
    }

    private func put(_ bytes: Slice<UnsafeRawBufferPointer>) {
        guard !bytes.isEmpty else { return }
        let bytes = UnsafeRawBufferPointer(rebasing: bytes)
        let count = BIO_write(incoming, bytes.baseAddress, Int32(bytes.count))
        precondition(count == bytes.count, "memory takes everything")
    }

    private func shakeHands() throws(HandshakeError) {
        ERR_clear_error()
        let code = SSL_do_handshake(ssl)
        if code == 1 {
            // A handshake can also succeed with a certificate, which proves no key.
            guard SSL_session_reused(ssl) == 1 else { throw .noKey }
            if isDialling { key = keys.first }
            isUp = true
        } else if SSL_get_error(ssl, code) != SSL_ERROR_WANT_READ {
            throw reasonOfRefusal()
        }
    }

    private func reasonOfRefusal() -> HandshakeError {
        let reason = ERR_GET_REASON(ERR_peek_error())
        if isDialling {
            // The peer sent an alert: it does not know the key.
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

    /// Returns the key that the peer claims to know, which it has yet to prove.
    func key(named identity: UnsafeRawBufferPointer) -> Key? {
        key = keys.key(named: identity)
        hasOfferedUnknownKey = key == nil
        return key
    }

    /// Makes the session in which OpenSSL takes a pre-shared key; OpenSSL takes over the reference.
    func makeSession(of key: Key) -> OpaquePointer? {
        // TLS_AES_128_GCM_SHA256, as it is written on the wire.
        guard let cipher = SSL_CIPHER_find(ssl, [0x13, 0x01]), let session = SSL_SESSION_new()
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

    package func open() throws(HandshakeError) -> UnsafeRawBufferPointer {
        if let failure { throw failure }
        var count = 0
        while count < context.scratch.count, !hasReachedEnd {
            ERR_clear_error()
            let place = context.scratch.baseAddress?.advanced(by: count)
            let code = SSL_read(ssl, place, Int32(context.scratch.count - count))
            if code > 0 {
                count += Int(code)
                continue
            }
            switch SSL_get_error(ssl, code) {
            case SSL_ERROR_WANT_READ: break
            case SSL_ERROR_ZERO_RETURN: hasReachedEnd = true
            default: failure = .unreadable
            }
            break
        }
        if count == 0, let failure { throw failure }
        return UnsafeRawBufferPointer(rebasing: context.scratch[..<count])
    }

    package func seal(_ plain: UnsafeRawBufferPointer) throws(HandshakeError) {
        guard !plain.isEmpty else { return }
        renewSecret(before: plain.count)
        ERR_clear_error()
        var count = 0
        let code = SSL_write_ex(ssl, plain.baseAddress, plain.count, &count)
        guard code == 1, count == plain.count else { throw .unreadable }
    }

    private func renewSecret(before count: Int) {
        let records = (count + OpenSSLLayer.recordBytesMax - 1) / OpenSSLLayer.recordBytesMax
        recordsSealed += records
        guard recordsSealed > context.recordsPerKeyMax else { return }
        recordsSealed = records
        renewals += Int(SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED))
    }

    package func sealEnd() throws(HandshakeError) {
        ERR_clear_error()
        guard SSL_shutdown(ssl) >= 0 else { throw .unreadable }
    }

    package func takeWire(_ body: (UnsafeRawBufferPointer) -> Void) {
        while BIO_ctrl_pending(outgoing) > 0 {
            let scratch = context.scratch
            let count = BIO_read(outgoing, scratch.baseAddress, Int32(scratch.count))
            guard count > 0 else { return }
            body(UnsafeRawBufferPointer(rebasing: scratch[..<Int(count)]))
        }
    }
}
