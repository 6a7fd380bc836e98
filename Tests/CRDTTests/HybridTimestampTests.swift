import TestKit
import Testing
import Wire

@testable import CRDT

struct HybridTimestampTests {
    private func wall(_ milliseconds: UInt64) -> WallTime {
        WallTime(milliseconds: milliseconds, latestMilliseconds: milliseconds + 500)
    }

    @Test func `a clock never goes back behind what it believes, however the wall clock jumps`()
        throws
    {
        for seed in 0..<500 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            var clock = HybridClock()
            var greatest = HybridTimestamp.zero
            for _ in 0..<40 {
                // 1970, moments within and beyond half a second of each other, the year 2100.
                let wall = wall(
                    random.pick(
                        [
                            0, 1_700_000_000_000, 1_700_000_000_300, 1_699_999_999_700,
                            1_700_003_600_000, 4_102_444_800_000,
                        ] as [UInt64]))
                if !wall.believes(greatest) { greatest = .zero }
                if random.chance(30) {
                    let seen = HybridTimestamp(
                        milliseconds: wall.milliseconds + random.pick([0, 400, 600, 1 << 40]))
                    clock.observe(seen, at: wall)
                    if wall.believes(seen) { greatest = max(greatest, seen) }
                }
                let time = clock.next(at: wall)
                try #require(time > greatest && wall.believes(time), "seed \(seed)")
                greatest = time
            }
        }
    }

    @Test func `a clock follows the wall clock where it can`() {
        var clock = HybridClock()
        #expect(clock.next(at: wall(5)) == HybridTimestamp(milliseconds: 5))
        #expect(clock.next(at: wall(5)).bits == 5 << 16 + 1)
        #expect(clock.next(at: wall(4)).bits == 5 << 16 + 2)
        #expect(clock.next(at: wall(6)) == HybridTimestamp(milliseconds: 6))
    }

    @Test func `a restarted clock starts behind the greatest stamp on disk`() {
        let greatest = HybridTimestamp(milliseconds: 1_700_000_000_400)
        var clock = HybridClock(startingAfter: greatest)
        #expect(clock.next(at: wall(1_700_000_000_000)) > greatest)
    }

    @Test func `what a wrong clock wrote moves no clock, and is replaced all the same`() {
        let far = HybridTimestamp(milliseconds: 2_000_000_000_000)
        var clock = HybridClock(startingAfter: far)
        let now = HybridTimestamp(milliseconds: 1_700_000_000_000)
        #expect(clock.next(at: wall(1_700_000_000_000)) == now)
        clock.observe(far, at: wall(1_700_000_000_000))
        #expect(clock.next(at: wall(1_700_000_000_000), replacing: far) == far.next)
        #expect(clock.next(at: wall(1_700_000_000_001)).milliseconds == 1_700_000_000_001)
    }

    @Test func `70,000 writes within a millisecond run into the next one`() {
        var clock = HybridClock()
        var last = HybridTimestamp.zero
        for _ in 0..<70_000 {
            let time = clock.next(at: wall(1_000))
            guard time > last else {
                Issue.record("\(time)")
                return
            }
            last = time
        }
        #expect(last.milliseconds == 1_001)
    }

    @Test func `a time from the year 4200 on is refused, and never made`() throws {
        let last = HybridTimestamp(milliseconds: .max)
        #expect(last.milliseconds == HybridTimestamp.followedMillisecondsMax)
        #expect(try HybridTimestamp.decode(last.encoded) == last)
        for bits in [(HybridTimestamp.millisecondsMax + 1) << 16, 1 << 63 - 1, .max] {
            let later = HybridTimestamp(bits: bits)
            #expect(throws: WireError.self) { try HybridTimestamp.decode(later.encoded) }
        }
    }

    @Test func `a time that no clock shows moves no clock, and nothing is counted on from it`() {
        let lie = HybridTimestamp(bits: HybridTimestamp.millisecondsMax << 16 | 0xFFFF)
        for seen in [lie, HybridTimestamp(bits: 1 << 63 - 1), HybridTimestamp(bits: .max)] {
            var clock = HybridClock(startingAfter: seen)
            clock.observe(seen, at: WallTime(milliseconds: 7, latestMilliseconds: .max))
            #expect(clock.next(at: wall(7)) == HybridTimestamp(milliseconds: 7))
            #expect(seen.next <= max(seen, lie))
        }
        let last = HybridTimestamp(milliseconds: .max)
        var clock = HybridClock(startingAfter: last)
        #expect(
            clock.next(at: WallTime(milliseconds: 7, latestMilliseconds: .max)) > last)
    }

    @Test func `stamps are ordered by time, then by replica, as their bytes are`() throws {
        var random = SplitMix64(seed: 2)
        for _ in 0..<2_000 {
            let (left, right) = (stamp(&random), stamp(&random))
            // Different stamps of one time and one process do not occur.
            if (left.time, left.process) != (right.time, right.process) {
                try #require(
                    (left < right) == left.encoded.lexicographicallyPrecedes(right.encoded))
            }
            try #require(try Stamp.decode(left.encoded) == left)
        }
    }

    private func stamp(_ random: inout SplitMix64) -> Stamp {
        Stamp(
            time: HybridTimestamp(bits: UInt64(random.below(3)) << 16 + UInt64(random.below(2))),
            process: RandomID(high: UInt64(random.below(2)), low: UInt64(random.below(2))),
            counter: 1 + UInt64(random.below(300)))
    }
}
