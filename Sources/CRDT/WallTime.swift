/// A reading of the wall clock, and the latest timestamp that is believed at that time.
///
/// A timestamp that is further ahead comes from a wrong clock: it takes effect only in its own
/// document, and no clock follows it.
public struct WallTime: Hashable, Sendable {
    /// The default of the most milliseconds by which a believed timestamp is ahead of the wall
    /// clock.
    public static let maxOffsetMillisecondsDefault: UInt64 = 500

    /// Milliseconds since 1970.
    public let milliseconds: UInt64
    public let latest: HybridTimestamp

    /// - Parameter latestMilliseconds: the last millisecond since 1970 that is believed.
    public init(milliseconds: UInt64, latestMilliseconds: UInt64) {
        self.milliseconds = milliseconds
        let last = HybridTimestamp(milliseconds: max(milliseconds, latestMilliseconds))
        latest = HybridTimestamp(bits: last.bits | 0xFFFF)
    }

    /// Creates a reading that believes timestamps up to the default offset ahead.
    public init(milliseconds: UInt64) {
        let latest = milliseconds.addingReportingOverflow(WallTime.maxOffsetMillisecondsDefault)
        self.init(
            milliseconds: milliseconds, latestMilliseconds: latest.overflow ? .max : latest.0)
    }

    /// Whether the timestamp is believed, so that a clock follows it.
    public func believes(_ time: HybridTimestamp) -> Bool { time <= latest }
}
