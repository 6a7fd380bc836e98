import CRDT
import Chat
import Wire

/// The progress of reading, from the disk, the changes of a shard that a receiver lacks.
struct FeedScan: Hashable, Sendable {
    /// The position at which the scan continues.
    enum Place: Hashable, Sendable {
        /// The changes that the receiver lacks, after `after`; nil to start with the first change.
        case changes(after: Dot?)
        /// The messages that arrived at this replica before their conversation.
        case earlier(Earlier)
    }

    /// The messages of conversations that arrived after these messages; no event has announced
    /// them, because their participants were unknown.
    struct Earlier: Hashable, Sendable {
        /// The conversations whose messages are still to be read.
        var conversations: [ConversationID]
        /// The last message read of the first of the conversations; nil before the first read.
        var position: HistoryPosition?
        /// The change after which the reading of changes continues; nil if no changes are left.
        let cursor: Dot?
    }

    /// The vector of the replica on disk when the first batch was read; nil before that.
    var target: Vector?
    var place = Place.changes(after: nil)
    /// The minimum number of events in the next frame of a replay, if the batch contains as many.
    ///
    /// The number grows from 1. A receiver that is cut off repeatedly thus makes progress even if
    /// it receives few events each time, and a long replay needs few frames.
    var stride = 1

    static let strideMax = 32
    /// The vector of the replica at the last batch of a replay, as reported to the receiver; nil
    /// before the first report.
    var held: Vector?

    /// The time that a holder waits until it has all changes that the receiver has seen elsewhere,
    /// in milliseconds.
    ///
    /// After that the holder reads its own state, because the changes that it lacks may exist on no
    /// node any more.
    static let patienceMilliseconds: UInt64 = 1_000
}

/// One batch of a scan: events in the order of the scan.
struct FeedBatch: Sendable {
    var told: [AddressedEvent] = []
    /// The position at which the next batch begins; nil at the end.
    var next: FeedScan.Place?
    /// The points in `told` up to which documents are complete, ascending: the first `end` events
    /// contain all documents that the scan finds under the changes up to `change`.
    ///
    /// The list is empty if the batch contains events out of the scan's order.
    var steps: [Step] = []

    struct Step: Hashable, Sendable {
        let end: Int
        let change: Dot
    }

    /// Moves each `hide` event to the front.
    ///
    /// A `hide` event clears the user's view. Messages that were sent after the hiding stay
    /// visible, so their events follow.
    mutating func tellHidingsFirst() {
        let hidings = told.filter { $0.event.kind == .hide }
        guard !hidings.isEmpty else { return }
        told = hidings + told.filter { $0.event.kind != .hide }
        steps = []
    }
}

extension Vector {
    /// Returns the changes up to `change`, in the order in which scans find changes.
    func prefix(upTo change: Dot) -> Vector {
        var prefix = Vector()
        for entry in entries {
            guard entry.replica <= change.replica else { break }
            let seqs =
                entry.replica < change.replica
                ? entry.seqs : entry.seqs.intersection(SeqSet(1...max(1, change.seq)))
            prefix.insert(seqs, of: entry.replica)
        }
        return prefix
    }
}
