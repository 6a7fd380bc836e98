import CRDT
import Chat
import Replication
import Wire

/// A shard's answers about files, and the changes of files that come with those of messages.
extension ShardMachine {
    mutating func file(
        _ id: FileID, in conversation: ConversationID, _ world: ShardWorld
    ) throws(ShardFailure) -> FileView {
        let found = try find(.file(id, in: conversation), in: world)
        guard let view = found?.document.file?.view(as: id) else {
            throw .refused(.fileNotFound)
        }
        return view
    }

    mutating func part(
        _ index: Int, of id: FileID, in conversation: ConversationID, _ world: ShardWorld
    ) throws(ShardFailure) -> [UInt8] {
        _ = try file(id, in: conversation, world)
        let found = try find(.part(index, of: id, in: conversation), in: world)
        guard let part = found?.document.part, !part.isPurged else {
            throw .refused(.fileNotFound)
        }
        return part.bytes
    }

    /// Returns files of the shard that somebody has to look after, at most `limit`.
    mutating func dueFiles(limit: Int, in world: ShardWorld) throws(ShardFailure) -> [DueFile] {
        let shard = replica.shard
        let keys = try read { () throws(StoreFailure) in
            try world.reader.keys(of: .file, carrying: Term.due, in: shard, partition: nil)
        }
        var due: [DueFile] = []
        for key in keys {
            guard due.count < limit else { break }
            guard let file = try find(key, in: world)?.document.file, file.isDue,
                let conversation = ConversationID(key.partition), let id = FileID(key.id)
            else { continue }
            due.append(
                DueFile(
                    conversation: conversation, id: id, createdAt: file.created.time,
                    isClosed: file.isClosed,
                    parts: file.isClosed ? try parts(of: id, in: conversation, world) : []))
        }
        return due
    }

    /// The most parts of a file that are named at once.
    static let partsNamedMax = 64

    private mutating func parts(
        of id: FileID, in conversation: ConversationID, _ world: ShardWorld
    ) throws(ShardFailure) -> [Int] {
        let shard = replica.shard
        let stored = try read { () throws(StoreFailure) in
            try world.reader.keys(
                of: .filePart, carrying: Term.part(of: id), in: shard,
                partition: conversation.text)
        }
        let prefix = "\(id)."
        let pending = documents.pending.keys.filter {
            $0.kind == .filePart && $0.partition == conversation.text && $0.id.hasPrefix(prefix)
        }
        var parts: [Int] = []
        for key in Set(stored + pending) {
            guard let part = try find(key, in: world)?.document.part, !part.isPurged,
                let index = Int(key.id.dropFirst(prefix.count))
            else { continue }
            parts.append(index)
        }
        return Array(parts.sorted().prefix(ShardMachine.partsNamedMax))
    }
}
