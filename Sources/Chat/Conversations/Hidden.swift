import CRDT
import Wire

/// The part of a conversation that a user removed from their own view: all messages that the
/// accepting node had at that time.
///
/// The hidden part is a vector and not a time or a position: a message that was sent earlier on the
/// other side of a network partition arrives later, and the user has not seen it. A user who is
/// invited again sees the whole history, so of two hidden parts the one made under the later
/// invitation wins; a merge unites two parts made under the same invitation.
public struct Hidden: Hashable, Sendable {
    /// The user's last invitation when they hid the conversation; nil for an initial participant
    /// who was never invited.
    public let invitation: Stamp?
    /// The accepting node's vector of the shard, including changes that are not on its disk yet.
    public private(set) var vector: Vector
    /// The time of the user's last request to hide the conversation.
    public private(set) var at: HybridTimestamp
    /// The dot of the user's last request to hide the conversation; a watcher whose token contains
    /// the dot needs no event.
    public private(set) var dot: Dot?

    public init(
        invitation: Stamp?, vector: Vector, at: HybridTimestamp = .zero, dot: Dot? = nil
    ) {
        self.invitation = invitation
        self.vector = vector
        self.at = at
        self.dot = dot
    }

    /// Returns the same hidden part with the time and the dot of the mutation by `author`.
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
    /// Returns the vector of the messages that `user` has hidden; nil if the user has hidden none
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
    /// Whether the document is a message of which `vector` contains at least one sending; false if
    /// `vector` is nil.
    ///
    /// One sending is enough: a message that a client sent again to another owner, and that the
    /// user hid there, stays hidden when its first sending arrives and wins.
    public func isSent(within vector: Vector?) -> Bool {
        guard let vector else { return false }
        return sendings.contains { vector.contains($0) }
    }
}
