import CRDT
import Chat
import Wire

/// The progress of reading, from the disk, the changes of a shard that a receiver does not know.
struct FeedScan: Hashable, Sendable {
    /// What is read next.
    enum Place: Hashable, Sendable {
        /// The unknown changes behind this one; nil for the first.
        case changes(after: Dot?)
        /// The messages that arrived here before their conversation.
        case earlier(Earlier)
    }

    /// The messages of conversations that arrived after them; nobody was told of them, since their
    /// participants were not known.
    struct Earlier: Hashable, Sendable {
        /// The conversations left to read.
        var conversations: [ConversationID]
        /// The last message read of the first of them; nil where none was.
        var position: HistoryPosition?
        /// The change behind which the reading of changes continues; nil where none are left.
        let cursor: Dot?
    }

    /// The vector on disk when the first batch was read; nil before that.
    var target: Vector?
    var place = Place.changes(after: nil)
    /// The number of events that the next frame of a replay has at least, if the batch has as many.
    ///
    /// It grows from 1, so that a receiver that is cut off again and again gets on, however few
    /// events it takes each time, and a long replay takes few frames.
    var stride = 1

    static let strideMax = 32
    /// What the replica held at the last batch of a replay, as its receiver knows; nil before it
    /// knows.
    var held: Vector?

    /// How long a holder waits, in milliseconds, until it has all that the receiver has seen
    /// elsewhere, before it reads what is here: what it lacks then may exist nowhere any more.
    static let patienceMilliseconds: UInt64 = 1_000
}

/// One batch of a scan: events in the order of the scan.
struct FeedBatch: Sendable {
    var told: [AddressedEvent] = []
    /// Where the next batch begins; nil at the end.
    var next: FeedScan.Place?
    /// The places in `told` up to which documents have been told, ascending: with the first `end`
    /// events, all documents that the scan finds under a change up to `change` have been told.
    ///
    /// Some of a batch is told out of order; there are no places then.
    var steps: [Step] = []

    struct Step: Hashable, Sendable {
        let end: Int
        let change: Dot
    }

    /// Moves each `hide` to the front.
    ///
    /// It clears the user's view. Messages that were sent after the hiding stay visible, so they
    /// follow it.
    mutating func tellHidingsFirst() {
        let hidings = told.filter { $0.event.kind == .hide }
        guard !hidings.isEmpty else { return }
        told = hidings + told.filter { $0.event.kind != .hide }
        steps = []
    }
}

extension Vector {
    /// Returns the changes up to one, in the order in which scans find them.
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
