import Wire

/// The shards in which something happened since the end of the last turn: what they have to hand
/// out is asked for at the end of this one.
///
/// A node holds many shards, and a turn is about a few of them.
struct DirtyShards: Sendable {
    private var isDirty: [Bool] = []
    private var shards: [ShardID] = []

    mutating func insert(_ shard: ShardID) {
        let index = Int(shard.number)
        if index >= isDirty.count {
            isDirty += Array(repeating: false, count: index + 1 - isDirty.count)
        }
        guard !isDirty[index] else { return }
        isDirty[index] = true
        shards.append(shard)
    }

    /// Those since this was last called, ascending.
    mutating func take() -> [ShardID] {
        for shard in shards { isDirty[Int(shard.number)] = false }
        defer { shards = [] }
        return shards.count > 1 ? shards.sorted() : shards
    }
}

extension Node {
    /// Has a shard held here do something that may change it.
    ///
    /// What only reads a shard may enter it by itself.
    func within<Result: Sendable>(
        _ shard: Shard, _ body: (isolated Shard) -> Result
    ) -> Result {
        dirty.insert(shard.id)
        return shard.assumeIsolated(body)
    }
}
