import Chat
import Membership
import Wire

/// The purging of closed files in the shards of which this node has a replica.
extension Node {
    /// The maximum number of file parts purged at each tick: 4 MiB, or 40 MiB a second.
    private static let partsPurgedPerTick = 128

    func tickFiles() {
        guard !isCongested else { return }
        var left = Node.partsPurgedPerTick
        for shard in shards where left > 0 {
            guard shard.assumeIsolated({ $0.hasFilesToTend }) else { continue }
            let (limit, age) = (left, options.unsentMilliseconds)
            let (isFirst, isEverybodyHeard) = (isFirstOwner(of: shard), membership.evicted.isEmpty)
            let table = signing.table
            left -= within(shard) {
                $0.tendFiles(
                    limit: limit, age: age, isFirst: isFirst, isEverybodyHeard: isEverybodyHeard,
                    signing: table)
            }
        }
    }
}
