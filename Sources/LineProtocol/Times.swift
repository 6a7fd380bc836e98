import CRDT
import Chat

/// The format of times in requests and replies: RFC 3339.
///
/// Days are counted by the algorithm of Howard Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms", in which a year begins in March, so that the leap day is the year's last day.
public enum LineTime {
    /// The earliest time, 0000-01-01T00:00:00.000Z, in milliseconds since 1970.
    public static let earliest: Int64 = -62_167_219_200_000
    /// The latest time, 9999-12-31T23:59:59.999Z, in milliseconds since 1970.
    public static let latest: Int64 = 253_402_300_799_999

    static let dayMilliseconds: Int64 = 86_400_000

    /// Returns the time in UTC with milliseconds; a time outside the years 0…9999 is moved to the
    /// nearest time in these years.
    public static func text(_ milliseconds: Int64) -> String {
        var bytes: [UInt8] = []
        bytes.appendTime(milliseconds)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns a time of any UTC offset as milliseconds since 1970; smaller fractions are cut off.
    ///
    /// The result is nil for text that is not RFC 3339, and for a time that is outside the years
    /// 0…9999 in UTC. A leap second counts as the second after it.
    public static func parse(_ text: some StringProtocol) -> Int64? {
        var digits = TimeReader(rest: Array(text.utf8)[...])
        guard let days = digits.date(), digits.skip("T", or: "t"),
            let time = digits.timeOfDay(), let offset = digits.offset(), digits.rest.isEmpty
        else { return nil }
        let utc = days * dayMilliseconds + time.milliseconds - offset
        // In UTC, a leap second is the last second of a day.
        guard !time.isLeapSecond || utc.isMultiple(of: dayMilliseconds) else { return nil }
        let total = utc + time.fraction
        return (earliest...latest).contains(total) ? total : nil
    }
}

extension LineTime {
    /// Returns the time in UTC with nine digits after the second: three of the millisecond, and six
    /// of the counter within the millisecond.
    ///
    /// Exact times order events of one millisecond; other programs read them as nanoseconds.
    public static func text(_ time: HybridTimestamp) -> String {
        var bytes: [UInt8] = []
        bytes.appendTime(time)
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension LineTime {
    /// The bytes of an exact time.
    static let exactBytes = 30

    /// Returns the exact time that has this text; nil for any other text.
    static func parseExact(_ text: some Collection<UInt8>) -> HybridTimestamp? {
        let bytes = Array(text)
        guard bytes.count == exactBytes, bytes.last == UInt8(ascii: "Z"),
            let milliseconds = parse(String(decoding: bytes, as: UTF8.self)), milliseconds >= 0,
            let counter = decimal(bytes[23..<29]), counter <= 0xFFFF
        else { return nil }
        let time = HybridTimestamp(milliseconds: UInt64(milliseconds))
        return HybridTimestamp(bits: time.bits | UInt64(counter))
    }
}

extension [UInt8] {
    /// Appends an exact time in UTC, in the 30 bytes of the form `2026-11-21T06:00:00.000000001Z`.
    mutating func appendTime(_ time: HybridTimestamp) {
        appendTime(time.lineTime)
        removeLast()
        let start = count
        ("000000Z" as StaticString).withUTF8Buffer { append(contentsOf: $0) }
        withUnsafeMutableBufferPointer { bytes in
            setDigits(
                time.bits & 0xFFFF, in: UnsafeMutableBufferPointer(rebasing: bytes[start...]), 0..<6
            )
        }
    }

    /// Appends a time in UTC, in the 24 bytes of the form `2026-11-21T06:00:00.000Z`.
    mutating func appendTime(_ milliseconds: Int64) {
        let time = Swift.min(Swift.max(milliseconds, LineTime.earliest), LineTime.latest)
        // Milliseconds counted from the year 0 are never negative.
        let sinceZero = UInt64(time - LineTime.earliest)
        let ofDay = sinceZero % UInt64(LineTime.dayMilliseconds)
        let date = civil(fromDays: Int64(sinceZero / UInt64(LineTime.dayMilliseconds)))
        let start = count
        ("0000-00-00T00:00:00.000Z" as StaticString).withUTF8Buffer { append(contentsOf: $0) }
        withUnsafeMutableBufferPointer { bytes in
            let text = UnsafeMutableBufferPointer(rebasing: bytes[start...])
            setDigits(UInt64(date.year), in: text, 0..<4)
            setDigits(UInt64(date.month), in: text, 5..<7)
            setDigits(UInt64(date.day), in: text, 8..<10)
            setDigits(ofDay / 3_600_000, in: text, 11..<13)
            setDigits(ofDay / 60_000 % 60, in: text, 14..<16)
            setDigits(ofDay / 1_000 % 60, in: text, 17..<19)
            setDigits(ofDay % 1_000, in: text, 20..<23)
        }
    }
}

private func setDigits(
    _ number: UInt64, in text: UnsafeMutableBufferPointer<UInt8>, _ places: Range<Int>
) {
    var rest = number
    for place in places.reversed() {
        text[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
    }
}

/// Returns the date of a day, which is given as the number of days since 0000-01-01.
private func civil(fromDays days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    // Days are counted from 0000-03-01 minus one era: an era of 400 years has 146,097 days, and 60
    // days precede March.
    let shifted = days - 60 + 146_097
    let era = shifted / 146_097
    let ofEra = shifted % 146_097
    let yearOfEra = (ofEra - ofEra / 1_460 + ofEra / 36_524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * ofYear + 2) / 153
    let day = ofYear - (153 * marchMonth + 2) / 5 + 1
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    return (yearOfEra + era * 400 - 400 + (month <= 2 ? 1 : 0), month, day)
}

/// Returns the number of days from 1970-01-01 to a date in the years 0…9999.
private func days(year: Int64, month: Int64, day: Int64) -> Int64 {
    let shifted = year + 400 - (month <= 2 ? 1 : 0)
    let yearOfEra = shifted % 400
    let ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let ofEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + ofYear
    return shifted / 400 * 146_097 + ofEra - 719_468 - 146_097
}

/// A reader that removes the parts of a time from the front of its text.
private struct TimeReader {
    var rest: ArraySlice<UInt8>

    struct TimeOfDay {
        /// The time since midnight without fractions of a second, in milliseconds.
        let milliseconds: Int64
        let fraction: Int64
        let isLeapSecond: Bool
    }

    mutating func skip(_ byte: Unicode.Scalar, or other: Unicode.Scalar) -> Bool {
        guard let first = rest.first, first == UInt8(ascii: byte) || first == UInt8(ascii: other)
        else { return false }
        rest.removeFirst()
        return true
    }

    mutating func number(_ count: Int, _ range: ClosedRange<Int64>) -> Int64? {
        guard let number = decimal(rest.prefix(count)), rest.count >= count,
            range.contains(Int64(number))
        else { return nil }
        rest.removeFirst(count)
        return Int64(number)
    }

    /// Reads a date and returns the number of days since 1970-01-01.
    mutating func date() -> Int64? {
        guard let year = number(4, 0...9_999), skip("-", or: "-"),
            let month = number(2, 1...12), skip("-", or: "-"), let day = number(2, 1...31)
        else { return nil }
        let first = days(year: year, month: month, day: 1)
        let next =
            month == 12
            ? days(year: year + 1, month: 1, day: 1) : days(year: year, month: month + 1, day: 1)
        return day <= next - first ? first + day - 1 : nil
    }

    mutating func timeOfDay() -> TimeOfDay? {
        guard let hour = number(2, 0...23), skip(":", or: ":"), let minute = number(2, 0...59),
            skip(":", or: ":"), let second = number(2, 0...60)
        else { return nil }
        var fraction: Int64 = 0
        if skip(".", or: ".") {
            let digits = rest.prefix(while: isDigit)
            guard !digits.isEmpty else { return nil }
            rest.removeFirst(digits.count)
            for index in 0..<3 {
                let position = digits.startIndex + index
                let digit = position < digits.endIndex ? digits[position] : UInt8(ascii: "0")
                fraction = fraction * 10 + Int64(digit - UInt8(ascii: "0"))
            }
        }
        return TimeOfDay(
            milliseconds: ((hour * 60 + minute) * 60 + second) * 1_000, fraction: fraction,
            isLeapSecond: second == 60)
    }

    /// Reads the offset from UTC and returns the milliseconds by which local time is ahead of UTC.
    mutating func offset() -> Int64? {
        if skip("Z", or: "z") { return 0 }
        let isBehind = rest.first == UInt8(ascii: "-")
        guard skip("+", or: "-"), let hours = number(2, 0...23), skip(":", or: ":"),
            let minutes = number(2, 0...59)
        else { return nil }
        return (hours * 60 + minutes) * (isBehind ? -60_000 : 60_000)
    }
}
