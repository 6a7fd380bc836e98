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

    public let stamp: Stamp
    public let conversation: ConversationID?

    public init(stamp: Stamp, conversation: ConversationID?) {
        self.stamp = stamp
        self.conversation = conversation
    }
}

extension Viewing: Comparable {
    /// Orders viewings by stamp, which is equal only for equal viewings; the other comparison makes
    /// the order total over any decoded bytes.
    public static func < (left: Viewing, right: Viewing) -> Bool {
        guard left.stamp == right.stamp else { return left.stamp < right.stamp }
        return Clearable(left.conversation) < Clearable(right.conversation)
    }
}

extension [Viewing] {
    /// Whether `conversation` was shown at `time`; the viewings ascend.
    func shows(_ conversation: ConversationID, at time: HybridTimestamp) -> Bool {
        last { $0.stamp.time <= time }?.conversation == conversation
    }
}

extension Viewing: WireValue {
    public func encode(into writer: inout ByteWriter) {
        stamp.encode(into: &writer)
        conversation.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        stamp = try Stamp(from: &reader)
        conversation = try Optional(from: &reader)
    }
}
