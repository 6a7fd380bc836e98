import COpenSSL
import Glibc
import NetworkIO

/// A number of WebSockets over TLS that are open and do nothing.
final class EncryptedSockets {
    private static let answerBytesMax = 4_096

    private let context: OpaquePointer
    private var open: [(connection: BlockingConnection, ssl: OpaquePointer)] = []

    init(_ count: Int, to address: SocketAddress) throws(BenchError) {
        guard let context = SSL_CTX_new(TLS_client_method()) else {
            throw BenchError("OpenSSL makes no context")
        }
        self.context = context
        for _ in 0..<count { try add(address) }
    }

    deinit {
        close()
        SSL_CTX_free(context)
    }

    func close() {
        for socket in open { SSL_free(socket.ssl) }
        open = []
    }

    private func add(_ address: SocketAddress) throws(BenchError) {
        let connection = try BlockingConnection(to: address)
        let ssl = try connection.shakeHands(context)
        open.append((connection, ssl))
        let opening = SendWay.socket.opening ?? []
        var answer = [UInt8](repeating: 0, count: Self.answerBytesMax)
        guard SSL_write(ssl, opening, Int32(opening.count)) == opening.count,
            SSL_read(ssl, &answer, Int32(answer.count)) > 0,
            answer.starts(with: "HTTP/1.1 101".utf8)
        else { throw BenchError("a node opened no WebSocket over TLS") }
    }
}
