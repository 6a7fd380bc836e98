import TestKit
import Testing
import Wire

@testable import CRDT

struct RegisterTests {
    private typealias Names = Register<UserID>

    private static let laws = Laws<Names>(
        merge: { $0.merge($1) }, encode: \.encoded, decode: { try Names.decode($0) },
        greatestTime: \.stamp.time,
        mutate: { _, writer, random in
            Register(UserID(checked: "user-\(random.below(5))"), at: writer.nextStamp())
        })

    @Test func `merging is a join, and any order gives the same bytes`() throws {
        try RegisterTests.laws.check(seeds: 0..<1_000)
    }

    @Test func `it is a join even over equal stamps`() throws {
        let stamp = Stamp(time: .zero, process: RandomID(high: 0, low: 0), counter: 1)
        let laws = Laws<Names>(
            merge: { $0.merge($1) }, encode: \.encoded, decode: { try Names.decode($0) },
            mutate: { _, _, random in
                Register(UserID(checked: "user-\(random.below(5))"), at: stamp)
            })
        try laws.check(seeds: 0..<200)
    }

    @Test func `of two values with equal times the greater wins, whatever their processes`() throws
    {
        let time = HybridTimestamp(milliseconds: 1)
        func register(_ name: String, by process: UInt64) -> Names {
            let stamp = Stamp(
                time: time, process: RandomID(high: 0, low: process), counter: 1)
            return Register(UserID(checked: name), at: stamp)
        }
        for (greater, less) in [(1, 2), (2, 1)] as [(UInt64, UInt64)] {
            let (bob, alice) = (register("bob", by: greater), register("alice", by: less))
            var (merged, mirrored) = (bob, alice)
            merged.merge(alice)
            mirrored.merge(bob)
            #expect(merged == bob)
            #expect(mirrored == bob)
        }
    }

    @Test func `what is written after seeing wins, even with clocks an hour apart`() throws {
        let now: UInt64 = 1_700_000_000_000
        for seed in 0..<500 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            var writers = [now, now + 3_600_000, now - 3_600_000].map {
                Writer(replica: RandomID(from: &random), wallMilliseconds: $0)
            }
            var register = Register(UserID(checked: "nobody"), at: writers[1].nextStamp())
            for number in 0..<10 {
                let index = random.below(writers.count)
                writers[index].wallMilliseconds += UInt64(random.below(2))
                writers[index].observe(register.stamp.time)
                let later = Register(
                    UserID(checked: "user-\(number)"), at: writers[index].nextStamp())
                let seen = register
                register.merge(later)
                try #require(register == later, "seed \(seed)")
                register.merge(seen)
                try #require(register == later, "seed \(seed)")
            }
        }
    }

    @Test func `the bytes are those of earlier builds`() throws {
        #expect(try RegisterTests.laws.golden("register") == nil)
    }
}
