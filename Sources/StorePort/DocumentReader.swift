import CRDT
import Chat
import Replication
import Wire

/// Read access to the documents on disk.
///
/// Reads are synchronous and see only what is committed.
package protocol DocumentReader {
    func document(_ key: DocumentKey, in shard: ShardID) throws(StoreFailure) -> Document?

    /// Hands out the messages of a page in the page's direction, until `handing` returns false.
    func history(
        of conversation: ConversationID, in shard: ShardID, page: HistoryPage,
        handing: (Document) -> Bool
    ) throws(StoreFailure)

    /// The keys of the documents of a kind under a term of the index, ascending.
    ///
    /// A key may be out of date: the caller has to look at the document.
    ///
    /// - Parameter partition: the only partition looked at; nil for all of the shard.
    func keys(
        of kind: DocumentKey.Kind, carrying term: String, in shard: ShardID, partition: String?
    ) throws(StoreFailure) -> [DocumentKey]

    /// The first keys of the documents of a kind under a term of the index, ascending, behind
    /// `last`; fewer than `limit` only where there are no more.
    func keys(
        of kind: DocumentKey.Kind, carrying term: String, in shard: ShardID,
        after last: DocumentKey?, limit: Int
    ) throws(StoreFailure) -> [DocumentKey]

    /// The shards up to `last` whose index has a term that concerns a user.
    func shards(concerning user: UserID, upTo last: ShardID) throws(StoreFailure) -> Set<ShardID>

    /// The participant states of a conversation, ascending by user.
    func participantStates(
        of conversation: ConversationID, in shard: ShardID
    ) throws(StoreFailure) -> [Document]

    /// Returns the counted runs of a level that overlap a span, ascending, and maybe others; if the
    /// span begins behind all runs, the last one.
    ///
    /// A damaged run is left out, so that its messages are counted one by one. A store without
    /// counted runs returns none.
    func countedRuns(
        of conversation: ConversationID, in shard: ShardID, level: UInt8,
        from start: HybridTimestamp, to end: HybridTimestamp
    ) throws(StoreFailure) -> [CountedRun]

    /// The documents with a last seq that is in `ours` and not in `theirs`, in order of seq and
    /// without an upper bound; at least one, unless there is none.
    func changes(
        in shard: ShardID, lackedBy theirs: Vector, of ours: Vector, after cursor: Dot?,
        bytesMax: Int
    ) throws(StoreFailure) -> (encodedDocuments: [EncodedDocument], next: Dot?)

    /// Counts a shard anew without these documents.
    ///
    /// Reads all of the shard: some microseconds for each document.
    func remainder(
        of shard: ShardID, without bad: [DocumentKey]
    ) throws(StoreFailure) -> Remainder
}

extension DocumentReader {
    package func keys(
        of kind: DocumentKey.Kind, carrying term: String, in shard: ShardID,
        after last: DocumentKey?, limit: Int
    ) throws(StoreFailure) -> [DocumentKey] {
        let keys = try keys(of: kind, carrying: term, in: shard, partition: nil)
        return Array(keys.lazy.filter { key in last.map { $0 < key } ?? true }.prefix(limit))
    }

    package func countedRuns(
        of conversation: ConversationID, in shard: ShardID, level: UInt8,
        from start: HybridTimestamp, to end: HybridTimestamp
    ) throws(StoreFailure) -> [CountedRun] { [] }

    package func shards(
        concerning user: UserID, upTo last: ShardID
    ) throws(StoreFailure) -> Set<ShardID> {
        var found: Set<ShardID> = []
        for shard in (0...last.number).map(ShardID.init) {
            for (kind, term) in Term.concerning(user) where !found.contains(shard) {
                let keys = try keys(of: kind, carrying: term, in: shard, partition: nil)
                if !keys.isEmpty { found.insert(shard) }
            }
        }
        return found
    }
}
