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
        writer.writeOptional(read) { $1.encode(into: &$0) }
        writer.writeOptional(delivered) { $1.encode(into: &$0) }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.readName()
        read = try reader.readFlag() ? try Place(from: &reader) : nil
        delivered = try reader.readFlag() ? try Place(from: &reader) : nil
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
        writer.writeOptional(token) { $0.write($1) }
        writer.writeOptional(viewing) { $0.write($1) }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.readName()
        token = try reader.readFlag() ? try reader.readText(limit: ChatLimits.titleBytesMax) : nil
        viewing = try reader.readFlag() ? try reader.readName() : nil
    }
}
