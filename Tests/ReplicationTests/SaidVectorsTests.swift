import CRDT
import TestKit
import Testing
import Wire

@testable import Replication

@Suite struct SaidVectorsTests {
    private static let shard = ShardID(3)

    private static func vector(replicas: Int, from first: Int = 1) -> Vector {
        var vector = Vector()
        for number in first..<(first + replicas) {
            vector.insert(SeqSet(1...500), of: RandomID(high: UInt64(number), low: 7))
        }
        return vector
    }

    private static func arrived(_ said: SaidVector) throws -> SaidVector {
        try SaidVector.decode(said.encoded)
    }

    @Test func `whatever is said is heard, also where some of it never went out`() throws {
        for seed in UInt64(0)..<300 {
            var source = FrameSource(seed: seed)
            let restRangesMax = source.random.below(4)
            var said = SaidVectors(restRangesMax: restRangesMax)
            var heard = SaidVectors(restRangesMax: restRangesMax)
            var vectors = (0..<3).map { _ in Vector() }
            for _ in 0..<60 {
                let number = source.random.below(3)
                // A vector grows, unless its replica lost something or begins anew.
                if source.random.chance(5) { vectors[number] = Vector() }
                vectors[number].formUnion(source.vector())
                let shard = ShardID(UInt16(number))
                let before = said
                let message = said.say(vectors[number], of: shard)
                if source.random.chance(20) {
                    said = before
                    continue
                }
                let all = heard.hear(try Self.arrived(message), of: shard)
                try #require(all == vectors[number], "seed \(seed)")
            }
        }
    }

    @Test func `of a thousand replicas that have ended a vector that follows names none`() throws {
        var said = SaidVectors(restRangesMax: VectorBase.restRangesMax)
        var heard = said
        var vector = Self.vector(replicas: 1_000)
        let first = said.say(vector, of: Self.shard)
        #expect(first.encoded.count > 18_000)
        #expect(heard.hear(try Self.arrived(first), of: Self.shard) == vector)
        vector.formUnion(Self.vector(replicas: 60, from: 2_000))
        let second = said.say(vector, of: Self.shard)
        #expect(second.encoded.count < 1_300)
        #expect(heard.hear(try Self.arrived(second), of: Self.shard) == vector)
        vector.formUnion(Self.vector(replicas: 5, from: 3_000))
        #expect(said.say(vector, of: Self.shard).form == .base)
    }

    @Test func `an end that lacks the base, or has another, takes nothing for it`() throws {
        var said = SaidVectors(restRangesMax: 1)
        var (heard, late) = (said, said)
        let vector = Self.vector(replicas: 5)
        let first = said.say(vector, of: Self.shard)
        #expect(heard.hear(first, of: Self.shard) == vector)
        let second = said.say(vector, of: Self.shard)
        #expect(late.hear(second, of: Self.shard) == nil)
        #expect(heard.hear(second, of: ShardID(4)) == nil)
        _ = late.hear(SaidVector(Self.vector(replicas: 6), .base), of: Self.shard)
        #expect(late.hear(second, of: Self.shard) == nil)
        said.removeShard(Self.shard)
        let third = said.say(vector, of: Self.shard)
        #expect(third.form == .base)
        #expect(late.hear(third, of: Self.shard) == vector)
    }

    @Test func `what an end keeps for the other is bounded, and what is not kept is said whole`() {
        var said = SaidVectors(restRangesMax: 1)
        var heard = said
        let vector = Self.vector(replicas: 10_000)
        var forms: [SaidVector.Form] = []
        for number in UInt16(0)..<20 {
            let message = said.say(vector, of: ShardID(number))
            forms.append(message.form)
            #expect(heard.hear(message, of: ShardID(number)) == vector)
        }
        let kept = SaidVectors.rangesMax / 10_000
        #expect(forms.prefix(kept).allSatisfy { $0 == .base })
        #expect(forms.dropFirst(kept).allSatisfy { $0 == .whole })
        // A peer that sends more is understood, but no more of it is kept.
        #expect(heard.hear(SaidVector(vector, .base), of: ShardID(99)) == vector)
        let beyond = SaidVector(Vector(), .beyond(CheckpointID(of: vector)))
        #expect(heard.hear(beyond, of: ShardID(99)) == nil)
        #expect(heard.hear(beyond, of: ShardID(0)) == vector)
    }
}
