import NetworkIO

/// A number of WebSockets over TLS that are open and do nothing.
final class EncryptedSockets {
    private let tls: BlockingTLS
    private var open: [BlockingTLS.Session] = []

    init(_ count: Int, to address: SocketAddress) throws(BenchError) {
        tls = try BlockingTLS()
        for _ in 0..<count { try add(address) }
    }

    func close() { open = [] }

    private func add(_ address: SocketAddress) throws(BenchError) {
        let socket = try tls.shakeHands(try BlockingConnection(to: address))
        guard socket.ask(SendWay.socket.opening ?? []).starts(with: "HTTP/1.1 101".utf8) else {
            throw BenchError("a node opened no WebSocket over TLS")
        }
        open.append(socket)
    }
}
