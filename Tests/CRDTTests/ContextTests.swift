import TestKit
import Testing
import Wire

@testable import CRDT

struct ContextTests {
    private static let laws = Laws<Context>(
        merge: { $0.merge($1) }, encode: \.encoded, decode: { try Context.decode($0) },
        mutate: { context, writer, _ in
            var context = context ?? Context()
            context.insert(writer.nextDot())
            return context
        })

    @Test func `merging is a join, and any order gives the same bytes`() throws {
        try ContextTests.laws.check(seeds: 0..<1_000)
    }

    @Test func `a merge covers both sides and nothing else`() throws {
        let states = try ContextTests.laws.states(seeds: 0..<50)
        var random = SplitMix64(seed: 1)
        for _ in 0..<2_000 {
            let (one, other) = (random.pick(states), random.pick(states))
            var merged = one
            merged.merge(other)
            try #require(merged.covers(one) && merged.covers(other))
            try #require(one.covers(other) == (merged == one))
        }
    }

    @Test func `it contains every seq up to the last`() {
        let replica = RandomID(high: 1, low: 1)
        let context = Context(Dot(replica: replica, seq: 3))
        for seq in 1...5 as ClosedRange<UInt64> {
            #expect(context.contains(Dot(replica: replica, seq: seq)) == (seq <= 3))
        }
        #expect(!context.contains(Dot(replica: RandomID(high: 1, low: 2), seq: 1)))
        #expect(context.seq(of: replica) == 3)
    }

    @Test func `contexts of many replicas are merged in one pass`() throws {
        func context(_ first: UInt64, by step: UInt64) -> Context {
            var context = Context()
            for number in stride(from: first, to: 200_000, by: Int(step)) {
                context.insert(Dot(replica: RandomID(high: 0, low: number), seq: number + 1))
            }
            return context
        }
        var (odd, vector) = (context(1, by: 2), Vector())
        vector.insert(odd)
        odd.merge(context(0, by: 2))
        #expect(odd.dots.count == 200_000)
        #expect(zip(odd.dots, odd.dots.dropFirst()).allSatisfy { $0.replica < $1.replica })
        #expect(odd.seq(of: RandomID(high: 0, low: 70_000)) == 70_001)
        #expect(try Context.decode(odd.encoded) == odd)
        vector.insert(odd)
        #expect(vector.entries.count == 200_000 && vector.contains(odd))
    }

    @Test func `an earlier dot changes nothing`() {
        let replica = RandomID(high: 1, low: 1)
        var context = Context(Dot(replica: replica, seq: 3))
        context.insert(Dot(replica: replica, seq: 2))
        #expect(context == Context(Dot(replica: replica, seq: 3)))
    }

    @Test func `replicas that do not ascend and a seq of 0 are refused`() {
        let low = Dot(replica: RandomID(high: 0, low: 1), seq: 1)
        let high = Dot(replica: RandomID(high: 1, low: 0), seq: 1)
        let zero = Dot(replica: RandomID(high: 2, low: 0), seq: 0)
        for dots in [[high, low], [low, low], [low, zero]] {
            var writer = ByteWriter()
            writer.write(count: dots.count)
            for dot in dots { dot.encode(into: &writer) }
            #expect(throws: WireError.self) { try Context.decode(writer.bytes) }
        }
    }

    @Test func `the bytes are those of earlier builds`() throws {
        #expect(try ContextTests.laws.golden("context") == nil)
    }
}
