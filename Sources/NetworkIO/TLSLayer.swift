/// The layer between a connection and the wire that authenticates the peer and encrypts.
///
/// It belongs to one connection and does no I/O of its own: bytes go in and come out.
package protocol TLSLayer: AnyObject {
    /// Whether the handshake is complete; no data of the owner passes before.
    var isUp: Bool { get }

    /// Makes the first bytes of the handshake, if this end begins.
    func begin() throws(HandshakeError)

    /// Takes all bytes that came off the wire.
    func receive(_ wire: UnsafeRawBufferPointer) throws(HandshakeError)

    /// Returns decrypted bytes for the owner; empty where none are left, valid until the next call.
    func open() throws(HandshakeError) -> UnsafeRawBufferPointer

    /// Encrypts bytes of the owner; only after the handshake.
    func seal(_ plain: UnsafeRawBufferPointer) throws(HandshakeError)

    /// Announces that the owner sends no more.
    func sealEnd() throws(HandshakeError)

    /// Whether the peer has announced that it sends no more.
    var hasReachedEnd: Bool { get }

    /// Passes the bytes for the wire to `body`, and drops them.
    func takeWire(_ body: (UnsafeRawBufferPointer) -> Void)
}

/// The reason why the peer of a connection is not trusted.
package enum HandshakeError: Error, Hashable, Sendable {
    /// The peer does not encrypt at all.
    case plainText
    /// The peer speaks the protocol and offers no key.
    case noKey
    /// The peer has another key.
    case wrongKey
    /// The peer did not finish the handshake in time.
    case late
    /// The peer closed the connection during the handshake.
    case hungUp
    /// The peer sent more than any handshake has.
    case tooMuch
    /// The peer sent bytes that no node with the key sends: damaged, replayed or forged.
    case unreadable
}

extension HandshakeError: CustomStringConvertible {
    /// The failure, without advice about it.
    package var description: String {
        switch self {
        case .plainText: "it does not encrypt"
        case .noKey: "it offers no key"
        case .wrongKey: "it has another key"
        case .late: "it did not finish the handshake in time"
        case .hungUp: "it hung up in the handshake"
        case .tooMuch: "it sent more than a handshake"
        case .unreadable: "it sent what no node with the key sends"
        }
    }
}

/// The TLS layer of a connection, with the bytes and the callback that wait for it.
final class TLSLayerState {
    /// The most bytes encrypted in one piece, so that a full queue is not copied whole.
    static let sealedBytesMax = 256 * 1024

    let tls: any TLSLayer
    /// Bytes that the owner has written and the TLS layer has not encrypted.
    var plain = OutputBuffer()
    /// Called once: when the handshake is complete, or has failed.
    private var then: ((Result<Void, NetworkError>) -> Void)?
    /// The time limit of the handshake.
    private var deadline: Timer?
    var hasSealedEnd = false
    /// Whether the TLS layer may hold bytes that the owner has not read.
    var mayHoldMore = false

    init(_ tls: any TLSLayer, _ then: @escaping (Result<Void, NetworkError>) -> Void) {
        self.tls = tls
        self.then = then
    }

    func expire(after milliseconds: UInt64, on loop: EventLoop, _ work: @escaping () -> Void) {
        deadline = Timer(on: loop, afterMilliseconds: milliseconds, work)
    }

    /// Reports the result of the handshake; harmless when repeated.
    func completeHandshake(_ result: Result<Void, NetworkError>) {
        deadline?.cancel()
        deadline = nil
        let told = then
        then = nil
        told?(result)
    }
}
