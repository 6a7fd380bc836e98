import CRDT
import Wire

/// From when on a device shows a conversation, or none.
public struct Viewing: Hashable, Sendable {
    /// The most that a device keeps: with more, the oldest go, and what was sent while they held
    /// counts as not viewed.
    ///
    /// It is more than a person opens, and an app says again, between two looks of the app at its
    /// notifications.
    static let countMax = 256

    public let stamp: Stamp
    public let conversation: ConversationID?

    public init(stamp: Stamp, conversation: ConversationID?) {
        self.stamp = stamp
        self.conversation = conversation
    }
}

extension Viewing: Comparable {
    /// Stamps are never equal unless the viewings are; the rest makes the order total over any
    /// bytes.
    public static func < (left: Viewing, right: Viewing) -> Bool {
        guard left.stamp == right.stamp else { return left.stamp < right.stamp }
        return Clearable(left.conversation) < Clearable(right.conversation)
    }
}

extension [Viewing] {
    /// Whether `conversation` was in view at that time; these ascend.
    func shows(_ conversation: ConversationID, at time: HybridTimestamp) -> Bool {
        last { $0.stamp.time <= time }?.conversation == conversation
    }
}

extension Viewing: WireValue {
    public func encode(into writer: inout ByteWriter) {
        stamp.encode(into: &writer)
        writer.writeOptional(conversation) { $0.write($1) }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        stamp = try Stamp(from: &reader)
        conversation = try reader.readFlag() ? try reader.readName() : nil
    }
}
