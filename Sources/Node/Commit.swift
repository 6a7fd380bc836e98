import Wire

/// One transaction that was handed to the store.
struct Commit: Sendable {
    let ticket: UInt64
    let shards: [ShardID]
    /// The shards whose replica the transaction removes from the disk.
    let drops: [ShardID]
    let settings: [Setting]
    /// The number of documents that it stores.
    let records: Int
    /// When it was handed to the store, in microseconds.
    let since: UInt64
}
