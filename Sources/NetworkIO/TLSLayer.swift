/// What stands between a connection and the wire: it makes sure of who is at the other end, and
/// encrypts.
///
/// It belongs to one connection and does no I/O of its own: bytes go in and come out.
package protocol TLSLayer: AnyObject {
    /// Whether both ends have proved what they had to: nothing of the owner's passes before.
    var isUp: Bool { get }

    /// What it has to say first, if this end begins.
    func begin() throws(HandshakeError)

    /// Takes what came off the wire, all of it.
    func receive(_ wire: UnsafeRawBufferPointer) throws(HandshakeError)

    /// What of it is for the owner; empty where nothing is left, valid until the next call.
    func open() throws(HandshakeError) -> UnsafeRawBufferPointer

    /// Takes what the owner sends; only once it is up.
    func seal(_ plain: UnsafeRawBufferPointer) throws(HandshakeError)

    /// Says that the owner sends no more.
    func sealEnd() throws(HandshakeError)

    /// Whether the other end said that it sends no more.
    var hasReachedEnd: Bool { get }

    /// Hands over what is to go onto the wire, and forgets it.
    func takeWire(_ body: (UnsafeRawBufferPointer) -> Void)
}

/// Why the other end of a connection is not believed.
package enum HandshakeError: Error, Hashable, Sendable {
    /// What it sends is not encrypted at all.
    case plainText
    /// It speaks the protocol and offers no key.
    case noKey
    /// It has another key.
    case wrongKey
    /// It did not get to the end of the handshake in time.
    case late
    /// It ended the connection in the middle of the handshake.
    case hungUp
    /// It sent more than any handshake has.
    case tooMuch
    /// It sent what no end with the key sends: damaged, recorded, or made up.
    case unreadable
}

extension HandshakeError: CustomStringConvertible {
    /// What happened, without what to do about it.
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

/// A connection's TLS layer, and what waits for it.
final class TLSLayerState {
    /// The most bytes sealed in one piece, so that a full queue is not copied whole.
    static let sealedBytesMax = 256 * 1024

    let tls: any TLSLayer
    /// What the owner has written and the TLS layer has not sealed.
    var plain = OutputBuffer()
    /// Told once: that it is up, or why it never will be.
    private var then: ((Result<Void, NetworkError>) -> Void)?
    /// Until when it has to be up.
    private var deadline: Timer?
    var hasSealedEnd = false
    /// Whether the TLS layer may hold something that the owner has not read.
    var mayHoldMore = false

    init(_ tls: any TLSLayer, _ then: @escaping (Result<Void, NetworkError>) -> Void) {
        self.tls = tls
        self.then = then
    }

    func expire(after milliseconds: UInt64, on loop: EventLoop, _ work: @escaping () -> Void) {
        deadline = Timer(on: loop, afterMilliseconds: milliseconds, work)
    }

    /// Harmless when repeated.
    func tell(_ result: Result<Void, NetworkError>) {
        deadline?.cancel()
        deadline = nil
        let told = then
        then = nil
        told?(result)
    }
}
