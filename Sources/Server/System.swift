import CSystem
import Glibc
import NetworkIO
import Node
import Wire

/// The clocks of the machine, read anew at each call.
final class SystemClock: Clock {
    private let loop: EventLoop

    init(_ loop: EventLoop) { self.loop = loop }

    var milliseconds: UInt64 { loop.nanoseconds / 1_000_000 }

    var wallMilliseconds: UInt64 { EventLoop.wallMilliseconds() }

    var microseconds: UInt64 { loop.nanoseconds / 1_000 }
}

/// The kernel's random bits, fetched in blocks: each message's id takes 64 of them.
final class SystemEntropy: Entropy {
    /// The numbers that one call of `getentropy` gives: it fills at most 256 bytes.
    private static let numbersMax = 32

    private let numbers = Lock<[UInt64]>([])

    func next() -> UInt64 {
        numbers.withLock { numbers in
            if let number = numbers.popLast() { return number }
            numbers = SystemEntropy.fetch()
            return numbers.removeLast()
        }
    }

    private static func fetch() -> [UInt64] {
        var numbers = [UInt64](repeating: 0, count: numbersMax)
        let code = numbers.withUnsafeMutableBytes { getentropy($0.baseAddress, $0.count) }
        guard code != 0 else { return numbers }
        var generator = SystemRandomNumberGenerator()
        return numbers.map { _ in generator.next() }
    }
}

/// Keeps a crash from writing memory to disk, with the texts and keys in it.
package func forbidCoreDumps() { _ = csystem_forbid_core_dumps() }

/// Writes a sentence as one line to a descriptor; control characters in it are escaped.
package func writeLine(_ line: String, to descriptor: Int32) {
    writeText(line.printable + "\n", to: descriptor)
}

/// Writes a whole text to a descriptor; what cannot be written is lost.
package func writeText(_ text: String, to descriptor: Int32) {
    var text = text
    text.withUTF8 { bytes in
        var start = 0
        while start < bytes.count {
            let written = write(
                descriptor, bytes.baseAddress.map { $0 + start }, bytes.count - start)
            guard written > 0 || errno == EINTR else { return }
            start += max(0, written)
        }
    }
}
