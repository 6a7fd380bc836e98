import Glibc
import NetworkIO

/// A second client of a node, in a thread of its own, that measures how long the node keeps it
/// waiting.
final class PingPulse: Sendable {
    private static let pauseMicroseconds: UInt32 = 1_000

    private let address: SocketAddress
    private let longestNanoseconds = Lock<UInt64>(0)
    /// When the question was asked that has no answer yet; 0 for none.
    private let askedAt = Lock<UInt64>(0)
    private let failure = Lock<BenchError?>(nil)
    private let isOver = Lock(false)

    init(at address: SocketAddress) throws(BenchError) {
        self.address = address
        do throws(NetworkError) {
            pthread_detach(try startThread { [self] in run() })
        } catch {
            throw BenchError("\(error)")
        }
    }

    private func run() {
        do throws(BenchError) {
            let connection = try BlockingConnection(to: address)
            while !isOver.withLock({ $0 }) {
                let began = EventLoop.monotonicNanoseconds
                askedAt.withLock { $0 = began }
                try connection.send(Array("PING\n".utf8))
                try connection.readLine()
                let took = EventLoop.monotonicNanoseconds - began
                askedAt.withLock { $0 = 0 }
                longestNanoseconds.withLock { $0 = max($0, took) }
                usleep(Self.pauseMicroseconds)
            }
        } catch {
            failure.withLock { $0 = error }
        }
    }

    /// Returns the longest wait since the last call, in milliseconds.
    func takeLongest() throws(BenchError) -> Double {
        if let failure = failure.withLock({ $0 }) { throw failure }
        let asked = askedAt.withLock { $0 }
        let waiting = asked > 0 ? EventLoop.monotonicNanoseconds - asked : 0
        return longestNanoseconds.withLock { longest in
            defer { longest = 0 }
            return Double(max(longest, waiting)) / 1e6
        }
    }

    func stop() { isOver.withLock { $0 = true } }
}
