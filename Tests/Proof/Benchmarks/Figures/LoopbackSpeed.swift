import Glibc

/// The speed of this machine's loopback beside the figures taken on it: two threads and blocking
/// sockets, without any code of the product.
struct LoopbackSpeed {
    private static let lineBytes = 100
    private static let roundTrips = 5_000
    private static let linesAWrite = 100
    private static let writes = 20_000

    /// The round-trip times of a line of 100 bytes.
    let roundTrips: Latencies
    /// The rate of lines of 100 bytes, 100 per write, counted by the reader.
    let linesPerSecond: Double

    init(nanoseconds: () -> UInt64) throws(BenchError) {
        let line = [UInt8](repeating: 0x67, count: Self.lineBytes - 1) + [0x0A]
        roundTrips = try Self.pingPong(line, nanoseconds)
        linesPerSecond = try Self.stream(line, nanoseconds)
    }

    private static func pingPong(
        _ line: [UInt8], _ nanoseconds: () -> UInt64
    ) throws(BenchError) -> Latencies {
        let far = try FarEnd(isEchoing: true)
        defer { far.finish() }
        var latencies = Latencies()
        var buffer = [UInt8](repeating: 0, count: line.count)
        for _ in 0..<roundTrips {
            let began = nanoseconds()
            guard write(far.near, line, line.count) == line.count else {
                throw Files.failure("writing to a connection")
            }
            guard recv(far.near, &buffer, buffer.count, Int32(MSG_WAITALL)) == line.count
            else { throw Files.failure("reading from a connection") }
            latencies.record(nanoseconds: nanoseconds() - began)
        }
        return latencies
    }

    private static func stream(
        _ line: [UInt8], _ nanoseconds: () -> UInt64
    ) throws(BenchError) -> Double {
        let far = try FarEnd(isEchoing: false)
        let block = Array(repeatElement(line, count: linesAWrite).joined())
        let began = nanoseconds()
        for _ in 0..<writes {
            // A blocking socket accepts the whole block.
            guard write(far.near, block, block.count) == block.count else {
                far.finish()
                throw Files.failure("writing to a connection")
            }
        }
        let lines = far.finish()
        guard lines == writes * linesAWrite else {
            throw BenchError("of \(writes * linesAWrite) lines on loopback \(lines) arrived")
        }
        return Double(lines) * 1e9 / Double(nanoseconds() - began)
    }
}

/// A connection whose other end a thread reads, until this end closes.
private final class FarEnd {
    /// This thread's end.
    let near: Int32
    private let far: Int32
    private let isEchoing: Bool
    private var thread = pthread_t()
    /// The number of lines; the other thread's until that has ended.
    private var lines = 0

    init(isEchoing: Bool) throws(BenchError) {
        self.isEchoing = isEchoing
        (near, far) = try connectedPair()
        let code = pthread_create(
            &thread, nil,
            { @Sendable context in
                guard let context else { return nil }
                Unmanaged<FarEnd>.fromOpaque(context).takeUnretainedValue().read()
                return nil
            }, Unmanaged.passUnretained(self).toOpaque())
        guard code == 0 else {
            close(near)
            close(far)
            throw BenchError("starting a thread: error \(code)")
        }
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(far, &buffer, buffer.count)
            guard count > 0 else { return }
            if isEchoing {
                guard write(far, buffer, count) == count else { return }
            } else {
                lines += lineEnds(in: buffer[..<count])
            }
        }
    }

    private func lineEnds(in bytes: ArraySlice<UInt8>) -> Int {
        bytes.withUnsafeBytes { bytes in
            var ends = 0
            var start = 0
            while start < bytes.count, let base = bytes.baseAddress,
                let end = memchr(base + start, 0x0A, bytes.count - start)
            {
                ends += 1
                start = base.distance(to: UnsafeRawPointer(end)) + 1
            }
            return ends
        }
    }

    /// Closes this end, and waits until the other has read everything.
    ///
    /// - Returns: the number of lines that it read.
    @discardableResult
    func finish() -> Int {
        close(near)
        pthread_join(thread, nil)
        close(far)
        return lines
    }
}

/// Returns two ends of one TCP connection within this machine.
func connectedPair() throws(BenchError) -> (Int32, Int32) {
    let stream = Int32(SOCK_STREAM.rawValue)
    let (listener, near) = (socket(AF_INET, stream, 0), socket(AF_INET, stream, 0))
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    var far: Int32 = -1
    // The kernel completes a connection to a listening socket before `accept`.
    let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            guard bind(listener, address, size) == 0, listen(listener, 1) == 0,
                getsockname(listener, address, &size) == 0, connect(near, address, size) == 0
            else { return false }
            far = accept(listener, nil, nil)
            return far >= 0
        }
    }
    guard isConnected else {
        let failure = Files.failure("making a connection on loopback")
        close(near)
        throw failure
    }
    var isOn: Int32 = 1
    for end in [near, far] {
        setsockopt(
            end, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
    }
    return (near, far)
}
