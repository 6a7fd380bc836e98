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
    /// When that was last asked.
    public private(set) var at: HybridTimestamp
    /// By which mutation: who has seen that need not be told.
    public private(set) var dot: Dot?

    public init(
        invitation: Stamp?, vector: Vector, at: HybridTimestamp = .zero, dot: Dot? = nil
    ) {
        self.invitation = invitation
        self.vector = vector
        self.at = at
        self.dot = dot
    }

    /// The same, as this mutation hides it.
    func set(by author: Authorship) -> Hidden {
        Hidden(invitation: invitation, vector: vector, at: author.stamp.time, dot: author.dot)
    }

    public mutating func merge(_ other: Hidden) {
        if invitation == other.invitation {
            vector.formUnion(other.vector)
            if isBefore(other) { (at, dot) = (other.at, other.dot) }
        } else if other.isLater(than: invitation) {
            self = other
        }
    }

    private func isBefore(_ other: Hidden) -> Bool {
        guard at == other.at else { return at < other.at }
        guard let theirs = other.dot else { return false }
        return dot.map { $0 < theirs } ?? true
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
        at.encode(into: &writer)
        writer.writeOptional(dot) { $1.encode(into: &$0) }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        invitation = try reader.readFlag() ? try Stamp(from: &reader) : nil
        vector = try Vector(from: &reader)
        at = try HybridTimestamp(from: &reader)
        dot = try reader.readFlag() ? try Dot(from: &reader) : nil
    }
}

extension Conversation {
    /// What `user` hides of it, as their participant state says; nil where nothing counts.
    public func hiddenVector(of user: UserID, in participantState: ParticipantState?) -> Vector? {
        hidden(by: user, in: participantState)?.vector
    }

    func hidden(by user: UserID, in participantState: ParticipantState?) -> Hidden? {
        guard let hidden = participantState?.hidden, hidden.invitation == invitation(of: user)
        else {
            return nil
        }
        return hidden
    }
}

extension Document {
    /// Whether it is a message whose sending is in `vector`; nothing is in nil.
    public func isSent(within vector: Vector?) -> Bool {
        guard let vector, let header = message?.header else { return false }
        return vector.contains(header.dot)
    }
}
