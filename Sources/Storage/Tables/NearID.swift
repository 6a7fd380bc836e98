import CRDT
import Chat
import Wire

/// The range of times at which a message with a given id may have been sent.
///
/// A message id that a node created contains the millisecond of its creation. The message gets its
/// stamp a moment later, perhaps by another node's clock. If the two times are near, a search among
/// the conversation's messages around that time finds the message, so it needs no row in `place`.
struct NearID {
    /// The distance in milliseconds; a lookup of an unknown id reads all messages of its
    /// conversation from twice this time.
    private static let milliseconds: UInt64 = 16

    let times: ClosedRange<HybridTimestamp>

    /// Creates the range; nil for an id that no node created.
    init?(_ id: String) {
        guard let moment = MessageID.mintedAt(id)?.milliseconds else { return nil }
        let first = moment > NearID.milliseconds ? moment - NearID.milliseconds : 0
        // The range harmlessly includes the first timestamp after the last millisecond.
        let end = HybridTimestamp(milliseconds: moment + NearID.milliseconds)
        times = HybridTimestamp(milliseconds: first)...end
    }
}

extension Record {
    /// Whether a message is found by its id without a row in `place`.
    var isNearItsID: Bool { NearID(key.id)?.times.contains(time) ?? false }
}
