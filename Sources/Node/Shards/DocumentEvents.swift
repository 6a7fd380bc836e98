import CRDT
import Chat
import Wire

extension Document {
    /// The id of the conversation if this is its document and a participant is meant; otherwise
    /// nil.
    func conversationID(among isMeant: (UserID) -> Bool) -> ConversationID? {
        guard let participants = conversation?.participants.elements,
            participants.contains(where: isMeant)
        else { return nil }
        return ConversationID(key.partition)
    }

    /// Returns the conversation whose view these events clear, which the scan then tells whole.
    ///
    /// A receiver that was told messages by an earlier replay, and then `hide` anew, has lost
    /// those that were sent after the hiding.
    func conversationsCleared(by events: [AddressedEvent]) -> [ConversationID] {
        guard events.contains(where: { $0.event.kind == .hide }) else { return [] }
        return [ConversationID(key.partition)].compactMap(\.self)
    }

    /// Returns the change under which a batch of a scan finds the document: the first behind
    /// `cursor`; nil where it is none of the scan's target.
    ///
    /// A document that was changed since the scan began is found under a seq beyond the target. Its
    /// other changes may be behind the end of the batch, and do not say what the batch has told.
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

    /// Whether a batch of a scan that ended at `cursor` has told the document, as it is stored.
    ///
    /// A document is found under the seq of each replica that changed it. What the scan's target
    /// names was on disk when the scan began, and is replaced there by a later seq of its replica
    /// only: a document that still has such a seq up to the cursor was found there. A seq beyond
    /// the target may have been stored behind the cursor.
    func wasScanned(
        beyond known: Vector, upTo target: Vector, before cursor: Dot?
    ) -> Bool {
        guard let cursor else { return false }
        return changedBy.dots.contains {
            $0 <= cursor && target.contains($0) && !known.contains($0)
        }
    }

    /// Whether it is a message of which nothing is within a scan's target: the live feed or the
    /// next scan tells it.
    func isSent(behind target: Vector) -> Bool {
        message != nil && !sendings.contains(where: target.contains)
            && !changedBy.dots.contains(where: target.contains)
    }
}
