import CLibuv

/// A TCP socket that accepts connections, confined to its loop's thread.
///
/// When descriptors run out, libuv closes a spare one that it keeps for this, accepts the waiting
/// connections with it and closes them at once: the peers see a reset, and the loop does not spin
/// on a socket that stays readable. This is the second safeguard; the first is a raised limit of
/// descriptors, and a limit of connections below it.
package final class Listener: LoopHandle {
    /// The most connections accepted in one turn of the loop; more wait in the kernel for the next.
    ///
    /// The first bytes of a connection are thus read before many more are accepted: a burst of
    /// silent connections cannot delay a client that has sent something, and that client is not
    /// taken for a silent one.
    package static let acceptsPerTurnMax = 32

    /// The address that it is bound to; the actual port where port 0 was requested.
    package let address: SocketAddress

    private let backlog: Int32
    private var onConnection: ((Connection) -> Void)?
    private var acceptsInTurn = 0

    /// Binds the socket, with `SO_REUSEADDR`; nobody can connect before `start`.
    package init(
        _ address: SocketAddress, on loop: EventLoop, backlog: Int32 = 1_024
    ) throws(NetworkError) {
        loop.checkConfined()
        let memory = Self.allocateTCP(on: loop)
        do throws(NetworkError) {
            self.address = try Self.bind(memory, to: address)
        } catch {
            Self.discard(memory)
            throw error
        }
        self.backlog = backlog
        super.init(owning: memory, on: loop)
    }

    /// Begins to accept connections.
    ///
    /// Set each connection's delegate: it reads nothing before.
    package func start(_ onConnection: @escaping (Connection) -> Void) throws(NetworkError) {
        loop.checkConfined()
        guard !isClosing else { return }
        self.onConnection = onConnection
        let code = uv_listen(stream, backlog) { stream, status in
            guard let data = stream?.pointee.data else { return }
            Unmanaged<Listener>.fromOpaque(data).takeUnretainedValue().onWaiting(status)
        }
        try NetworkError.check(code, doing: "listening at \(address)")
    }

    /// Accepts no more connections; those accepted so far stay open.
    package func close() { closeHandle() }

    override func handleDidClose() { onConnection = nil }

    private var stream: UnsafeMutablePointer<uv_stream_t> {
        memory.assumingMemoryBound(to: uv_stream_t.self)
    }

    private func onWaiting(_ status: Int32) {
        guard status == 0, !isClosing else { return }
        if acceptsInTurn == 0 { loop.afterFlush { [self] in onTurnEnd() } }
        acceptsInTurn += 1
        // While a connection is not accepted here, libuv accepts no other.
        if acceptsInTurn <= Listener.acceptsPerTurnMax { takeWaiting() }
    }

    private func onTurnEnd() {
        let isOneWaiting = acceptsInTurn > Listener.acceptsPerTurnMax && !isClosing
        acceptsInTurn = isOneWaiting ? 1 : 0
        guard isOneWaiting else { return }
        // This connection is the first of the next turn.
        loop.afterFlush { [self] in onTurnEnd() }
        takeWaiting()
    }

    private func takeWaiting() {
        // The connection is gone already: its peer knows, and no owner here has to be told.
        guard let connection = accept() else { return }
        onConnection?(connection)
    }

    private func accept() -> Connection? {
        let memory = Self.allocateTCP(on: loop)
        let tcp = memory.assumingMemoryBound(to: uv_tcp_t.self)
        let client = memory.assumingMemoryBound(to: uv_stream_t.self)
        do throws(NetworkError) {
            try NetworkError.check(uv_accept(stream, client), doing: "accepting")
            try Connection.setOptions(memory)
            let peer = try SocketAddress(doing: "asking for a peer's address") {
                uv_tcp_getpeername(tcp, $0, $1)
            }
            return Connection(owning: memory, peer: peer, on: loop)
        } catch {
            // A peer that has reset its connection already has no address any more.
            Self.discard(memory)
            return nil
        }
    }

    private static func bind(
        _ memory: UnsafeMutableRawPointer, to address: SocketAddress
    ) throws(NetworkError) -> SocketAddress {
        let tcp = memory.assumingMemoryBound(to: uv_tcp_t.self)
        let code = address.withPointer { uv_tcp_bind(tcp, $0, 0) }
        try NetworkError.check(code, doing: "binding \(address)")
        // libuv keeps back the error "address in use" until the name is requested.
        return try SocketAddress(doing: "binding \(address)") { uv_tcp_getsockname(tcp, $0, $1) }
    }
}
