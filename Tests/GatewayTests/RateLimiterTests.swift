import Testing

@testable import Gateway

struct RateLimiterTests {
    @Test func `a quiet name may send a burst, and then so many a second`() {
        var limiter = RateLimiter(perSecond: 5)
        func admitted(_ count: Int, at milliseconds: UInt64, _ name: String = "alice") -> Int {
            (0..<count).count { _ in limiter.admits(name, milliseconds: milliseconds) }
        }
        #expect(admitted(100, at: 1_000) == 50)
        #expect(admitted(100, at: 1_000, "bob") == 50)
        #expect(admitted(100, at: 1_199) == 0)
        #expect(admitted(100, at: 1_200) == 1)
        #expect(admitted(100, at: 3_200) == 10)
        #expect(admitted(100, at: 60_000) == 50)
    }

    @Test func `of bytes a name has a day's at once, and then as many as the time gives`() {
        let (day, hour): (UInt64, UInt64) = (86_400_000, 3_600_000)
        var limiter = RateLimiter(most: 24 << 20, in: day)
        func delay(_ mebibytes: UInt64, at time: UInt64, counted isCounted: Bool = true) -> UInt64 {
            limiter.delay(of: mebibytes << 20, for: "a", counted: isCounted, milliseconds: time)
        }
        #expect(delay(24, at: 0, counted: false) == 0)
        for _ in 0..<24 { #expect(delay(1, at: 0) == 0) }
        #expect((hour...hour + 1).contains(delay(1, at: 0)))
        #expect(delay(1, at: hour / 2, counted: false) > 0)
        #expect(delay(1, at: hour, counted: false) == 0 && delay(1, at: hour) == 0)
        #expect(delay(1, at: hour) > 0)
        #expect(limiter.delay(of: 24 << 20, for: "b", counted: true, milliseconds: hour) == 0)
        // More than there is at all is admitted with all of it.
        #expect(limiter.delay(of: 1 << 40, for: "c", counted: true, milliseconds: hour) == 0)
        #expect(limiter.delay(of: 1, for: "c", counted: true, milliseconds: hour) > 0)
    }

    @Test func `without a limit everything is admitted`() {
        var limiter = RateLimiter(perSecond: 0)
        for number in 0..<1_000 {
            let isAdmitted = limiter.admits("a\(number % 2)", milliseconds: 1)
            #expect(isAdmitted)
        }
    }

    @Test func `names without end are forgotten, the quiet ones first`() {
        var limiter = RateLimiter(perSecond: 100)
        for _ in 0..<1_000 { _ = limiter.admits("busy", milliseconds: 0) }
        for number in 0..<70_000 {
            _ = limiter.admits("n\(number)", milliseconds: UInt64(number / 20))
        }
        let admitted = (0..<1_000).count { _ in limiter.admits("busy", milliseconds: 3_600) }
        #expect(admitted == 360)
    }
}
