import TestKit
import Testing
import Wire

@testable import CRDT

struct VectorTests {
    private static let replicas = (0..<4).map { RandomID(high: UInt64($0), low: 7) }

    private static let laws = Laws<Vector>(
        merge: { $0.formUnion($1) }, encode: \.encoded, decode: { try Vector.decode($0) },
        mutate: { vector, writer, random in
            var vector = vector ?? Vector()
            if random.chance(80) {
                vector.insert(writer.nextDot())
            } else {
                let lower = 1 + UInt64(random.below(20))
                let seqs = SeqSet(lower...(lower + UInt64(random.below(5))))
                vector.insert(seqs, of: random.pick(replicas))
            }
            return vector
        })

    @Test func `union is a join, and any order gives the same bytes`() throws {
        try VectorTests.laws.check(seeds: 0..<1_000)
    }

    @Test func `after any operations it holds what a plain set of dots holds`() throws {
        for seed in 0..<2_000 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let (one, model) = pair(&random)
            let (other, otherModel) = pair(&random)
            var union = one
            union.formUnion(other)
            try #require(isEqual(union, model.union(otherModel)), "seed \(seed)")
            let rest = one.subtracting(other)
            try #require(isEqual(rest, model.subtracting(otherModel)), "seed \(seed)")
            let beyond = one.rest(beyond: other)
            try #require(beyond == (one.covers(other) ? rest : nil), "seed \(seed)")
            try #require(union.rest(beyond: one) == other.subtracting(one), "seed \(seed)")
            try #require(one.covers(other) == model.isSuperset(of: otherModel), "seed \(seed)")
            try #require(union.covers(one) && union.covers(other) && one.covers(rest))
            try #require(try Vector.decode(union.encoded) == union, "seed \(seed)")
        }
    }

    @Test func `covers looks at every range and every replica`() {
        let (first, second) = (VectorTests.replicas[0], VectorTests.replicas[1])
        var mine = Vector()
        mine.insert(SeqSet(1...5), of: first)
        var theirs = mine
        #expect(mine.covers(theirs))
        theirs.insert(Dot(replica: first, seq: 7))
        #expect(!mine.covers(theirs))
        mine.insert(Dot(replica: first, seq: 7))
        theirs.insert(Dot(replica: second, seq: 1))
        #expect(!mine.covers(theirs))
        #expect(theirs.covers(mine))
    }

    @Test func `it contains a context where it has each last seq`() {
        var vector = Vector()
        vector.insert(Dot(replica: VectorTests.replicas[0], seq: 4))
        var context = Context(Dot(replica: VectorTests.replicas[0], seq: 4))
        #expect(vector.contains(context))
        context.insert(Dot(replica: VectorTests.replicas[1], seq: 1))
        #expect(!vector.contains(context))
        vector.insert(context)
        #expect(vector.contains(context))
        #expect(vector.contains(Context()))
    }

    @Test func `an empty set of seqs leaves no entry behind`() {
        var vector = Vector()
        vector.insert(SeqSet(), of: VectorTests.replicas[0])
        #expect(vector.isEmpty && vector == Vector())
        vector.insert(SeqSet(2...3), of: VectorTests.replicas[0])
        #expect(vector.subtracting(vector) == Vector())
        #expect(vector.seqs(of: VectorTests.replicas[1]).isEmpty)
    }

    @Test func `replicas that do not ascend, empty entries and a seq of 0 are refused`() {
        let low = VectorTests.replicas[0]
        let high = VectorTests.replicas[1]
        for entries in [
            [(high, SeqSet(1...1)), (low, SeqSet(1...1))],
            [(low, SeqSet(1...1)), (low, SeqSet(3...3))],
            [(low, SeqSet())],
            [(low, SeqSet(0...1))],
        ] {
            var writer = ByteWriter()
            writer.write(count: entries.count)
            for (replica, seqs) in entries {
                writer.write(replica)
                seqs.encode(into: &writer)
            }
            #expect(throws: WireError.self) { try Vector.decode(writer.bytes) }
        }
    }

    @Test func `what is in both is what plain sets have in common`() throws {
        for seed in 0..<1_000 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let ((left, leftModel), (right, rightModel)) = (pair(&random), pair(&random))
            let both = left.intersection(right)
            try #require(isEqual(both, leftModel.intersection(rightModel)), "seed \(seed)")
        }
    }

    @Test func `what nodes tell each other is bounded, and a part of what is claimed`() throws {
        var vector = Vector()
        for number in 0..<20 as Range<UInt64> {
            var seqs = SeqSet()
            for seq in stride(from: 1 as UInt64, to: 8_000, by: 2) { seqs.insert(seq) }
            vector.insert(seqs, of: RandomID(high: number, low: 0))
        }
        var writer = ByteWriter()
        vector.encodeShared(into: &writer)
        var reader = ByteReader(writer.bytes)
        let shared = try Vector(sharedFrom: &reader)
        #expect(shared.rangesCount == Vector.sharedRangesMax)
        #expect(vector.covers(shared) && !shared.covers(vector))
        // On disk it is whole.
        #expect(try Vector.decode(vector.encoded) == vector)
        reader = ByteReader(vector.encoded)
        #expect(throws: WireError.self) { try Vector(sharedFrom: &reader) }
    }

    @Test func `a seq that no disk can number is refused`() {
        var vector = Vector()
        vector.insert(SeqSet(1...(1 << 62 + 1)), of: RandomID(high: 0, low: 1))
        #expect(throws: WireError.self) { try Vector.decode(vector.encoded) }
    }

    private func isEqual(_ vector: Vector, _ model: Set<Dot>) -> Bool {
        let ascend = zip(vector.entries, vector.entries.dropFirst())
            .allSatisfy { $0.replica < $1.replica }
        return ascend && vector.entries.allSatisfy { !$0.seqs.isEmpty }
            && vector.count == UInt64(model.count) && model.allSatisfy(vector.contains)
    }

    private func pair(_ random: inout SplitMix64) -> (Vector, Set<Dot>) {
        var (vector, model): (Vector, Set<Dot>) = (Vector(), [])
        for _ in 0..<random.below(12) {
            let dot = Dot(
                replica: random.pick(VectorTests.replicas), seq: 1 + UInt64(random.below(8)))
            vector.insert(dot)
            model.insert(dot)
        }
        return (vector, model)
    }

    @Test func `the bytes are those of earlier builds`() throws {
        #expect(try VectorTests.laws.golden("vector") == nil)
    }
}
