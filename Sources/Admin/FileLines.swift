import CRDT
import Chat
import LineProtocol
import Node
import Wire

extension Admin {
    /// The most files that one `FILES` lists.
    private static let dueFilesMax = 16

    func files(_ id: ShardID, _ writer: inout ReplyWriter) {
        guard let shard = node.assumeIsolated({ $0.shard(id) }) else {
            return writer.error(.shardNotHeld)
        }
        switch shard.assumeIsolated({ $0.dueFiles(limit: Admin.dueFilesMax) }) {
        case .failure(let failure): writer.error(LineError(failure))
        case .success(let files):
            for file in files { writer.due(file) }
            let isInSync = !files.isEmpty && node.assumeIsolated { $0.isInSync(shard) }
            writer.ok { $0.flag("synced", isInSync) }
        }
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
            $0.pair("at", time: file.createdAt.lineTime)
        }
    }

    mutating func due(_ file: DueFile) {
        line("FILE") {
            $0.pair("conversation", file.conversation)
            $0.pair("id", file.id)
            $0.pair("at", time: file.createdAt.lineTime)
            $0.flag("closed", file.isClosed)
            $0.pair("parts", file.parts.map(String.init).joined(separator: ","))
        }
    }
}
