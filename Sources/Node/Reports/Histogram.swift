/// A histogram of measured values with fixed ranges.
///
/// Recording a value takes a few additions of integers, and the sum is exact.
package struct Histogram: Hashable, Sendable {
    /// The greatest value of each range, ascending; the last range is unbounded and has no entry.
    package let bounds: [UInt64]
    /// The number of recorded values in each range; one entry more than `bounds`.
    package private(set) var counts: [UInt64]
    /// The sum of all recorded values.
    package private(set) var sum: UInt64 = 0

    package init(_ bounds: [UInt64]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    package mutating func record(_ value: UInt64) {
        var index = 0
        while index < bounds.count, value > bounds[index] { index += 1 }
        counts[index] += 1
        sum &+= value
    }

    /// The number of all recorded values.
    package var count: UInt64 { counts.reduce(0, +) }

    /// The bounds for durations, in microseconds: from less than the time of a disk sync to more
    /// than the second for which a write waits for co-owners.
    package static let durations: [UInt64] = [
        100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
        1_000_000, 2_500_000,
    ]

    /// The bounds for the sizes of batches.
    package static let amounts: [UInt64] = [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000,
    ]
}
