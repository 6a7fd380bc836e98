import Wire

/// A point in hybrid time: wall-clock milliseconds, and a counter within the millisecond.
///
/// Source: S. Kulkarni et al., "Logical Physical Clocks" (2014).
public struct HybridTimestamp: Hashable, Comparable, Sendable {
    /// The timestamp in 64 bits: 48 bits of milliseconds since 1970, then 16 bits of counter.
    public let bits: UInt64

    public static let zero = HybridTimestamp(bits: 0)

    /// The last millisecond that is accepted from a connection or a disk, in the year 4199.
    public static let millisecondsMax: UInt64 = (1 << 46) - 1
    /// The last millisecond that a hybrid clock issues or follows, in the year 3084.
    ///
    /// A node's clock counts on from the greatest timestamp that it follows. The thousand years
    /// between this limit and `millisecondsMax` ensure that no clock ever reaches a time that other
    /// nodes refuse to read.
    public static let followedMillisecondsMax: UInt64 = (1 << 45) - 1

    public init(bits: UInt64) { self.bits = bits }

    /// The first timestamp of a millisecond.
    public init(milliseconds: UInt64) {
        bits = min(milliseconds, HybridTimestamp.followedMillisecondsMax) << 16
    }

    /// Milliseconds since 1970.
    public var milliseconds: UInt64 { bits >> 16 }

    /// Whether clocks follow the timestamp; a timestamp that they do not follow takes effect only
    /// in its own document.
    public var isFollowed: Bool { milliseconds <= HybridTimestamp.followedMillisecondsMax }

    /// The next greater timestamp; the last timestamp has itself as the next.
    public var next: HybridTimestamp {
        let last = HybridTimestamp.millisecondsMax << 16 | 0xFFFF
        return HybridTimestamp(bits: bits < last ? bits + 1 : last)
    }

    public static func < (left: HybridTimestamp, right: HybridTimestamp) -> Bool {
        left.bits < right.bits
    }
}

extension HybridTimestamp: WireValue {
    public func encode(into writer: inout ByteWriter) { writer.write(fixed: bits) }

    public init(from reader: inout ByteReader) throws(WireError) {
        bits = try reader.readFixed()
        guard milliseconds <= HybridTimestamp.millisecondsMax else {
            throw .invalid("a time before the year 4200")
        }
    }
}

/// A hybrid logical clock, whose timestamps never go back while the wall clock is right.
///
/// Invariant: each timestamp is greater than all timestamps that the clock issued or observed
/// before, except timestamps too far ahead of the wall clock, which come from a wrong clock on this
/// or another node. A clock that starts after the greatest timestamp on disk keeps the invariant
/// across restarts.
public struct HybridClock: Sendable {
    public private(set) var greatest: HybridTimestamp

    public init(startingAfter greatest: HybridTimestamp = .zero) {
        self.greatest = greatest.isFollowed ? greatest : .zero
    }

    /// Returns the next timestamp.
    ///
    /// - Parameter replaced: the greatest timestamp in the document that is changed; the result is
    ///   greater, and advances the clock only if it is not too far ahead of the wall clock.
    public mutating func next(
        at wall: WallTime, replacing replaced: HybridTimestamp = .zero
    ) -> HybridTimestamp {
        let now = HybridTimestamp(milliseconds: wall.milliseconds)
        #if PlantedBugs
            if PlantedBug.wallClockOnly.isOn { return now }
        #endif
        forgetUnbelieved(at: wall)
        greatest = max(now, greatest.next)
        guard replaced >= greatest else { return greatest }
        observe(replaced.next, at: wall)
        return replaced.next
    }

    /// Observes a timestamp of another replica, so that timestamps issued later are greater.
    public mutating func observe(_ time: HybridTimestamp, at wall: WallTime) {
        forgetUnbelieved(at: wall)
        guard time.isFollowed, wall.believes(time) || followsAny else { return }
        greatest = max(greatest, time)
    }

    /// Observes the wall clock, so that a later start of this clock is greater.
    public mutating func observe(_ wall: WallTime) {
        forgetUnbelieved(at: wall)
        greatest = max(greatest, HybridTimestamp(milliseconds: wall.milliseconds))
    }

    /// Discards a clock value from before the wall clock was set back.
    private mutating func forgetUnbelieved(at wall: WallTime) {
        if !wall.believes(greatest), !followsAny { greatest = .zero }
    }

    private var followsAny: Bool {
        #if PlantedBugs
            return PlantedBug.clockFollowsAny.isOn
        #else
            return false
        #endif
    }
}
