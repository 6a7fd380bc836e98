import Testing

@testable import Benchmarks

@Suite struct LatenciesTests {
    @Test(arguments: 0..<20 as Range<UInt64>)
    func `a percentile is that of the sorted times, at most 1.6 percent higher`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var latencies = Latencies()
        var times: [UInt64] = []
        for _ in 0..<2_000 {
            let time = random.next() >> UInt64(random.within(20...60))
            times.append(time)
            latencies.record(nanoseconds: time)
        }
        times.sort()
        for percent in [0.1, 1, 50, 90, 99, 99.9, 100] {
            let rank = max(1, Int((Double(times.count) * percent / 100).rounded(.up)))
            let exact = times[rank - 1]
            let found = latencies.percentile(percent)
            #expect(found >= exact)
            #expect(Double(found) <= Double(exact) * 1.016)
        }
    }

    @Test func `small numbers are exact, and nothing has no percentile but zero`() {
        #expect(Latencies().percentile(99) == 0)
        var latencies = Latencies()
        for time in 1...50 as ClosedRange<UInt64> { latencies.record(nanoseconds: time) }
        #expect(latencies.percentile(50) == 25)
        #expect(latencies.percentile(99) == 50)
    }

    @Test func `a spread is the middle of the runs and their ends`() {
        let spread = Spread([3, 1_234.5, 2])
        #expect(spread.median == 3)
        #expect(spread.text(digits: 1) == "3.0 (2.0 to 1,234.5 in 3 runs)")
        #expect(Spread([1, 2]).median == 1.5)
        #expect(Spread([7]).text(digits: 0) == "7")
    }

    @Test func `numbers are grouped and rounded`() {
        #expect(decimal(0, digits: 0) == "0")
        #expect(decimal(0.006, digits: 2) == "0.01")
        #expect(decimal(999.999, digits: 2) == "1,000.00")
        #expect(decimal(1_234_567, digits: 0) == "1,234,567")
        #expect(decimal(12.05, digits: 3) == "12.050")
    }
}
