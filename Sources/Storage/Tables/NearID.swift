import CRDT
import Chat
import Wire

/// The range of times at which a message with a given id may have been sent.
///
/// An id that a node made contains the millisecond of its making. The message is stamped a moment
/// later, by a clock that may be another node's. Where the two times are near, the message is found
/// among the few messages of its conversation from that time, and needs no row in `place`.
struct NearID {
    /// The distance in milliseconds; a lookup of an unknown id reads all messages of its
    /// conversation from twice this time.
    private static let milliseconds: UInt64 = 16

    let times: ClosedRange<HybridTimestamp>

    /// Nil for an id that no node made.
    init?(_ id: String) {
        guard let moment = MessageID.mintedAt(id)?.milliseconds else { return nil }
        let first = moment > NearID.milliseconds ? moment - NearID.milliseconds : 0
        // The first timestamp behind the last millisecond is included, which does no harm.
        let end = HybridTimestamp(milliseconds: moment + NearID.milliseconds)
        times = HybridTimestamp(milliseconds: first)...end
    }
}

extension Record {
    /// Whether a message is found without a row in `place`.
    var isNearItsID: Bool { NearID(key.id)?.times.contains(time) ?? false }
}
