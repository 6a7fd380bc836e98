import NetworkIO
import Node
import TLS

/// The authentication of other nodes: each proves that it knows the key before the node learns of
/// its connection.
///
/// Confined to the loop's thread.
final class PeerAuthenticator {
    /// The most connections dialled by others that may be in a handshake at once; a handshake takes
    /// some milliseconds, and a cluster has about ten nodes.
    static let handshakesMax = 256
    /// The most milliseconds of a handshake: many times what a slow network needs.
    static let handshakeMillisecondsMax: UInt64 = 5_000

    private let context: TLSContext
    private let loop: EventLoop
    private let log: (String) -> Void
    private let handshakeMillisecondsMax: UInt64
    private var handshakes: HandshakeQueue
    private var rising: [UInt64: Connection] = [:]
    private var proved: [UInt64: (connection: Connection, key: Key)] = [:]
    private var refusals = Refusals()

    init(
        _ keys: KeyRing, on loop: EventLoop, handshakesMax: Int = PeerAuthenticator.handshakesMax,
        handshakeMillisecondsMax: UInt64 = PeerAuthenticator.handshakeMillisecondsMax,
        log: @escaping (String) -> Void
    ) {
        context = TLSContext(keys)
        self.handshakeMillisecondsMax = handshakeMillisecondsMax
        handshakes = HandshakeQueue(
            placesMax: handshakesMax, millisecondsMax: handshakeMillisecondsMax)
        self.loop = loop
        self.log = log
    }

    private var now: UInt64 { loop.nanoseconds / 1_000_000 }

    /// Makes the handshake of a connection.
    ///
    /// - Parameters:
    ///   - address: the address that was dialled; nil where the peer dialled.
    ///   - then: called once; after a failure the connection is closed.
    func admit(
        _ connection: Connection, dialed address: String?,
        then: @escaping (Result<Void, NetworkError>) -> Void
    ) {
        let id = connection.id
        if address == nil {
            rising[id] = connection
            let source = connection.peerAddress.hostText
            let evictee = handshakes.onArrival(id, from: source, now: now) { id in
                rising[id]?.hasRead ?? false
            }
            if let evictee {
                rising.removeValue(forKey: evictee)?.close()
            }
        }
        let tls = address == nil ? context.accepting() : context.dialling()
        connection.raise(tls, timeoutMilliseconds: handshakeMillisecondsMax) {
            [self] result in
            if address == nil { onHandshakeEnd(id) }
            let peer = address ?? connection.peerAddress.hostText
            switch result {
            case .success:
                refusals.onSuccess(of: peer)
                if let key = tls.key { proved[id] = (connection, key) }
            case .failure(.distrusted(let why)): logFailure(why, of: peer, isDialed: address != nil)
            case .failure: break
            }
            then(result)
        }
    }

    private func onHandshakeEnd(_ id: UInt64) {
        rising[id] = nil
        handshakes.onEnd(of: id)
    }

    private func logFailure(_ why: HandshakeError, of peer: String, isDialed: Bool) {
        guard refusals.onRefusal(of: peer, because: why, now: now) else { return }
        log("peer refused: \(why); \(why.advice) \(isDialed ? "at" : "from")=\(peer)")
    }

    func onClosed(_ id: UInt64) { proved[id] = nil }

    /// Changes the keys and closes connections whose key is not valid any more; new dials use the
    /// new keys.
    func change(to keys: KeyRing) {
        context.keys = keys
        for (id, peer) in proved.sorted(by: { $0.key < $1.key }) where !keys.contains(peer.key) {
            proved[id] = nil
            peer.connection.close()
        }
    }
}
