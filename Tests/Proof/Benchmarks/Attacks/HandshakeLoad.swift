import Glibc
import NetworkIO

/// A load of new TLS connections on several threads, each of which makes one after the other.
enum HandshakeLoad {
    /// Enough to keep a processor of the node busy.
    private static let threads = 4

    /// - Returns: the handshakes a second.
    static func run(at address: SocketAddress, seconds: Int) throws(BenchError) -> Double {
        let tls = try BlockingTLS()
        let clients = (0..<threads).map { _ in
            HandshakeClient(tls, address, milliseconds: UInt64(seconds) * 1_000)
        }
        for client in clients { try client.start() }
        for client in clients { client.finish() }
        if let failure = clients.compactMap(\.failure).first { throw BenchError(failure) }
        return Double(clients.reduce(0) { $0 + $1.count }) / Double(seconds)
    }
}

/// One thread of the load.
private final class HandshakeClient {
    private let tls: BlockingTLS
    private let address: SocketAddress
    private let milliseconds: UInt64
    private var thread = pthread_t()
    /// The number of handshakes; the thread's until that has ended, like the failure.
    private(set) var count = 0
    private(set) var failure: String?

    init(_ tls: BlockingTLS, _ address: SocketAddress, milliseconds: UInt64) {
        self.tls = tls
        self.address = address
        self.milliseconds = milliseconds
    }

    func start() throws(BenchError) {
        // SAFETY: nothing of this object is touched until `finish` has joined the thread.
        nonisolated(unsafe) let client = self
        do throws(NetworkError) {
            thread = try startThread { client.run() }
        } catch {
            throw BenchError("\(error)")
        }
    }

    func finish() { pthread_join(thread, nil) }

    private func run() {
        let end = now + milliseconds
        do throws(BenchError) {
            while now < end {
                try shakeHands()
                count += 1
            }
        } catch {
            failure = error.sentence
        }
    }

    private var now: UInt64 { EventLoop.monotonicNanoseconds / 1_000_000 }

    private func shakeHands() throws(BenchError) {
        _ = try tls.shakeHands(try BlockingConnection(to: address))
    }
}
