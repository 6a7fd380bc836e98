import COpenSSL
import NetworkIO

/// The server's end of a TLS connection, which presents a certificate to every client.
package final class CertificateLayer: TLSLayer {
    /// The maximum number of bytes that the client may send before the handshake is complete; a
    /// handshake without a client certificate has some 2 KiB.
    static let handshakeBytesMax = 16 * 1024

    private let engine: OpenSSLEngine

    init(_ context: CertificateContext) {
        engine = OpenSSLEngine(
            context.raw, scratch: context.scratch,
            recordsPerKeyMax: CertificateContext.recordsPerKeyMax)
        SSL_set_accept_state(engine.ssl)
    }

    package var isUp: Bool { engine.isUp }
    package var hasReachedEnd: Bool { engine.hasReachedEnd }

    package func begin() throws(HandshakeError) {}

    package func receive(_ wire: UnsafeRawBufferPointer) throws(HandshakeError) {
        try engine.receive(
            wire, handshakeBytesMax: CertificateLayer.handshakeBytesMax,
            mayBegin: { $0 == UInt8(SSL3_RT_HANDSHAKE) },
            { () throws(HandshakeError) in
                try engine.shakeHands(
                    check: { () throws(HandshakeError) in }, reason: { .unreadable })
            })
    }

    package func open() throws(HandshakeError) -> UnsafeRawBufferPointer { try engine.open() }

    package func seal(_ plain: UnsafeRawBufferPointer) throws(HandshakeError) {
        try engine.seal(plain)
    }

    package func sealEnd() throws(HandshakeError) { try engine.sealEnd() }

    package func takeWire(_ body: (UnsafeRawBufferPointer) -> Void) { engine.takeWire(body) }
}
