import CRDT
import Wire

/// What a user removed from their own view of a conversation: all that a node held by then.
///
/// Not up to a time or a position: what was sent on the other side of a cut comes later and was
/// sent before, and the user has not seen it. Who is invited again sees everything, so of two the
/// one made under the later invitation counts, and two under the same unite.
public struct Hidden: Hashable, Sendable {
    /// The user's last invitation then; nil for who was never invited but there from the beginning.
    public let invitation: Stamp?
    /// All that the node that accepted it held of the shard, on its way to the disk or there.
    public private(set) var vector: Vector

    public init(invitation: Stamp?, vector: Vector) {
        self.invitation = invitation
        self.vector = vector
    }

    public mutating func merge(_ other: Hidden) {
        if invitation == other.invitation {
            vector.formUnion(other.vector)
        } else if other.isLater(than: invitation) {
            self = other
        }
    }

    private func isLater(than other: Stamp?) -> Bool {
        guard let invitation else { return false }
        return other.map { $0 < invitation } ?? true
    }
}

extension Hidden: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.writeOptional(invitation) { $1.encode(into: &$0) }
        vector.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        invitation = try reader.readFlag() ? try Stamp(from: &reader) : nil
        vector = try Vector(from: &reader)
    }
}

extension Conversation {
    /// What `user` hides of it, as their seat says; nil where nothing counts.
    public func hiddenVector(of user: UserID, in seat: Seat?) -> Vector? {
        guard let hidden = seat?.hidden, hidden.invitation == invitation(of: user) else {
            return nil
        }
        return hidden.vector
    }
}

extension Document {
    /// Whether it is a message whose sending is in `vector`; nothing is in nil.
    public func isSent(within vector: Vector?) -> Bool {
        guard let vector, let header = message?.header else { return false }
        return vector.contains(header.dot)
    }
}
