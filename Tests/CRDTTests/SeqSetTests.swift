import TestKit
import Testing
import Wire

@testable import CRDT

/// A set of ranges, compared with a plain set of numbers.
struct SeqSetTests {
    @Test func `after any operations it holds what a plain set holds, in normal form`() throws {
        for seed in 0..<3_000 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            var (set, model) = pair(&random)
            for _ in 0..<6 {
                let (other, otherModel) = pair(&random)
                switch random.below(4) {
                case 0:
                    set.formUnion(other)
                    model.formUnion(otherModel)
                case 1:
                    set = set.subtracting(other)
                    model.subtract(otherModel)
                default:
                    let seq = edge(&random) + UInt64(random.below(24))
                    set.insert(seq)
                    model.insert(seq)
                }
                try #require(isEqual(set, model), "seed \(seed): \(set.ranges)")
                let covers = set.isSuperset(of: other) == model.isSuperset(of: otherModel)
                try #require(covers, "seed \(seed): \(set.ranges) \(other.ranges)")
                let isWhole = set.subtracting(other).isSuperset(of: set)
                try #require(isWhole == model.isDisjoint(with: otherModel), "seed \(seed)")
                try #require(try SeqSet.decode(set.encoded) == set, "seed \(seed)")
            }
        }
    }

    @Test func `equal sets are equal values with equal bytes, whatever the order of inserts`() {
        for seed in 0..<1_000 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let ranges = (0..<8).map { _ in range(&random) }
            let one = set(of: ranges)
            let other = set(of: ranges.shuffled(using: &random) + ranges.prefix(3))
            guard one == other, one.encoded == other.encoded else {
                Issue.record("seed \(seed): \(one.ranges) \(other.ranges)")
                return
            }
        }
    }

    @Test func `the greatest number is a number like any other`() throws {
        var set = SeqSet()
        set.insert(.max)
        #expect(set.contains(.max))
        #expect(!set.contains(.max - 1))
        set.insert(.max)
        set.insert(.max - 1)
        #expect(set.ranges == [.max - 1 ... .max])
        set.insert(1 ... .max)
        #expect(set.ranges == [1 ... .max])
        #expect(set.count == .max)
        #expect(set.greatest == .max)
        #expect(try SeqSet.decode(set.encoded) == set)
        #expect(set.subtracting(SeqSet(1 ... .max)).isEmpty)
        #expect(set.subtracting(SeqSet(.max ... .max)).ranges == [1 ... .max - 1])
        #expect(SeqSet(.max ... .max).subtracting(SeqSet(1...2)).ranges == [.max ... .max])
        #expect(set.isSuperset(of: SeqSet(.max ... .max)))
        set.insert(0)
        #expect(set.ranges == [0 ... .max])
    }

    @Test func `an empty set`() throws {
        let empty = SeqSet()
        #expect(empty.isEmpty && empty.count == 0 && empty.greatest == nil && !empty.contains(0))
        #expect(empty.isSuperset(of: empty))
        #expect(!empty.isSuperset(of: SeqSet(1...1)))
        #expect(SeqSet(1...1).isSuperset(of: empty))
        #expect(empty.encoded == [0])
        #expect(try SeqSet.decode([0]) == empty)
    }

    @Test(
        arguments: [
            [2, 1, 0, 1, 0],  // 1, then 2: they touch
            [2, 1, 3, 0, 0],  // 1...4, then 4: they overlap
            [1, 0x81, 0x00, 0],  // a longer varint than need be
        ] as [[UInt8]])
    func `ranges that are not in normal form are refused`(bytes: [UInt8]) {
        #expect(throws: WireError.self) { try SeqSet.decode(bytes) }
    }

    @Test func `ranges beyond 64 bits and counts beyond the limit are refused`() {
        var writer = ByteWriter()
        writer.write(count: 1)
        writer.write(varint: .max)
        writer.write(varint: 1)
        #expect(throws: WireError.self) { try SeqSet.decode(writer.bytes) }
        // A count that the bytes cannot hold allocates no memory.
        var many = ByteWriter()
        many.write(count: 3)
        for _ in 0..<5 { many.write(1 as UInt8) }
        #expect(throws: WireError.truncated) { try SeqSet.decode(many.bytes) }
    }

    /// Inserted one by one, each range would move all ranges after it: 20 billion moves.
    @Test func `ranges that interleave are united in one pass`() {
        let (odd, even) = (stride(from: 1, to: 400_000, by: 4), stride(from: 3, to: 400_000, by: 4))
        let one = set(of: odd.map { UInt64($0)...UInt64($0) })
        var both = set(of: even.map { UInt64($0)...UInt64($0) })
        both.formUnion(one)
        #expect(both.ranges.count == 200_000)
        both.formUnion(set(of: stride(from: 2, to: 400_001, by: 2).map { UInt64($0)...UInt64($0) }))
        #expect(both.ranges == [1...400_000])
    }

    @Test func `what is in both, and the first of its ranges`() throws {
        for seed in 0..<1_000 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let ((left, leftModel), (right, rightModel)) = (pair(&random), pair(&random))
            let both = left.intersection(right)
            try #require(isEqual(both, leftModel.intersection(rightModel)), "seed \(seed)")
            let count = random.below(4)
            let prefix = left.prefix(ranges: count)
            try #require(prefix.ranges == Array(left.ranges.prefix(count)), "seed \(seed)")
        }
    }

    private func isEqual(_ set: SeqSet, _ model: Set<UInt64>) -> Bool {
        let gaps = zip(set.ranges, set.ranges.dropFirst())
        let isNormal = gaps.allSatisfy { $1.lowerBound > $0.upperBound + 1 }
        let holdsAll = set.count == UInt64(model.count) && model.allSatisfy(set.contains)
        let probes = model.flatMap { [$0 &- 1, $0 &+ 1] }
        return isNormal && holdsAll && set.greatest == model.max()
            && probes.allSatisfy { set.contains($0) == model.contains($0) }
    }

    private func pair(_ random: inout SplitMix64) -> (SeqSet, Set<UInt64>) {
        let ranges = (0..<random.below(5)).map { _ in range(&random) }
        return (set(of: ranges), ranges.reduce(into: []) { $0.formUnion($1) })
    }

    private func set(of ranges: some Sequence<ClosedRange<UInt64>>) -> SeqSet {
        ranges.reduce(into: SeqSet()) { $0.insert($1) }
    }

    private func range(_ random: inout SplitMix64) -> ClosedRange<UInt64> {
        let lower = edge(&random) + UInt64(random.below(20))
        return lower...(lower + UInt64(random.below(4)))
    }

    /// Small numbers, and those just below the greatest.
    private func edge(_ random: inout SplitMix64) -> UInt64 { random.chance(80) ? 1 : .max - 23 }
}
