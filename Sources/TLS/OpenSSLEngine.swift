import COpenSSL
import NetworkIO

/// The TLS encryption of one connection by OpenSSL, in memory and without a socket.
///
/// The owner of the engine decides what the two peers have to prove in the handshake.
final class OpenSSLEngine {
    /// The maximum number of bytes that one handshake step gets, because bytes that follow the
    /// handshake do not belong to it.
    private static let stepBytes = 4 * 1024

    /// The maximum size of a TLS record, in bytes (RFC 8446, section 5.1).
    private static let recordBytesMax = 16 * 1024

    /// Whether the TLS handshake is complete.
    private(set) var isUp = false
    private(set) var hasReachedEnd = false
    /// The number of times that the key for sent records was replaced (TLS key update).
    private(set) var renewals = 0
    let ssl: OpaquePointer

    private let buffer: ScratchBuffer
    private let recordsPerKeyMax: Int
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer
    private(set) var handshakeBytes = 0
    private var recordsSealed = 0
    /// An error that was found after decrypted bytes; it is thrown once those bytes were returned.
    private var failure: HandshakeError?

    /// - Parameters:
    ///   - context: the OpenSSL context, whose references OpenSSL counts.
    ///   - scratch: the buffer that all connections of the context share.
    ///   - recordsPerKeyMax: the number of sent records after which their key is replaced.
    init(
        _ context: OpaquePointer, scratch: ScratchBuffer, recordsPerKeyMax: Int
    ) {
        guard let ssl = SSL_new(context), let incoming = BIO_new(BIO_s_mem()),
            let outgoing = BIO_new(BIO_s_mem())
        else { preconditionFailure("OpenSSL is out of memory") }
        (self.ssl, self.incoming, self.outgoing) = (ssl, incoming, outgoing)
        buffer = scratch
        self.recordsPerKeyMax = recordsPerKeyMax
        // `ssl` now owns both buffers.
        SSL_set_bio(ssl, incoming, outgoing)
    }

    deinit { SSL_free(ssl) }

    private var scratch: UnsafeMutableRawBufferPointer { buffer.bytes }

    // MARK: The handshake

    /// Processes bytes that were received from the network.
    ///
    /// - Parameters:
    ///   - handshakeBytesMax: the maximum number of bytes before the handshake is complete.
    ///   - mayBegin: whether the peer's first byte may be this one.
    ///   - shakeHands: performs a step of the handshake; called for each piece of input.
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

    /// Performs a step of the TLS handshake.
    ///
    /// - Parameters:
    ///   - check: throws if the complete handshake does not prove what the owner requires.
    ///   - reason: returns the reason why the handshake failed.
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
        // TLS 1.2 cannot replace the keys of a connection.
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
