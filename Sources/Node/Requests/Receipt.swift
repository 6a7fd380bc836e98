import CRDT
import Chat
import StorePort
import Wire

/// The result of a write: the values for its status line, and the changes whose storage is awaited.
package struct Receipt: Hashable, Sendable {
    /// The changes that have to be stored for the write to be acknowledged.
    package let context: Context
    /// The id of a message that was sent.
    package let message: MessageID?
    package let sentAt: HybridTimestamp?
    /// When a message was edited, or an account changed.
    package let editedAt: HybridTimestamp?
    /// The number of messages of the conversation that are unread after the write.
    package let unread: Int?
    /// Whether the write changed nothing, because its effect existed already.
    package let isRepeated: Bool
    /// The id of an action item that was added or changed.
    package let item: ItemID?
    /// When the value that the write sets has last changed: the time of the write, or an earlier
    /// time if the write changed nothing.
    ///
    /// The time is nil for sends, edits and accounts, which have times of their own; if the write
    /// changed nothing and nothing was ever set; and from nodes of an earlier version.
    package var changedAt: HybridTimestamp?
}

extension Receipt {
    /// The time of the change of an account, with which access tokens are compared; nil for any
    /// other write.
    package var accountStamp: UInt64? { sentAt == nil ? editedAt?.bits : nil }

    /// - Parameters:
    ///   - document: the document with the operation in it.
    ///   - unread: the number of messages that are unread after the operation.
    init(
        of operation: Operation, document: Document?, context: Context, unread: Int?,
        isRepeated: Bool
    ) {
        let mutation = operation.mutation
        self.context = context
        self.unread = unread
        item = mutation.item
        self.isRepeated = isRepeated
        let sent = document?.message?.header.sent.time
        if let id = mutation.message, mutation.action.mayBeMinted {
            (message, sentAt, editedAt) = (id, sent, nil)
        } else if let action = mutation.action as? any CredentialsAction {
            let account = document?.credentials?.account(of: mutation.user)
            let changed = account.flatMap { action.time(in: $0) } ?? operation.stamp.time
            (message, sentAt, editedAt) = (nil, nil, changed)
        } else if mutation.action is EditMessage {
            let isStored = document?.message?.has(operation.stamp) ?? false
            let edited = isStored ? operation.stamp.time : document?.message?.editedAt
            (message, sentAt, editedAt) = (nil, sent, edited)
        } else {
            (message, sentAt, editedAt) = (nil, nil, nil)
            changedAt =
                document.flatMap {
                    mutation.action.changeTime(
                        inDocument: $0, by: mutation.user, after: operation.stamp)
                } ?? (isRepeated ? nil : operation.stamp.time)
        }
    }
}

extension Receipt: WireValue {
    package func encode(into writer: inout ByteWriter) {
        context.encode(into: &writer)
        message.encode(into: &writer)
        sentAt.encode(into: &writer)
        editedAt.encode(into: &writer)
        writer.writeOptional(unread) { $0.write(count: $1) }
        writer.write(isRepeated)
        item.encode(into: &writer)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        context = try Context(from: &reader)
        message = try Optional(from: &reader)
        sentAt = try Optional(from: &reader)
        editedAt = try Optional(from: &reader)
        unread = try reader.readFlag() ? try reader.readNumber() : nil
        isRepeated = try reader.readFlag()
        item = try Optional(from: &reader)
    }
}

/// The encoding of a failure in the response to another node.
extension ShardFailure: WireValue {
    /// The greatest length of a reason in bytes; a longer reason is truncated.
    static let reasonBytesMax = 1_024

    package func encode(into writer: inout ByteWriter) {
        switch self {
        case .refused(let refusal):
            writer.write(1)
            refusal.encode(into: &writer)
        case .notReady: writer.write(2)
        case .unreachable: writer.write(6)
        case .overloaded: writer.write(7)
        case .unanswered: writer.write(8)
        case .behind: writer.write(9)
        case .clock(let offset):
            writer.write(10)
            writer.write(fixed: UInt64(bitPattern: offset))
        case .unsupported: writer.write(11)
        case .stale(let time):
            writer.write(14)
            time.encode(into: &writer)
        case .untimely(let timeliness, let now):
            writer.write(15)
            writer.write(timeliness.rawValue)
            writer.write(varint: now)
        case .store(.full): writer.write(3)
        case .store(.badRecord(let key)):
            writer.write(4)
            key.encode(into: &writer)
        case .store(.badIndex): writer.write(12)
        case .store(.locked): writer.write(13)
        case .store(.failed(let reason)): write(reason, to: &writer)
        // No response contains this failure as such, so its text is encoded as a reason.
        case .badFrame(let error): write("bad frame: \(error)", to: &writer)
        }
    }

    private func write(_ reason: String, to writer: inout ByteWriter) {
        writer.write(5)
        var cut = reason[...]
        while cut.utf8.count > ShardFailure.reasonBytesMax { cut.removeLast() }
        writer.write(String(cut))
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        switch try reader.readByte() {
        case 1: self = .refused(try Refusal(from: &reader))
        case 2: self = .notReady
        case 3: self = .store(.full)
        case 4: self = .store(.badRecord(try DocumentKey(from: &reader)))
        case 5:
            self = .store(.failed(try reader.readText(limit: ShardFailure.reasonBytesMax)))
        case 6: self = .unreachable
        case 7: self = .overloaded
        case 8: self = .unanswered
        case 9: self = .behind
        case 10: self = .clock(Int64(bitPattern: try reader.readFixed()))
        case 11: self = .unsupported
        case 12: self = .store(.badIndex)
        case 13: self = .store(.locked)
        case 14: self = .stale(try HybridTimestamp(from: &reader))
        case 15:
            guard let timeliness = Timeliness(rawValue: try reader.readByte()) else {
                throw .invalid("a judgement on a time")
            }
            self = .untimely(timeliness, now: try reader.readVarint())
        default: throw .unknown
        }
    }
}
