import Testing

@testable import Gateway

@Suite struct TakingPaceTests {
    /// Returns after how many seconds a client is too slow that takes so many bytes each second of
    /// an endless answer; nil for not within ten minutes.
    private func secondsOfClient(taking bytes: Int, every seconds: UInt64 = 1) -> UInt64? {
        var pace = TakingPace(now: 5_000)
        var (written, queued) = (UInt64(0), 0)
        return (1...600 as ClosedRange<UInt64>).first { second in
            if second % seconds == 0 { queued = max(0, queued - bytes * Int(seconds)) }
            if queued < 65_536 {
                written += 65_536
                queued += 65_536
            }
            return pace.isTooSlow(queued: queued, written: written, now: 5_000 + second * 1_000)
        }
    }

    @Test func `who takes nothing is let go after half a minute, next to nothing after more`() {
        #expect(secondsOfClient(taking: 0) == 30)
        #expect(secondsOfClient(taking: 1).map { (90...92).contains($0) } == true)
        #expect(secondsOfClient(taking: 500).map { (90...182).contains($0) } == true)
    }

    @Test func `who takes a little more than that may go on, also in bursts`() {
        #expect(secondsOfClient(taking: 1_200) == nil)
        // As the kernel takes it from a client at 3 KiB a second.
        #expect(secondsOfClient(taking: 3_072, every: 28) == nil)
    }

    @Test func `who has taken all is never too slow`() {
        var pace = TakingPace(now: 0)
        for second in 1...600 as ClosedRange<UInt64> {
            let isTooSlow = pace.isTooSlow(queued: 0, written: second, now: second * 1_000)
            #expect(!isTooSlow)
        }
        let isTooSlow = [601_000, 631_000].map { now in
            pace.isTooSlow(queued: 100, written: 700, now: now)
        }
        #expect(isTooSlow == [false, true])
    }
}
