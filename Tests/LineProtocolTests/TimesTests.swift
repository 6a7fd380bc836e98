import Foundation
import LineProtocol
import Testing

@Suite struct TimesTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (LineTime.earliest, "0000-01-01T00:00:00.000Z"),
            (LineTime.latest, "9999-12-31T23:59:59.999Z"),
            (1_795_240_800_123, "2026-11-21T06:00:00.123Z"),
            (-62_162_121_600_000, "0000-02-29T00:00:00.000Z"),
        ] as [(Int64, String)])
    func `a time shows as RFC 3339 in UTC and reads back`(milliseconds: Int64, text: String) {
        #expect(LineTime.text(milliseconds) == text)
        #expect(LineTime.parse(text) == milliseconds)
    }

    @Test func `a time beyond the years shows as the last or first`() {
        #expect(LineTime.text(.max) == "9999-12-31T23:59:59.999Z")
        #expect(LineTime.text(.min) == "0000-01-01T00:00:00.000Z")
    }

    @Test(
        arguments: [
            ("1970-01-01T01:00:00+01:00", 0), ("1969-12-31t18:30:00.5-05:30", 500),
            ("1970-01-01T00:00:00.1239999z", 123), ("1970-01-01T00:00:00-00:00", 0),
            ("1972-06-30T23:59:60Z", 78_796_800_000),
            ("1972-07-01T01:59:60.25+02:00", 78_796_800_250),
        ] as [(String, Int64)])
    func `a time may have any offset`(text: String, milliseconds: Int64) {
        #expect(LineTime.parse(text) == milliseconds)
    }

    @Test(arguments: [
        "", "2026-11-21", "2026-11-21T06:00:00", "2026-11-21 06:00:00Z", "2026-11-21T06:00Z",
        "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
        "2026-01-32T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:60Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00+1:00",
        "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00Zx", "26-01-01T00:00:00Z",
        "+026-01-01T00:00:00Z",
        "0000-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "1900-02-29T00:00:00Z",
        "2026-01-01T0",
    ])
    func `what is no time is refused`(text: String) {
        #expect(LineTime.parse(text) == nil)
    }

    @Test func `days throughout the calendar agree with Foundation's`() {
        var calendar = Calendar(identifier: .iso8601)
        calendar.timeZone = .gmt
        // From 1600 on: before 1582 Foundation's calendar is the Julian one, RFC 3339's is not.
        let day1600: Int64 = -11_676_096_000_000
        for day in stride(from: day1600, through: LineTime.latest, by: 86_400_000 * 397) {
            let parts = calendar.dateComponents(
                [.era, .year, .month, .day], from: Date(timeIntervalSince1970: Double(day / 1_000)))
            let year = parts.era == 0 ? 1 - (parts.year ?? 0) : parts.year ?? 0
            let text = LineTime.text(day + 45_296_789)
            let expected = String(
                format: "%04d-%02d-%02dT12:34:56.789Z", year, parts.month ?? 0, parts.day ?? 0)
            guard text == expected, LineTime.parse(text) == day + 45_296_789 else {
                Issue.record("\(text) should be \(expected)")
                return
            }
        }
    }

    @Test(arguments: [
        ("0ms", Duration.zero), ("250ms", .milliseconds(250)), ("1.5s", .milliseconds(1_500)),
        ("15m", .seconds(900)), ("10h", .seconds(36_000)), ("0.000001s", .microseconds(1)),
    ])
    func `a duration is a number and its unit`(text: String, duration: Duration) {
        #expect(Duration(lineValue: text) == duration)
        #expect(Duration(lineValue: duration.asLineValue) == duration)
    }

    @Test(arguments: [
        "", "5", "s", "5 s", "-5s", "5S", "5d", "5sec", "1.s", ".5s", "1.2.3s", "1.1234567s",
        "99999999999999999999h", "9223372036854775807ms", "٣s", "5\u{301}s",
    ])
    func `what is no duration is refused`(text: String) {
        #expect(Duration(lineValue: text) == nil)
    }

    @Test func `a duration shows as milliseconds`() {
        #expect(Duration.microseconds(412).asLineValue == "0.412ms")
        #expect(Duration.seconds(2).asLineValue == "2000ms")
        #expect(Duration.microseconds(-1_500).asLineValue == "-1.5ms")
        #expect(Duration.nanoseconds(999).asLineValue == "0ms")
    }
}
