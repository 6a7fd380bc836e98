import CRDT
import Wire

/// The dots of the messages whose notifications a device has acknowledged or skipped.
///
/// A message is skipped if it was examined and not listed before a message that was acknowledged.
///
/// If a device is added on two sides of a network partition, the earlier addition counts once the
/// two states are merged. A side that knew only the later addition has skipped the messages before
/// it, of which the device still has to be notified. The dots are therefore grouped by the addition
/// that was known, and each part counts only for messages that were sent after its addition.
///
/// A message that was sent just after an addition may be the repetition of a sending before the
/// addition; which of the two counts is known only after a merge. An acknowledged message that was
/// sent at most `repetitionMilliseconds` after the addition therefore counts whatever its time; a
/// skipped message does not.
///
/// The dots of one addition are grouped by the time of the latest message that was acknowledged
/// together with them; each dot has the latest of its times. A part is forgotten once its time
/// precedes every message of which the device may still be notified. The times and that limit only
/// rise, so a merge is a join whatever was forgotten before. The size grows by about 40 bytes for
/// each replica id whose messages were acknowledged within the last day, up to `entriesMax`, and
/// for each acknowledged message of the minute after an addition.
public struct AcknowledgedNotifications: Hashable, Sendable {
    struct Part: Hashable, Sendable {
        /// The time of the addition that was known; zero for dots that count at any time.
        let added: HybridTimestamp
        /// The time of the latest message that was acknowledged with the dots; nil for dots that a
        /// node of an earlier version wrote, which are never forgotten.
        let time: HybridTimestamp?
        /// The dots of all shards, since a replica id belongs to one shard replica; never empty.
        var dots: Vector
    }

    /// The time in which a client repeats a sending without a response: one minute, in
    /// milliseconds.
    private static let repetitionMilliseconds: UInt64 = 60_000

    /// The most replica ids whose acknowledged notifications are kept; of more, the parts with the
    /// earliest times are forgotten, and the device is not notified of messages up to those times.
    static let entriesMax = 512

    /// The parts, ascending by addition and time; no dot is in two parts of the same addition.
    private(set) var parts: [Part] = []

    public var isEmpty: Bool { parts.isEmpty }

    /// Returns whether the notification of the message that was sent with `dot` at `time` was
    /// acknowledged or skipped.
    public func contains(_ dot: Dot, sentAt time: HybridTimestamp) -> Bool {
        parts.contains { $0.added < time && $0.dots.contains(dot) }
    }

    /// Returns the dots that count for all messages sent after `time`.
    public func dots(after time: HybridTimestamp) -> Vector {
        parts.prefix { $0.added <= time }.reduce(into: Vector()) { $0.formUnion($1.dots) }
    }

    /// Returns whether an acknowledgement removes the entry of `dot` from the list; only
    /// acknowledgements with a time no earlier than the entry's count.
    func takesOff(_ dot: Dot, at time: HybridTimestamp) -> Bool {
        parts.contains { part in
            part.added < time && part.time.map { time <= $0 } ?? true && part.dots.contains(dot)
        }
    }

    /// Returns the dots in three fields: those without a time of the addition `added`, the other
    /// parts without a time, and the parts with a time.
    ///
    /// Earlier versions of the program use only the first two fields.
    func split(
        at added: HybridTimestamp?
    ) -> (dots: Vector, untimed: AcknowledgedNotifications, timed: AcknowledgedNotifications) {
        var (untimed, timed) = (self, self)
        untimed.parts.removeAll { $0.time != nil || $0.added == added }
        timed.parts.removeAll { $0.time == nil }
        let dots = parts.first { $0.time == nil && $0.added == added }?.dots
        return (dots ?? Vector(), untimed, timed)
    }

    /// Returns whether a message sent at `time` may repeat a sending before the addition.
    static func mayRepeat(_ time: HybridTimestamp, since added: HybridTimestamp) -> Bool {
        time.milliseconds <= added.milliseconds + repetitionMilliseconds
    }

    /// - Parameter time: the time of the latest message that is acknowledged with the dots.
    mutating func insert(
        _ dots: Vector, since added: HybridTimestamp, at time: HybridTimestamp?
    ) {
        if !dots.isEmpty { merge([Part(added: added, time: time, dots: dots)]) }
    }

    /// Removes the parts whose times are no later than `time`.
    mutating func forget(upTo time: HybridTimestamp) {
        guard mayForget(upTo: time) else { return }
        parts.removeAll { $0.time.map { $0 <= time } ?? false }
    }

    func mayForget(upTo time: HybridTimestamp) -> Bool {
        parts.contains { $0.time.map { $0 <= time } ?? false }
    }

    /// The time up to which parts have to be forgotten so that no more than `entriesMax` entries
    /// are left; nil if none has to be forgotten.
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

    /// Whether the parts ascend and no dot is in two parts of the same addition.
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
    /// The sort key of a part; a part without a time is the last of its addition.
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

/// The coding of acknowledged notifications in a rule: the dots of each addition, without the times
/// by which they are forgotten.
extension AcknowledgedNotifications: WireValue {
    public func encode(into writer: inout ByteWriter) { untimed.parts.encode(into: &writer) }

    public init(from reader: inout ByteReader) throws(WireError) {
        parts = try reader.readList()
        guard zip(parts, parts.dropFirst()).allSatisfy({ $0.added < $1.added }) else {
            throw .invalid("parts that ascend")
        }
    }

    /// The acknowledged notifications without times: one part for each addition.
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

/// The stored form of a part in a device's document, including the part's time.
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
    /// Creates the acknowledged notifications from two stored fields; throws an error unless the
    /// parts are in normal form.
    init(untimed: AcknowledgedNotifications, timed: [TimedPart]) throws(WireError) {
        guard zip(timed, timed.dropFirst()).allSatisfy({ $0.part.place < $1.part.place }) else {
            throw .invalid("parts that ascend")
        }
        parts = (untimed.parts + timed.map(\.part)).sorted { $0.place < $1.place }
        guard isNormal else { throw .invalid("parts as a merge leaves them") }
    }
}
