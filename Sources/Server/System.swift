import Glibc
import NetworkIO
import Node

/// The machine's clocks: the loop's, which are read once a turn of it.
final class SystemClock: Clock {
    private let loop: EventLoop

    init(_ loop: EventLoop) { self.loop = loop }

    var milliseconds: UInt64 { loop.nanoseconds / 1_000_000 }

    var wallMilliseconds: UInt64 { EventLoop.wallMilliseconds() }

    var microseconds: UInt64 { loop.nanoseconds / 1_000 }
}

/// The kernel's random bits.
final class SystemEntropy: Entropy {
    func next() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}

/// Writes a whole line to a descriptor; what cannot be written is lost.
package func writeLine(_ line: String, to descriptor: Int32) {
    var line = line + "\n"
    line.withUTF8 { bytes in
        var start = 0
        while start < bytes.count {
            let written = write(
                descriptor, bytes.baseAddress.map { $0 + start }, bytes.count - start)
            guard written > 0 || errno == EINTR else { return }
            start += max(0, written)
        }
    }
}
