import CRDT
import Chat
import Wire

extension Conversation {
    /// Returns the marks of the participants that have set any, ascending by user.
    func marks(by participantStates: [(user: UserID, participantState: ParticipantState)])
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

/// The encodings of marks, names and devices in responses to other nodes.
extension MarkView: WireValue {
    package func encode(into writer: inout ByteWriter) {
        writer.write(user)
        read.encode(into: &writer)
        delivered.encode(into: &writer)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.readName()
        read = try Optional(from: &reader)
        delivered = try Optional(from: &reader)
    }
}

extension MarkView.Place: WireValue {
    package func encode(into writer: inout ByteWriter) {
        writer.write(id)
        at.encode(into: &writer)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.readName()
        at = try HybridTimestamp(from: &reader)
    }
}

extension NameView: WireValue {
    package func encode(into writer: inout ByteWriter) {
        writer.write(user)
        writer.write(name)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.readName()
        name = try reader.readText(limit: ChatLimits.titleBytesMax)
    }
}

extension DeviceView: WireValue {
    package func encode(into writer: inout ByteWriter) {
        writer.write(id)
        writer.write(token)
        viewing.encode(into: &writer)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.readName()
        token = try reader.readOptionalText(limit: ChatLimits.titleBytesMax)
        viewing = try Optional(from: &reader)
    }
}
