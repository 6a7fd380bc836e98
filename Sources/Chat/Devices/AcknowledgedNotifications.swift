import CRDT
import Wire

/// The messages of whose notifications a device needs none any more, by the dots of their sendings:
/// each was acknowledged, or passed over before one that was.
///
/// Of two additions of a device, on two sides of a network partition, the earlier counts once the
/// sides have met. A side that knew the later one alone has passed over what was sent before it, of
/// which the device is to be notified all the same. The dots are therefore kept apart by the
/// addition that was known, and each part is about the messages that were sent after its addition.
///
/// A message may have been sent a second time just after an addition, and the first time before it:
/// which of the two counts is known once the sides have met. What was acknowledged itself, and not
/// passed over, therefore counts at any time where it was sent up to `repetitionMilliseconds` after
/// the addition.
///
/// The dots of one addition are kept apart by the time of the latest message that was acknowledged
/// with them, each dot with the latest of its times. What is older than every message of which the
/// device may still be notified is forgotten: a time only rises, and so does the limit, so that a
/// merge stays a join whatever was forgotten before. What is left grows by about 40 bytes for each
/// process that accepted such a message in a shard within the last day, up to `entriesMax`, and for
/// each message of the minute after an addition.
public struct AcknowledgedNotifications: Hashable, Sendable {
    struct Part: Hashable, Sendable {
        /// The time of the addition that was known; zero for what counts at any time.
        let added: HybridTimestamp
        /// The time of the latest message that was acknowledged with the dots; nil for what an
        /// earlier version has written, which is not forgotten.
        let time: HybridTimestamp?
        /// The dots of all shards, since a replica id belongs to one shard replica; never empty.
        var dots: Vector
    }

    /// The time in which a message without an answer is sent again: a minute.
    private static let repetitionMilliseconds: UInt64 = 60_000

    /// The most processes, one for each shard, of which acknowledged notifications are kept; of
    /// more, the earliest are forgotten, with all messages that were sent before.
    static let entriesMax = 512

    /// Ascending by addition and time; no dot is in two parts of one addition.
    private(set) var parts: [Part] = []

    public var isEmpty: Bool { parts.isEmpty }

    /// Whether the message that `dot` sent at a time was acknowledged or passed over.
    public func contains(_ dot: Dot, sentAt time: HybridTimestamp) -> Bool {
        parts.contains { $0.added < time && $0.dots.contains(dot) }
    }

    /// Returns the dots that count for all messages sent after a time.
    public func dots(after time: HybridTimestamp) -> Vector {
        parts.prefix { $0.added <= time }.reduce(into: Vector()) { $0.formUnion($1.dots) }
    }

    /// Whether the notification of a dot was taken off, by who knew that it is at this place.
    func takesOff(_ dot: Dot, at time: HybridTimestamp) -> Bool {
        parts.contains { part in
            part.added < time && part.time.map { time <= $0 } ?? true && part.dots.contains(dot)
        }
    }

    /// Returns what earlier versions have written, the dots of an addition apart, and the rest.
    func split(
        at added: HybridTimestamp?
    ) -> (dots: Vector, untimed: AcknowledgedNotifications, timed: AcknowledgedNotifications) {
        var (untimed, timed) = (self, self)
        untimed.parts.removeAll { $0.time != nil || $0.added == added }
        timed.parts.removeAll { $0.time == nil }
        let dots = parts.first { $0.time == nil && $0.added == added }?.dots
        return (dots ?? Vector(), untimed, timed)
    }

    /// Whether a message of a time may have been sent before the addition, too.
    static func mayRepeat(_ time: HybridTimestamp, since added: HybridTimestamp) -> Bool {
        time.milliseconds <= added.milliseconds + repetitionMilliseconds
    }

    /// - Parameter time: that of the latest message that is acknowledged with the dots.
    mutating func insert(
        _ dots: Vector, since added: HybridTimestamp, at time: HybridTimestamp?
    ) {
        if !dots.isEmpty { merge([Part(added: added, time: time, dots: dots)]) }
    }

    /// Forgets what was acknowledged up to a time.
    mutating func forget(upTo time: HybridTimestamp) {
        guard mayForget(upTo: time) else { return }
        parts.removeAll { $0.time.map { $0 <= time } ?? false }
    }

    func mayForget(upTo time: HybridTimestamp) -> Bool {
        parts.contains { $0.time.map { $0 <= time } ?? false }
    }

    /// The time up to which all has to be forgotten for `entriesMax` to be kept; nil for nothing.
    var surplusTime: HybridTimestamp? {
        let timed = parts.compactMap { part in part.time.map { ($0, part.dots.entries.count) } }
        var left = timed.reduce(0) { $0 + $1.1 }
        var time: HybridTimestamp?
        for (next, count) in timed.sorted(by: { $0.0 < $1.0 }) {
            guard left > AcknowledgedNotifications.entriesMax else { break }
            left -= count
            time = next
        }
        return time
    }

    mutating func formUnion(_ other: AcknowledgedNotifications) { merge(other.parts) }

    private mutating func merge(_ more: [Part]) {
        guard !more.isEmpty else { return }
        let all = mergedAscending(parts, more, by: \.place) { mine, theirs in
            Part(added: mine.added, time: mine.time, dots: mine.dots.union(theirs.dots))
        }
        var (kept, later) = ([] as [Part], Vector())
        for part in all.reversed() {
            if part.added != kept.last?.added { later = Vector() }
            let dots = part.dots.subtracting(later)
            guard !dots.isEmpty else { continue }
            later.formUnion(dots)
            kept.append(Part(added: part.added, time: part.time, dots: dots))
        }
        parts = kept.reversed()
    }

    /// Whether the parts ascend, and each dot is in one of those of an addition.
    private var isNormal: Bool {
        var (added, later) = (nil as HybridTimestamp?, Vector())
        for part in parts.reversed() {
            if part.added != added { (added, later) = (part.added, Vector()) }
            guard part.dots.intersection(later).isEmpty else { return false }
            later.formUnion(part.dots)
        }
        return zip(parts, parts.dropFirst()).allSatisfy { $0.place < $1.place }
    }
}

extension AcknowledgedNotifications.Part {
    /// The position of a part among all; what has no time is the last of its addition.
    struct Place: Comparable {
        let added: HybridTimestamp
        let time: HybridTimestamp?

        static func < (left: Place, right: Place) -> Bool {
            guard left.added == right.added else { return left.added < right.added }
            guard let mine = left.time else { return false }
            return right.time.map { mine < $0 } ?? true
        }
    }

    var place: Place { Place(added: added, time: time) }
}

/// The form in which a rule is sent: which dots count for which messages, without the times by
/// which they are forgotten.
extension AcknowledgedNotifications: WireValue {
    public func encode(into writer: inout ByteWriter) { untimed.parts.encode(into: &writer) }

    public init(from reader: inout ByteReader) throws(WireError) {
        parts = try reader.readList()
        guard zip(parts, parts.dropFirst()).allSatisfy({ $0.added < $1.added }) else {
            throw .invalid("parts that ascend")
        }
    }

    /// The same dots without times.
    var untimed: AcknowledgedNotifications {
        var untimed = AcknowledgedNotifications()
        for part in parts {
            if untimed.parts.last?.added == part.added {
                untimed.parts[untimed.parts.count - 1].dots.formUnion(part.dots)
            } else {
                untimed.parts.append(Part(added: part.added, time: nil, dots: part.dots))
            }
        }
        return untimed
    }
}

extension AcknowledgedNotifications.Part: WireValue {
    func encode(into writer: inout ByteWriter) {
        added.encode(into: &writer)
        dots.encode(into: &writer)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        self.init(
            added: try HybridTimestamp(from: &reader), time: nil, dots: try Vector(from: &reader))
        guard !dots.isEmpty else { throw .invalid("a part with dots") }
    }
}

/// A part as a device stores it, with its time.
struct TimedPart: Hashable, WireValue {
    let part: AcknowledgedNotifications.Part

    func encode(into writer: inout ByteWriter) {
        part.added.encode(into: &writer)
        (part.time ?? .zero).encode(into: &writer)
        part.dots.encode(into: &writer)
    }

    init(_ part: AcknowledgedNotifications.Part) { self.part = part }

    init(from reader: inout ByteReader) throws(WireError) {
        part = AcknowledgedNotifications.Part(
            added: try HybridTimestamp(from: &reader), time: try HybridTimestamp(from: &reader),
            dots: try Vector(from: &reader))
        guard !part.dots.isEmpty else { throw .invalid("a part with dots") }
    }
}

extension AcknowledgedNotifications {
    /// Creates what a device stores, of parts in their normal form.
    init(untimed: AcknowledgedNotifications, timed: [TimedPart]) throws(WireError) {
        guard zip(timed, timed.dropFirst()).allSatisfy({ $0.part.place < $1.part.place }) else {
            throw .invalid("parts that ascend")
        }
        parts = (untimed.parts + timed.map(\.part)).sorted { $0.place < $1.place }
        guard isNormal else { throw .invalid("parts as a merge leaves them") }
    }
}
