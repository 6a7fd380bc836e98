import CRDT
import Wire

/// The conversation that a device shows from a time on, or the fact that it shows none.
public struct Viewing: Hashable, Sendable {
    /// The most viewings that a device keeps; of more, the oldest are dropped, and messages that
    /// were sent during a dropped viewing count as not shown.
    ///
    /// The limit exceeds the number of reports that an app makes of opened conversations between
    /// two of its queries for notifications.
    static let countMax = 256

    /// The time after which a leased viewing ends unless its app renews it, in milliseconds: ten
    /// minutes.
    static let leaseMilliseconds: UInt64 = 600_000

    public let stamp: Stamp
    public let conversation: ConversationID?
    /// Whether the viewing ends after `leaseMilliseconds` unless it is renewed.
    public internal(set) var isLeased: Bool

    public init(stamp: Stamp, conversation: ConversationID?, isLeased: Bool = false) {
        self.stamp = stamp
        self.conversation = conversation
        self.isLeased = isLeased
    }

    /// The time at which a leased viewing ends; nil if the viewing is not leased.
    var endsAt: HybridTimestamp? {
        guard isLeased else { return nil }
        return HybridTimestamp(milliseconds: stamp.time.milliseconds + Viewing.leaseMilliseconds)
    }
}

extension Viewing: Comparable {
    /// Orders viewings by stamp.
    ///
    /// Stamps are equal only for equal viewings; the comparisons of the other fields make the order
    /// total over any decoded bytes.
    public static func < (left: Viewing, right: Viewing) -> Bool {
        guard left.stamp == right.stamp else { return left.stamp < right.stamp }
        guard left.conversation == right.conversation else {
            return Clearable(left.conversation) < Clearable(right.conversation)
        }
        return left.isLeased && !right.isLeased
    }
}

extension [Viewing] {
    /// Returns whether the device showed `conversation` at `time`; the viewings must ascend by
    /// stamp.
    func shows(_ conversation: ConversationID, at time: HybridTimestamp) -> Bool {
        last { $0.stamp.time <= time }?.conversation == conversation
    }

    /// The viewings without leases: the end of each lease that was not renewed is a further
    /// viewing, of no conversation.
    ///
    /// At most the latest `Viewing.countMax` viewings are returned.
    var withEnds: [Viewing] {
        var all: [Viewing] = []
        for (index, viewing) in enumerated() {
            all.append(Viewing(stamp: viewing.stamp, conversation: viewing.conversation))
            let next = index + 1 < count ? self[index + 1].stamp.time : nil
            guard let end = viewing.endsAt, next.map({ end < $0 }) ?? true else { continue }
            let stamp = Stamp(
                time: end, process: viewing.stamp.process, counter: viewing.stamp.counter)
            all.append(Viewing(stamp: stamp, conversation: nil))
        }
        return all.suffix(Viewing.countMax)
    }
}

/// The coding of a viewing in a list, without its lease: the device's document stores the leases in
/// another field.
extension Viewing: WireValue {
    public func encode(into writer: inout ByteWriter) {
        stamp.encode(into: &writer)
        conversation.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        self.init(
            stamp: try Stamp(from: &reader), conversation: try Optional(from: &reader))
    }
}
