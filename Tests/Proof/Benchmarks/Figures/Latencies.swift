/// A histogram of times, with 64 buckets of equal width per power of two, so that a percentile is
/// at most 1.6 % too high, whatever the number of times.
struct Latencies {
    private static let perDoubling = 64

    private var counts = [UInt32](repeating: 0, count: 64 * Self.perDoubling)
    private(set) var count = 0

    mutating func record(nanoseconds: UInt64) {
        counts[Self.bucket(of: nanoseconds)] += 1
        count += 1
    }

    /// Returns the least time, in nanoseconds, that `percent` of the recorded times do not exceed.
    ///
    /// Zero if none was recorded.
    func percentile(_ percent: Double) -> UInt64 {
        guard count > 0 else { return 0 }
        let rank = max(1, Int((Double(count) * percent / 100).rounded(.up)))
        var seen = 0
        for (bucket, count) in counts.enumerated() {
            seen += Int(count)
            if seen >= rank { return Self.greatest(in: bucket) }
        }
        preconditionFailure("the buckets hold every time that was counted")
    }

    /// Returns the bucket of a time: the number itself below 64; above, the power of two followed
    /// by the six bits after the leading one.
    private static func bucket(of nanoseconds: UInt64) -> Int {
        guard nanoseconds >= UInt64(perDoubling) else { return Int(nanoseconds) }
        let power = 63 - nanoseconds.leadingZeroBitCount
        let fraction = Int(nanoseconds >> UInt64(power - 6)) - perDoubling
        return (power - 5) * perDoubling + fraction
    }

    private static func greatest(in bucket: Int) -> UInt64 {
        guard bucket >= perDoubling else { return UInt64(bucket) }
        let power = bucket / perDoubling + 5
        let fraction = bucket % perDoubling + perDoubling + 1
        return UInt64(fraction) << UInt64(power - 6) - 1
    }
}

/// The median of several runs' values, with the least and the greatest.
struct Spread {
    let median: Double
    let least: Double
    let greatest: Double
    let runs: Int

    /// - Parameter values: at least one.
    init(_ values: [Double]) {
        let sorted = values.sorted()
        precondition(!sorted.isEmpty, "a spread needs a value")
        let middle = sorted.count / 2
        median =
            sorted.count.isMultiple(of: 2)
            ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
        least = sorted[0]
        greatest = sorted[sorted.count - 1]
        runs = sorted.count
    }

    /// The form `84,512 (81,002 to 86,900 in 3 runs)`, with this number of decimal digits.
    func text(digits: Int) -> String {
        let middle = decimal(median, digits: digits)
        guard runs > 1 else { return middle }
        return middle + " (\(decimal(least, digits: digits)) to "
            + "\(decimal(greatest, digits: digits)) in \(runs) runs)"
    }
}

/// Formats a number that is not negative for a person: `12,345.67`.
func decimal(_ value: Double, digits: Int) -> String {
    let unit = (0..<digits).reduce(1) { unit, _ in unit * 10 }
    let scaled = Int((max(0, value) * Double(unit)).rounded())
    var whole = String(scaled / unit)
    var grouped = ""
    while whole.count > 3 {
        grouped = "," + whole.suffix(3) + grouped
        whole.removeLast(3)
    }
    guard digits > 0 else { return whole + grouped }
    let fraction = String(scaled % unit)
    let zeros = String(repeating: "0", count: digits - fraction.count)
    return whole + grouped + "." + zeros + fraction
}
