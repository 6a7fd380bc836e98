import TestKit
import Testing
import Wire

@testable import CRDT

struct CheckpointHistoryTests {
    /// Returns vectors that grow as an owner's does: a few replicas write, and now and then one
    /// ends.
    static func growth(_ count: Int, _ random: inout SplitMix64) -> [Vector] {
        var replicas = (0..<3).map { _ in RandomID(from: &random) }
        var next: [UInt64] = [1, 1, 1]
        var vector = Vector()
        return (0..<count).map { _ in
            for _ in 0...random.below(4) {
                let index = random.below(3)
                if random.below(12) == 0 {
                    replicas[index] = RandomID(from: &random)
                    next[index] = 1
                }
                vector.insert(Dot(replica: replicas[index], seq: next[index]))
                next[index] += random.below(30) == 0 ? 2 : 1
            }
            return vector
        }
    }

    @Test func `a name leads to the vector that it was given to, or to none`() {
        for seed in 0..<20 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let vectors = CheckpointHistoryTests.growth(300, &random)
            var history = CheckpointHistory()
            for (index, vector) in vectors.enumerated() {
                history.add(vector)
                #expect(history.newestVector == vector, "seed \(seed)")
                for earlier in vectors[...index].suffix(CheckpointHistory.recentMax) {
                    #expect(history.vector(named: CheckpointID(of: earlier)) == earlier)
                }
            }
            #expect(history.checkpoints.count == CheckpointHistory.countMax)
            let kept = vectors.filter { history.contains(CheckpointID(of: $0)) }
            #expect(kept.count == CheckpointHistory.countMax)
            #expect(kept.allSatisfy { history.vector(named: CheckpointID(of: $0)) == $0 })
            // Half of the capacity is for old vectors.
            #expect(kept.contains { $0.count < vectors[150].count })
        }
    }

    @Test func `what nodes learn in another order and twice leads to the same vectors`() throws {
        for seed in 0..<20 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let vectors = CheckpointHistoryTests.growth(60, &random)
            var (one, two) = (CheckpointHistory(), CheckpointHistory())
            for vector in vectors { one.add(vector) }
            for vector in vectors.reversed() where random.below(2) == 0 { two.add(vector) }
            let read = try CheckpointHistory.decode(one.encoded)
            #expect(read == one)
            two.formUnion(read)
            two.formUnion(one)
            #expect(two == one, "seed \(seed)")
        }
    }

    @Test func `two sides of a cut are both remembered`() {
        var random = SplitMix64(seed: 5)
        let vectors = CheckpointHistoryTests.growth(10, &random)
        let (here, there) = (RandomID(from: &random), RandomID(from: &random))
        var history = CheckpointHistory()
        for vector in vectors { history.add(vector) }
        var (left, right) = (vectors[9], vectors[9])
        left.insert(SeqSet(1...9), of: here)
        right.insert(SeqSet(1...7), of: there)
        history.add(left)
        history.add(right)
        history.add(left.union(right))
        for vector in vectors + [left, right, left.union(right)] {
            #expect(history.vector(named: CheckpointID(of: vector)) == vector)
        }
        #expect(history.longestKept(within: left).contains { $0.id == CheckpointID(of: left) })
        #expect(!history.longestKept(within: left).contains { $0.id == CheckpointID(of: right) })
    }

    @Test func `a history is bounded, whatever it is told`() {
        var random = SplitMix64(seed: 6)
        func vector(_ replicas: Int) -> Vector {
            var vector = Vector()
            for _ in 0..<replicas { vector.insert(SeqSet(1...3), of: RandomID(from: &random)) }
            return vector
        }
        var history = CheckpointHistory()
        let isNamed = history.add(vector(CheckpointHistory.replicasMax + 1))
        #expect(!isNamed)
        for _ in 0..<10 { history.add(vector(CheckpointHistory.changesMax + 1)) }
        #expect(history.checkpoints.count == 1)
        for _ in 0..<200 { history.add(vector(2)) }
        #expect(history.checkpoints.count == CheckpointHistory.countMax)
    }

    @Test func `the bytes are those of earlier builds`() throws {
        var random = SplitMix64(seed: 3)
        var history = CheckpointHistory()
        let histories = CheckpointHistoryTests.growth(12, &random).map { vector in
            history.add(vector)
            return history.encoded
        }
        #expect(try GoldenBytes("checkpoint-history", of: histories).difference() == nil)
    }
}
