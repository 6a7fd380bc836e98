import CRDT
import Chat
import LineProtocol
import Node
import Wire

extension Admin {
    /// The most files that one reply to `FILES` lists.
    private static let dueFilesMax = 16
    /// Answers a `FILES` request.
    func files(_ id: ShardID?) -> Response {
        var shards = node.assumeIsolated { $0.shards }
        if let id {
            guard let shard = node.assumeIsolated({ $0.shard(id) }) else {
                return .failed(.shardNotHeld)
            }
            shards = [shard]
        }
        var due: [DueFileReport] = []
        var left = Admin.dueFilesMax
        for shard in shards where left > 0 {
            let isReady = shard.assumeIsolated { $0.isReady }
            let age = node.assumeIsolated { $0.options.unsentMilliseconds }
            guard isReady else { continue }
            let isInSync = shard.assumeIsolated { $0.isCaughtUpWithAllOwners }
            guard
                case .success(let files) = shard.assumeIsolated({
                    $0.dueFiles(limit: left, age: age)
                }), !files.isEmpty
            else { continue }
            left -= files.count
            let isFirst = node.assumeIsolated { $0.isFirstOwner(of: shard) }
            due += files.map { DueFileReport(file: $0, isInSync: isInSync, isFirst: isFirst) }
        }
        return .report(.files(due))
    }
}
