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
