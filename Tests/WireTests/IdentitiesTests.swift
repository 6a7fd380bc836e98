import TestKit
import Testing
import Wire

struct IdentitiesTests {
    @Test func `a shard number is the hash of the key and spreads evenly`() {
        var counts = [Int](repeating: 0, count: 64)
        for number in 0..<64_000 {
            counts[Int(ShardID(of: "conversation-\(number)", count: 64).number)] += 1
        }
        // Mean 1,000, standard deviation 31; the bounds are six deviations away.
        #expect(counts.allSatisfy { (812...1_188).contains($0) })
    }

    /// Every node of every version must find the same shard.
    @Test func `the shard of a key never changes`() {
        #expect(ShardID(of: "c1", count: 64) == ShardID(2))
        #expect(ShardID(of: "alice", count: 64) == ShardID(48))
        #expect(ShardID(of: "c1", count: 1) == ShardID(0))
    }

    @Test func `identities are ordered by their high half first, as their bytes are`() throws {
        var random = SplitMix64(seed: 5)
        for _ in 0..<2_000 {
            let high = UInt64(random.below(2))
            let left = RandomID(high: high, low: random.next())
            let right = RandomID(high: UInt64(random.below(2)), low: random.next())
            let isLess = bytes(left).lexicographicallyPrecedes(bytes(right))
            guard (left < right) == isLess, (left.description < right.description) == isLess else {
                Issue.record("\(left) \(right)")
                return
            }
        }
    }

    @Test func `shards are ordered by number`() {
        #expect(ShardID(2) < ShardID(10))
        #expect(ShardID(10).description == "10")
    }

    private func bytes(_ id: RandomID) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(id)
        return writer.bytes
    }
}
