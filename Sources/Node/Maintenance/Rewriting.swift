import StorePort
import Wire

/// The bytes of documents that were rewritten and are not on disk yet, over all shards.
///
/// A small request may rewrite a large document, so the limit is on the bytes rewritten, and not on
/// those requested. Until a change is on disk, the document's state before it is kept in memory for
/// the events that follow.
struct Rewriting: Sendable {
    /// When there are more, nothing is read from clients and peers until half of it is stored.
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
    /// Whether more waits for the disk than this fraction of the limits.
    func isMuchUnstored(_ part: Int) -> Bool {
        ports.store.queuedBytes > Node.storeBytesMax / part
            || rewriting.bytes > Rewriting.bytesMax / part
    }
}
