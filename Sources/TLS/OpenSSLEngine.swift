import COpenSSL
import NetworkIO

/// The records of an encrypted connection, in memory: bytes in, bytes out, no socket.
///
/// What both ends prove to each other in the handshake is its owner's concern.
final class OpenSSLEngine {
    /// The bytes given to the handshake at a time, since what follows it in one read is no part of
    /// it.
    private static let stepBytes = 4 * 1024

    /// The most bytes of a record, by RFC 8446, section 5.1.
    private static let recordBytesMax = 16 * 1024

    /// Whether the handshake is complete.
    private(set) var isUp = false
    private(set) var hasReachedEnd = false
    /// How often the secret of this direction was replaced by the next.
    private(set) var renewals = 0
    let ssl: OpaquePointer

    private let buffer: ScratchBuffer
    private let recordsPerKeyMax: Int
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer
    private(set) var handshakeBytes = 0
    private var recordsSealed = 0
    /// An error found after decrypted bytes, and thrown after they were returned.
    private var failure: HandshakeError?

    /// - Parameters:
    ///   - context: OpenSSL counts who refers to it.
    ///   - scratch: the buffer of the context's connections.
    ///   - recordsPerKeyMax: the records after which the secret of a direction is replaced.
    init(
        _ context: OpaquePointer, scratch: ScratchBuffer, recordsPerKeyMax: Int
    ) {
        guard let ssl = SSL_new(context), let incoming = BIO_new(BIO_s_mem()),
            let outgoing = BIO_new(BIO_s_mem())
        else { preconditionFailure("OpenSSL is out of memory") }
        (self.ssl, self.incoming, self.outgoing) = (ssl, incoming, outgoing)
        buffer = scratch
        self.recordsPerKeyMax = recordsPerKeyMax
        // `ssl` owns both from here on.
        SSL_set_bio(ssl, incoming, outgoing)
    }

    deinit { SSL_free(ssl) }

    private var scratch: UnsafeMutableRawBufferPointer { buffer.bytes }

    // MARK: The handshake

    /// Takes bytes that came off the wire.
    ///
    /// - Parameters:
    ///   - handshakeBytesMax: the most bytes before the handshake is complete.
    ///   - mayBegin: whether the peer may begin with this byte.
    ///   - shakeHands: called for each step of the handshake.
    func receive(
        _ wire: UnsafeRawBufferPointer, handshakeBytesMax: Int, mayBegin: (UInt8) -> Bool,
        _ shakeHands: () throws(HandshakeError) -> Void
    ) throws(HandshakeError) {
        var rest = wire[...]
        while !isUp, let first = rest.first {
            if handshakeBytes == 0, !mayBegin(first) { throw .plainText }
            let step = rest.prefix(OpenSSLEngine.stepBytes)
            rest = rest.dropFirst(step.count)
            handshakeBytes += step.count
            put(step)
            try shakeHands()
            guard isUp || handshakeBytes <= handshakeBytesMax else { throw .tooMuch }
        }
        put(rest)
    }

    private func put(_ bytes: Slice<UnsafeRawBufferPointer>) {
        guard !bytes.isEmpty else { return }
        let bytes = UnsafeRawBufferPointer(rebasing: bytes)
        let count = BIO_write(incoming, bytes.baseAddress, Int32(bytes.count))
        precondition(count == bytes.count, "memory takes everything")
    }

    /// Makes a step of the handshake.
    ///
    /// - Parameters:
    ///   - check: whether a complete handshake proves what it has to.
    ///   - reason: the reason for which the handshake failed.
    func shakeHands(
        check: () throws(HandshakeError) -> Void, reason: () -> HandshakeError
    ) throws(HandshakeError) {
        ERR_clear_error()
        let code = SSL_do_handshake(ssl)
        if code == 1 {
            try check()
            isUp = true
        } else if SSL_get_error(ssl, code) != SSL_ERROR_WANT_READ {
            throw reason()
        }
    }

    // MARK: Data of the owners

    func open() throws(HandshakeError) -> UnsafeRawBufferPointer {
        if let failure { throw failure }
        var count = 0
        while count < scratch.count, !hasReachedEnd {
            ERR_clear_error()
            let place = scratch.baseAddress?.advanced(by: count)
            let code = SSL_read(ssl, place, Int32(scratch.count - count))
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
        return UnsafeRawBufferPointer(rebasing: scratch[..<count])
    }

    func seal(_ plain: UnsafeRawBufferPointer) throws(HandshakeError) {
        guard !plain.isEmpty else { return }
        renewSecret(before: plain.count)
        ERR_clear_error()
        var count = 0
        let code = SSL_write_ex(ssl, plain.baseAddress, plain.count, &count)
        guard code == 1, count == plain.count else { throw .unreadable }
    }

    private func renewSecret(before count: Int) {
        let records = (count + OpenSSLEngine.recordBytesMax - 1) / OpenSSLEngine.recordBytesMax
        recordsSealed += records
        guard recordsSealed > recordsPerKeyMax else { return }
        recordsSealed = records
        // TLS 1.2 has no new secrets within a connection.
        guard SSL_version(ssl) == TLS1_3_VERSION else { return }
        renewals += Int(SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED))
    }

    func sealEnd() throws(HandshakeError) {
        ERR_clear_error()
        guard SSL_shutdown(ssl) >= 0 else { throw .unreadable }
    }

    func takeWire(_ body: (UnsafeRawBufferPointer) -> Void) {
        while BIO_ctrl_pending(outgoing) > 0 {
            let count = BIO_read(outgoing, scratch.baseAddress, Int32(scratch.count))
            guard count > 0 else { return }
            body(UnsafeRawBufferPointer(rebasing: scratch[..<Int(count)]))
        }
    }
}
