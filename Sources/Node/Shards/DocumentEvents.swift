import CRDT
import Chat
import Wire

extension Document {
    /// Returns the conversation's id if this is a conversation's document and `isMeant` accepts one
    /// of the participants; otherwise returns nil.
    func conversationID(among isMeant: (UserID) -> Bool) -> ConversationID? {
        guard let participants = conversation?.participants.elements,
            participants.contains(where: isMeant)
        else { return nil }
        return ConversationID(key.partition)
    }

    /// Returns the conversation that these events hide from a user; the scan then reports the whole
    /// conversation.
    ///
    /// A receiver that got messages from an earlier replay and then gets `hide` again also removes
    /// messages that were sent after the hiding.
    func conversationsCleared(by events: [AddressedEvent]) -> [ConversationID] {
        guard events.contains(where: { $0.event.kind == .hide }) else { return [] }
        return [ConversationID(key.partition)].compactMap(\.self)
    }

    /// Returns the change under which a batch of a scan finds the document: the first change after
    /// `cursor`; nil if the scan's target does not contain such a change.
    ///
    /// A document that was changed since the scan began is found under a seq that the target lacks.
    /// Other changes of such a document may lie after the end of the batch, and then have no
    /// meaning for the batch.
    ///
    /// - Parameter end: the last change of the batch; nil for the last batch.
    func change(
        beyond skipped: Vector, upTo target: Vector, after cursor: Dot?, through end: Dot?
    ) -> Dot? {
        changedBy.dots.filter { dot in
            target.contains(dot) && !skipped.contains(dot) && cursor.map { $0 < dot } ?? true
                && end.map { dot <= $0 } ?? true
        }.min()
    }

    /// Returns whether a batch of a scan that ended at `cursor` has reported the stored document.
    ///
    /// A scan finds a document under the seq of each replica id that changed it. A seq in the
    /// scan's target was on disk when the scan began, and only a later seq of its replica id
    /// replaces it: a document that still has such a seq up to the cursor was found by the scan. A
    /// seq that the target lacks may have been stored later.
    func wasScanned(
        beyond known: Vector, upTo target: Vector, before cursor: Dot?
    ) -> Bool {
        guard let cursor else { return false }
        return changedBy.dots.contains {
            $0 <= cursor && target.contains($0) && !known.contains($0)
        }
    }

    /// Returns whether the document is a message without a change in a scan's target, so that the
    /// live feed or the next scan reports it.
    func isSent(behind target: Vector) -> Bool {
        message != nil && !sendings.contains(where: target.contains)
            && !changedBy.dots.contains(where: target.contains)
    }
}
