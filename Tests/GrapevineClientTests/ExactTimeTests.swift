import TestKit
import Testing

@testable import GrapevineClient

@Suite struct ExactTimeTests {
    @Test(arguments: [
        "1970-01-01T00:00:00.000000000Z", "2026-11-30T00:37:36.235000000Z",
        "2026-12-31T23:59:59.999065535Z", "2028-02-29T12:00:00.001000001Z",
        "2100-03-01T00:00:00.000000000Z", "2000-02-29T08:09:10.011000012Z",
    ])
    func `a time is read and written`(_ text: String) throws {
        #expect(try #require(ExactTime(text)).description == text)
    }

    @Test func `three digits are a time without a counter`() throws {
        let time = try #require(ExactTime("2026-11-30T00:37:36.235Z"))
        #expect(time.description == "2026-11-30T00:37:36.235000000Z")
        #expect(time.milliseconds == 1_795_999_056_235)
    }

    @Test(arguments: [
        "", "2026-11-30T00:37:36Z", "2026-11-30T00:37:36.235000000", "2026-13-01T00:00:00.000Z",
        "2026-11-30 00:37:36.235Z", "2026-11-30T24:00:00.000Z", "2026-11-30T00:00:00.0000000000Z",
        "2026-11-30T00:37:36.235065536Z", "1969-12-31T23:59:59.999Z", "２026-11-30T00:37:36.235Z",
        "2026-11-3aT00:37:36.235Z",
    ])
    func `other texts are no times`(_ text: String) {
        #expect(ExactTime(text) == nil)
    }

    @Test func `the order of times is that of their texts`() {
        var generator = SplitMix64(seed: 7)
        let times = (0..<200).map { _ in
            ExactTime(
                milliseconds: Int64.random(in: 0..<4_000_000_000_000, using: &generator),
                counter: UInt16.random(in: 0...UInt16.max, using: &generator))
        }
        #expect(times.sorted().map(\.description) == times.map(\.description).sorted())
        #expect(times.allSatisfy { ExactTime($0.description) == $0 })
    }
}

@Suite struct ServerTimeTests {
    private func time(_ milliseconds: Int64) -> ExactTime { ExactTime(milliseconds: milliseconds) }

    @Test func `the answer that shows the latest time counts, unless the clock is another one`() {
        var server = ServerTime(deviceTime: 1_000_000, elapsed: 0)
        #expect(server.now(elapsed: 10) == 1_000_010)
        server.note(now: time(2_000_000), elapsed: 100)
        #expect(server.now(elapsed: 100) == 2_000_000)
        server.note(now: time(1_999_000), elapsed: 200)
        #expect(server.now(elapsed: 200) == 2_000_100)
        server.note(now: time(2_000_250), elapsed: 300)
        #expect(server.now(elapsed: 300) == 2_000_250)
        server.note(now: time(1_900_000), elapsed: 400)
        #expect(server.now(elapsed: 400) == 1_900_000)
    }

    @Test func `each stamp is later than the one before, and than what nodes have shown`() {
        var server = ServerTime(deviceTime: 0, elapsed: 0)
        server.note(now: time(1_000), elapsed: 0)
        #expect(
            server.nextStamp(elapsed: 0, counter: 5) == ExactTime(milliseconds: 1_000, counter: 5))
        #expect(server.nextStamp(elapsed: 0, counter: 5).milliseconds == 1_001)
        server.note(shown: time(1_300), elapsed: 0)
        #expect(server.nextStamp(elapsed: 0, counter: 5).milliseconds == 1_301)
        // A time that is far ahead comes from a wrong clock.
        server.note(shown: time(9_000), elapsed: 0)
        #expect(server.nextStamp(elapsed: 0, counter: 5).milliseconds == 1_302)
    }

    @Test func `times that are far ahead begin anew when a node has refused one`() {
        var server = ServerTime(deviceTime: 9_000_000, elapsed: 0)
        let stamp = server.nextStamp(elapsed: 0, counter: 0)
        let isFarAhead = server.note(refused: stamp, now: time(5_000), elapsed: 10)
        #expect(isFarAhead)
        #expect(server.nextStamp(elapsed: 10, counter: 0).milliseconds == 5_000)
        let near = ExactTime(milliseconds: 5_400)
        let isNear = !server.note(refused: near, now: time(5_000), elapsed: 10)
        #expect(isNear)
    }
}
