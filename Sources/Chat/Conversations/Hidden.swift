import CRDT
import Wire

/// The part of a conversation that a user removed from their own view: everything that the
/// accepting node held at that time.
///
/// A vector and not a time or a position: a message that was sent earlier on the other side of a
/// network partition arrives later, and the user has not seen it. A user who is invited again sees
/// everything, so of two states the one made under the later invitation wins, and two under the
/// same invitation unite.
public struct Hidden: Hashable, Sendable {
    /// The user's last invitation at that time; nil for a participant from the beginning who was
    /// never invited.
    public let invitation: Stamp?
    /// The accepting node's vector of the shard, including changes on their way to its disk.
    public private(set) var vector: Vector
    /// The time of the last such request.
    public private(set) var at: HybridTimestamp
    /// The dot of that request; a watcher that has seen it needs no event.
    public private(set) var dot: Dot?

    public init(
        invitation: Stamp?, vector: Vector, at: HybridTimestamp = .zero, dot: Dot? = nil
    ) {
        self.invitation = invitation
        self.vector = vector
        self.at = at
        self.dot = dot
    }

    /// Returns the same part with the time and the dot of this mutation.
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
        invitation.encode(into: &writer)
        vector.encode(into: &writer)
        at.encode(into: &writer)
        dot.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        invitation = try Optional(from: &reader)
        vector = try Vector(from: &reader)
        at = try HybridTimestamp(from: &reader)
        dot = try Optional(from: &reader)
    }
}

extension Conversation {
    /// Returns the vector up to which `user` hides the conversation; nil where nothing is hidden
    /// under their last invitation.
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
    /// Whether the document is a message of which `vector` includes a sending; false for nil.
    ///
    /// Any of them counts: a message that was repeated at another owner, and hidden there, stays
    /// hidden when its first sending arrives and wins.
    public func isSent(within vector: Vector?) -> Bool {
        guard let vector else { return false }
        return sendings.contains { vector.contains($0) }
    }
}
