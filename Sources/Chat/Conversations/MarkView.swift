import CRDT
import Wire

/// The marks of a participant: the last message that they have read, and the last message that was
/// delivered to one of their devices.
public struct MarkView: Hashable, Sendable {
    /// The message that a mark names, and the time at which the mark was set.
    public struct Place: Hashable, Sendable {
        public let id: MessageID
        public let at: HybridTimestamp
    }

    public let user: UserID
    public let read: Place?
    public let delivered: Place?
}

extension Conversation {
    /// Returns the marks of the participants that have at least one mark, ascending by user.
    public func marks(by participantStates: [(user: UserID, participantState: ParticipantState)])
        -> [MarkView]
    {
        participantStates.filter { participants.contains($0.user) }
            .compactMap { user, participantState in
                let read = mark(of: user, in: participantState.read).map(MarkView.Place.init)
                let delivered = mark(of: user, in: participantState.delivered).map(
                    MarkView.Place.init)
                guard read != nil || delivered != nil else { return nil }
                return MarkView(user: user, read: read, delivered: delivered)
            }
            .sorted { $0.user < $1.user }
    }
}

extension MarkView.Place {
    init(_ mark: Mark) { self.init(id: mark.position.id, at: mark.at) }
}

extension MarkView: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(user)
        read.encode(into: &writer)
        delivered.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.readName()
        read = try Optional(from: &reader)
        delivered = try Optional(from: &reader)
    }
}

extension MarkView.Place: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(id)
        at.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.readName()
        at = try HybridTimestamp(from: &reader)
    }
}
