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
/// A part grows by about 24 bytes for each process that accepted such a message in a shard, and the
/// part of any time by as much for each message of that minute. There are as many parts as sides of
/// a partition on which the device was added in its present life, and that one.
public struct AcknowledgedNotifications: Hashable, Sendable {
    struct Part: Hashable, Sendable {
        /// The time of the addition that was known; zero for what counts at any time.
        let added: HybridTimestamp
        /// The dots of all shards, since a replica id belongs to one shard replica; never empty.
        var dots: Vector
    }

    /// The time in which a message without an answer is sent again: a minute.
    private static let repetitionMilliseconds: UInt64 = 60_000

    /// Ascending by addition, no two of one.
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

    /// Returns the dots of the part of an addition, and the other parts.
    func split(
        at added: HybridTimestamp?
    ) -> (dots: Vector, rest: AcknowledgedNotifications) {
        var rest = self
        rest.parts.removeAll { $0.added == added }
        return (parts.first { $0.added == added }?.dots ?? Vector(), rest)
    }

    /// Whether a message of a time may have been sent before the addition, too.
    static func mayRepeat(_ time: HybridTimestamp, since added: HybridTimestamp) -> Bool {
        time.milliseconds <= added.milliseconds + repetitionMilliseconds
    }

    mutating func insert(_ dots: Vector, since added: HybridTimestamp) {
        if !dots.isEmpty { merge([Part(added: added, dots: dots)]) }
    }

    mutating func formUnion(_ other: AcknowledgedNotifications) { merge(other.parts) }

    private mutating func merge(_ more: [Part]) {
        parts = mergedAscending(parts, more, by: \.added) { mine, theirs in
            Part(added: mine.added, dots: mine.dots.union(theirs.dots))
        }
    }
}

extension AcknowledgedNotifications: WireValue {
    public func encode(into writer: inout ByteWriter) { parts.encode(into: &writer) }

    public init(from reader: inout ByteReader) throws(WireError) {
        parts = try reader.readList()
        guard zip(parts, parts.dropFirst()).allSatisfy({ $0.added < $1.added }) else {
            throw .invalid("parts that ascend")
        }
    }
}

extension AcknowledgedNotifications.Part: WireValue {
    func encode(into writer: inout ByteWriter) {
        added.encode(into: &writer)
        dots.encode(into: &writer)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        added = try HybridTimestamp(from: &reader)
        dots = try Vector(from: &reader)
        guard !dots.isEmpty else { throw .invalid("a part with dots") }
    }
}
