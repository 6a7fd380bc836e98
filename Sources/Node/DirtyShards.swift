import Wire

/// The shards whose state may have changed since the last turn; the node collects their output at
/// the end of the current turn.
///
/// A node has many shards, and a turn changes only a few of them.
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

    /// Removes and returns the shards inserted since the last call, ascending.
    mutating func removeAll() -> [ShardID] {
        for shard in shards { isDirty[Int(shard.number)] = false }
        defer { shards = [] }
        return shards.count > 1 ? shards.sorted() : shards
    }
}

extension Node {
    /// Runs a body that may change a shard, and marks the shard as dirty.
    ///
    /// A body that only reads the shard may use `assumeIsolated` instead.
    func within<Result: Sendable>(
        _ shard: Shard, _ body: (isolated Shard) -> Result
    ) -> Result {
        dirty.insert(shard.id)
        return shard.assumeIsolated(body)
    }

    /// Runs a body that may change a shard, and marks the shard as dirty, without an allocation:
    /// the body captures nothing and gets its input as an argument.
    func within<Argument, Result: Sendable>(
        _ shard: Shard, with argument: Argument,
        _ body: @escaping (isolated Shard, Argument) -> Result
    ) -> Result {
        dirty.insert(shard.id)
        return shard.assumeIsolated(with: argument, body)
    }
}
