/// A reading of a wall clock, and the latest timestamp that is believed beside it.
///
/// A timestamp from further ahead was given by a wrong clock: it takes effect in its own document
/// alone, and no clock follows it.
public struct WallTime: Hashable, Sendable {
    /// How far ahead of the wall clock a timestamp is believed where nothing else was said, in
    /// milliseconds.
    public static let maxOffsetMillisecondsDefault: UInt64 = 500

    /// Since 1970.
    public let milliseconds: UInt64
    public let latest: HybridTimestamp

    /// - Parameter latestMilliseconds: the last millisecond since 1970 that is believed.
    public init(milliseconds: UInt64, latestMilliseconds: UInt64) {
        self.milliseconds = milliseconds
        let last = HybridTimestamp(milliseconds: max(milliseconds, latestMilliseconds))
        latest = HybridTimestamp(bits: last.bits | 0xFFFF)
    }

    /// Believes what is ahead by the default offset.
    public init(milliseconds: UInt64) {
        let latest = milliseconds.addingReportingOverflow(WallTime.maxOffsetMillisecondsDefault)
        self.init(
            milliseconds: milliseconds, latestMilliseconds: latest.overflow ? .max : latest.0)
    }

    /// Whether a clock follows a timestamp.
    public func believes(_ time: HybridTimestamp) -> Bool { time <= latest }
}
