import CRDT
import Testing

/// The judgement on the times of operations, by nodes whose clocks differ.
@Suite struct TimelinessTests {
    private func judgement(_ time: UInt64, at wall: UInt64) -> Timeliness {
        WallTime(milliseconds: wall).timeliness(of: HybridTimestamp(milliseconds: time))
    }

    @Test func `an operation is executed for ten minutes less twice the offset`() {
        let time: UInt64 = 2_000_000
        for (wall, judged) in [
            (time - 501, Timeliness.early), (time - 500, .inTime), (time, .inTime),
            (time + 598_999, .inTime), (time + 599_000, .closing), (time + 599_999, .closing),
            (time + 600_000, .expired), (time + 1 << 40, .expired),
        ] {
            #expect(judgement(time, at: wall) == judged, "\(wall)")
        }
        #expect(judgement(0, at: 0) == .inTime)
    }

    @Test func `once a node has called an operation expired, no node executes it`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let offset = UInt64.random(in: 1...300_000, using: &random)
            let time = UInt64.random(in: 1_000_000...2_000_000, using: &random)
            let now = time + UInt64.random(in: 0...1_000_000, using: &random)
            let (one, other) = (
                now - UInt64.random(in: 0...offset, using: &random),
                now + UInt64.random(in: 0...offset, using: &random)
            )
            // Each node believes times up to its own offset ahead of its own clock.
            let judged = [one, other].map {
                WallTime(milliseconds: $0, latestMilliseconds: $0 + offset)
                    .timeliness(of: HybridTimestamp(milliseconds: time))
            }
            #expect(!judged.contains(.expired) || !judged.contains(.inTime))
        }
    }

    @Test func `an offset of half the age and more leaves no time`() {
        for offset: UInt64 in [300_000, 600_001, 1 << 62] {
            let wall = WallTime(milliseconds: 5_000_000, latestMilliseconds: 5_000_000 + offset)
            #expect(wall.timeliness(of: HybridTimestamp(milliseconds: 5_000_000)) == .closing)
        }
    }
}
