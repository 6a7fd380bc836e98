import CRDT
import Wire

/// The conversation that a device shows from a time on, or none.
public struct Viewing: Hashable, Sendable {
    /// The most viewings that a device keeps; of more, the oldest are dropped, and messages sent in
    /// their time count as not shown.
    ///
    /// It is more than the conversations that a person opens, and that an app reports repeatedly,
    /// between two queries of the app for its notifications.
    static let countMax = 256

    /// The time after which a viewing ends that its app has to renew: ten minutes.
    static let leaseMilliseconds: UInt64 = 600_000

    public let stamp: Stamp
    public let conversation: ConversationID?
    /// Whether it ends by itself.
    public internal(set) var isLeased: Bool

    public init(stamp: Stamp, conversation: ConversationID?, isLeased: Bool = false) {
        self.stamp = stamp
        self.conversation = conversation
        self.isLeased = isLeased
    }

    /// The time at which it ends by itself; nil where it does not.
    var endsAt: HybridTimestamp? {
        guard isLeased else { return nil }
        return HybridTimestamp(milliseconds: stamp.time.milliseconds + Viewing.leaseMilliseconds)
    }
}

extension Viewing: Comparable {
    /// Orders viewings by stamp, which is equal only for equal viewings; the other comparison makes
    /// the order total over any decoded bytes.
    public static func < (left: Viewing, right: Viewing) -> Bool {
        guard left.stamp == right.stamp else { return left.stamp < right.stamp }
        guard left.conversation == right.conversation else {
            return Clearable(left.conversation) < Clearable(right.conversation)
        }
        return left.isLeased && !right.isLeased
    }
}

extension [Viewing] {
    /// Whether `conversation` was shown at `time`; the viewings ascend.
    func shows(_ conversation: ConversationID, at time: HybridTimestamp) -> Bool {
        last { $0.stamp.time <= time }?.conversation == conversation
    }

    /// The viewings, with the ends of those that nobody renewed as viewings of their own; at most
    /// the latest `Viewing.countMax`.
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

/// The form of a viewing in a list, in which its lease is not: the device has that.
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
