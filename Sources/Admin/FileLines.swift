import CRDT
import Chat
import LineProtocol
import Node
import Wire

extension Admin {
    /// The most files that one `FILES` lists.
    private static let dueFilesMax = 16
    /// Answers `FILES`.
    func files(_ id: ShardID?, _ writer: inout ReplyWriter) {
        var shards = node.assumeIsolated { $0.shards }
        if let id {
            guard let shard = node.assumeIsolated({ $0.shard(id) }) else {
                return writer.error(.shardNotHeld)
            }
            shards = [shard]
        }
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
            for file in files { writer.due(file, isInSync: isInSync, isFirst: isFirst) }
        }
        writer.ok()
    }
}

/// The data lines of files.
extension ReplyWriter {
    mutating func file(_ file: FileView) {
        line("FILE") {
            $0.pair("id", file.id)
            $0.pair("from", file.owner)
            $0.pair("type", file.type)
            $0.pair("size", file.size)
            $0.pair("message", file.message)
            $0.pair("tag", file.tag)
            $0.pair("at", time: file.createdAt.lineTime)
        }
    }

    mutating func due(_ file: DueFile, isInSync: Bool, isFirst: Bool) {
        line("FILE") {
            $0.pair("conversation", file.conversation)
            $0.pair("id", file.id)
            $0.pair("at", time: file.createdAt.lineTime)
            $0.flag("closed", file.isClosed)
            $0.list("parts", file.parts)
            $0.flag("synced", isInSync)
            $0.flag("first", isFirst)
        }
    }
}
