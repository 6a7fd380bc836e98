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
    /// When the messages were sent that the marks name.
    public var lastChanges: LastChanges?
}

extension Conversation {
    /// Returns the marks of the participants that have at least one mark, ascending by user.
    ///
    /// - Parameter isExact: whether the marks show when the marked messages were sent.
    public func marks(
        by participantStates: [(user: UserID, participantState: ParticipantState)], isExact: Bool
    ) -> [MarkView] {
        participantStates.filter { participants.contains($0.user) }
            .compactMap { user, participantState in
                let read = mark(of: user, in: participantState.read)
                let delivered = mark(of: user, in: participantState.delivered)
                guard read != nil || delivered != nil else { return nil }
                return MarkView(
                    user: user, read: read.map(MarkView.Place.init),
                    delivered: delivered.map(MarkView.Place.init),
                    lastChanges: isExact
                        ? LastChanges(read?.position.time, delivered?.position.time) : nil)
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
        lastChanges = nil
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
