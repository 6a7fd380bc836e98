import Wire

/// What was handed to the disk as one transaction.
struct Commit: Sendable {
    let ticket: UInt64
    let shards: [ShardID]
    /// Copies that go.
    let drops: [ShardID]
    let settings: [Setting]
    /// How many documents it stores.
    let records: Int
    /// When it was handed out, in microseconds.
    let since: UInt64
}
