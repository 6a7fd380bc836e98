import StorePort
import Wire

/// The bytes of rewritten documents that are not on disk yet, over all shards.
///
/// A small request may rewrite a large document, so the limit applies to the bytes rewritten and
/// not to the size of requests. Until a change is on disk, the earlier state of the document is
/// kept in memory for the events of the change.
struct Rewriting: Sendable {
    /// The maximum number of bytes; above it the node reads nothing from clients and peers until
    /// half of the limit is stored.
    static let bytesMax = 32 << 20

    private var ofShards: [ShardID: Int] = [:]
    private(set) var bytes = 0

    mutating func setBytes(_ shard: ShardID, _ bytes: Int) {
        let before =
            bytes == 0
            ? ofShards.removeValue(forKey: shard)
            : ofShards.updateValue(
                bytes, forKey: shard)
        self.bytes += bytes - (before ?? 0)
    }
}

extension Node {
    /// Whether more bytes wait for the disk than the limits divided by `part`.
    func isMuchUnstored(_ part: Int) -> Bool {
        ports.store.queuedBytes > Node.storeBytesMax / part
            || rewriting.bytes > Rewriting.bytesMax / part
    }
}
