/// A time of nodes: the milliseconds since 1970, and the counter of the hybrid timestamp within the
/// millisecond, which orders what happens in one millisecond.
struct ExactTime: Comparable, Hashable, Sendable {
    /// The milliseconds in the upper 48 bits, the counter in the lower 16.
    let bits: UInt64

    /// The time before all others.
    static let zero = ExactTime(bits: 0)
    /// A time after all others.
    static let distantFuture = ExactTime(bits: UInt64(Int64.max) - 1)

    init(bits: UInt64) {
        self.bits = bits
    }

    /// - Parameter milliseconds: since 1970; taken as 0 if negative, and cut to 48 bits.
    init(milliseconds: Int64, counter: UInt16 = 0) {
        let clamped = UInt64(max(0, min(milliseconds, (1 << 48) - 1)))
        bits = clamped << 16 | UInt64(counter)
    }

    /// The milliseconds since 1970.
    var milliseconds: Int64 { Int64(bits >> 16) }

    var counter: UInt16 { UInt16(truncatingIfNeeded: bits) }

    /// The time right after this one.
    var next: ExactTime { ExactTime(bits: bits &+ 1) }

    /// The time right before this one; zero has none.
    var previous: ExactTime { ExactTime(bits: bits - (bits > 0 ? 1 : 0)) }

    static func < (left: ExactTime, right: ExactTime) -> Bool { left.bits < right.bits }
}

extension ExactTime {
    /// Reads a time in RFC 3339 in UTC, with three or nine digits after the second: nil for any
    /// other text.
    init?(_ text: String) {
        let digits = Array(text.utf8)
        guard digits.count == 24 || digits.count == 30, digits.last == UInt8(ascii: "Z"),
            zip(Self.separators, [4, 7, 10, 13, 16, 19]).allSatisfy({ digits[$1] == $0 }),
            let year = Self.number(digits[0..<4]), let month = Self.number(digits[5..<7]),
            let day = Self.number(digits[8..<10]), let hour = Self.number(digits[11..<13]),
            let minute = Self.number(digits[14..<16]), let second = Self.number(digits[17..<19]),
            let fraction = Self.number(digits[20..<23]),
            let counter = digits.count == 24 ? 0 : Self.number(digits[23..<29]),
            year >= 1970, 1...12 ~= month, 1...31 ~= day, hour < 24, minute < 60, second < 60,
            counter <= UInt16.max
        else { return nil }
        let seconds = ((Self.days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second
        self.init(milliseconds: Int64(seconds * 1_000 + fraction), counter: UInt16(counter))
    }

    private static let separators = Array("--T::.".utf8)

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        var value = 0
        for digit in digits {
            guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= digit else { return nil }
            value = value * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return value
    }

    /// Returns the days from 1970-01-01 to a date of the Gregorian calendar.
    ///
    /// Years are counted from March, so that a leap day is the last day of a year, in eras of 400
    /// years (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms").
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let yearOfEra = year % 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return year / 400 * 146_097 + dayOfEra - 719_468
    }

    /// The year, month and day of a number of days since 1970-01-01, the inverse of `days`.
    private static func date(ofDay days: Int) -> [Int] {
        let days = days + 719_468
        let dayOfEra = days % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let fromMarch = (5 * dayOfYear + 2) / 153
        let month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
        let year = days / 146_097 * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        return [year, month, dayOfYear - (153 * fromMarch + 2) / 5 + 1]
    }
}

extension ExactTime: CustomStringConvertible {
    /// The time in RFC 3339 in UTC, with nine digits after the second.
    var description: String {
        let (seconds, fraction) = (Int(milliseconds) / 1_000, Int(milliseconds) % 1_000)
        let date = Self.date(ofDay: seconds / 86_400)
        let parts = [
            (date[0], 4), (date[1], 2), (date[2], 2), (seconds / 3_600 % 24, 2),
            (seconds / 60 % 60, 2), (seconds % 60, 2), (fraction, 3), (Int(counter), 6),
        ]
        let texts = parts.map { value, width in
            String(repeating: "0", count: max(0, width - String(value).count)) + String(value)
        }
        return texts[0] + "-" + texts[1] + "-" + texts[2] + "T" + texts[3] + ":" + texts[4] + ":"
            + texts[5] + "." + texts[6] + texts[7] + "Z"
    }
}

extension ExactTime: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let time = ExactTime(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "\(text) is not a time in RFC 3339 in UTC")
        }
        self = time
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
