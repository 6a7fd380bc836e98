import Glibc
import NetworkIO

/// A thread that measures for how long the disk took to sync a page: a node that waits for the same
/// disk answers no send meanwhile.
final class DiskPulse: Sendable {
    private static let microseconds: UInt32 = 20_000
    /// The page that is written again and again, in bytes.
    private static let pageBytes = 4_096

    private let descriptor: Int32
    private let longestNanoseconds = Lock<UInt64>(0)
    private let isOver = Lock(false)

    /// - Parameter folder: a folder on the disk to measure.
    init(in folder: String) throws(BenchError) {
        descriptor = open(folder + "/disk-pulse", O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Files.failure("opening a file in \(folder)") }
        do throws(NetworkError) {
            pthread_detach(try startThread { [self] in run() })
        } catch {
            Glibc.close(descriptor)
            throw BenchError("\(error)")
        }
    }

    private func run() {
        let page = [UInt8](repeating: 0, count: Self.pageBytes)
        while !isOver.withLock({ $0 }) {
            let began = EventLoop.monotonicNanoseconds
            // A disk that refuses is the nodes' to report.
            _ = pwrite(descriptor, page, page.count, 0)
            _ = fdatasync(descriptor)
            let took = EventLoop.monotonicNanoseconds - began
            longestNanoseconds.withLock { $0 = max($0, took) }
            usleep(Self.microseconds)
        }
        Glibc.close(descriptor)
    }

    /// Returns the longest time of a sync since the last call, in milliseconds.
    func takeLongest() -> Double {
        longestNanoseconds.withLock { longest in
            defer { longest = 0 }
            return Double(longest) / 1e6
        }
    }

    func stop() { isOver.withLock { $0 = true } }
}
