import TestKit
import Wire

/// A source of random bytes and of damaged ones.
struct TestBytes {
    private var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    mutating func bytes(_ limit: Int) -> [UInt8] { random.bytes(random.below(limit + 1)) }

    /// Returns the bytes with a few of them changed, or cut off.
    mutating func damaged(_ bytes: [UInt8]) -> [UInt8] {
        guard !bytes.isEmpty else { return bytes }
        var bytes = bytes
        for _ in 0...random.below(3) {
            bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
        }
        return random.chance(30) ? Array(bytes.prefix(random.below(bytes.count))) : bytes
    }
}
