import Wire

/// The bytes of documents that were rewritten and are not on disk yet, over all shards.
///
/// A small request may rewrite a large document: what waits is bounded by what is rewritten and not
/// by what was asked. Until it is on disk, every change of a document holds the state before it in
/// memory, for those who watch.
struct Rewriting: Sendable {
    /// From here on nothing is read from clients and peers; at half of it they go on.
    static let bytesMax = 32 << 20

    private var ofShards: [ShardID: Int] = [:]
    private(set) var bytes = 0

    mutating func note(_ shard: ShardID, _ bytes: Int) {
        let before =
            bytes == 0
            ? ofShards.removeValue(forKey: shard)
            : ofShards.updateValue(
                bytes, forKey: shard)
        self.bytes += bytes - (before ?? 0)
    }
}

extension Node {
    /// Whether more waits for the disk than this part of what may.
    func isMuchUnstored(_ part: Int) -> Bool {
        ports.store.queuedBytes > Node.storeBytesMax / part
            || rewriting.bytes > Rewriting.bytesMax / part
    }
}
