import CRDT
import Chat
import Wire

/// The times at which a message may have been sent that is found by its id alone.
///
/// An id that a node made says in which millisecond; the message is stamped a moment later, by a
/// clock that may be another node's. Where the two are near, the message is looked for among the
/// few of its conversation that were sent about then, and needs no row in `place`.
struct NearID {
    /// How many messages are looked at in vain for each id that is not here: those that one
    /// conversation gets in twice this time.
    private static let milliseconds: UInt64 = 16

    let times: ClosedRange<HybridTimestamp>

    /// Nil for an id that no node made.
    init?(_ id: String) {
        guard let moment = MessageID.mintedAt(id)?.milliseconds else { return nil }
        let first = moment > NearID.milliseconds ? moment - NearID.milliseconds : 0
        // One past the last millisecond is not asked for: its first timestamp does no harm.
        let end = HybridTimestamp(milliseconds: moment + NearID.milliseconds)
        times = HybridTimestamp(milliseconds: first)...end
    }
}

extension Record {
    /// Whether a message is found without a row in `place`.
    var isNearItsID: Bool { NearID(key.id)?.times.contains(time) ?? false }
}
