import CRDT
import Chat
import Replication
import Wire

/// A shard's answers about files, and the changes of files that come with those of messages.
extension ShardMachine {
    // MARK: Changes

    /// A file that a mutation names.
    struct NamedFile {
        let id: FileID
        let found: ShardDocuments.Found?
    }

    mutating func files(
        besides target: Document?, of mutation: Mutation, in world: ShardWorld
    ) throws(ShardFailure) -> [NamedFile] {
        guard let conversation = mutation.conversation else { return [] }
        var files: [NamedFile] = []
        for id in mutation.files(besides: target) {
            let found = try find(.file(id, in: conversation), in: world)
            files.append(NamedFile(id: id, found: found))
        }
        return files
    }

    /// Changes a message's files with the message, in the same commit.
    ///
    /// A message may be here, and deleted, before its file has arrived: the file is then closed
    /// before it comes.
    ///
    /// - Returns: the documents that were changed.
    mutating func change(
        _ files: [NamedFile], with operation: Operation, in world: ShardWorld
    ) -> [Document] {
        let mutation = operation.mutation
        guard let action = mutation.changeOfFiles, let conversation = mutation.conversation
        else { return [] }
        return files.filter { action.changes($0.found?.document.file) }.map { file in
            let change = Mutation(action, of: file.id, in: conversation, by: mutation.user)
            let derived = Operation(change, operation.stamp, after: operation.unsettled)
            return write(
                derived, at: change.key, with: ParticipantFindings(), over: file.found, in: world
            ).0
        }
    }

    // MARK: Answers

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
        let file = try find(.file(id, in: conversation), in: world)?.document.file
        guard let file, !file.isClosed, let parts = file.parts, parts.indices.contains(index)
        else { throw .refused(.fileNotFound) }
        let found = try find(.part(parts[index], of: id, in: conversation), in: world)
        guard let part = found?.document.part, !part.isPurged else {
            throw .refused(.fileNotFound)
        }
        return part.bytes
    }

    /// Returns files of the shard that somebody can look after now, at most `limit`.
    ///
    /// As long as an owner may hold parts that are not known here, these are closed files with
    /// parts. Once all are in sync, they are also closed files without parts, which are purged, and
    /// those that were not sent by `deadline`, which are closed.
    mutating func dueFiles(
        limit: Int, unsentBy deadline: HybridTimestamp, isInSync: Bool, in world: ShardWorld
    ) throws(ShardFailure) -> [DueFile] {
        var due: [DueFile] = []
        for key in try someFiles(carrying: Term.closed, world) where due.count < limit {
            guard let (file, id, conversation) = try dueFile(key, in: world), file.isClosed,
                !file.isPurged
            else { continue }
            let parts = try parts(of: id, in: conversation, world)
            guard isInSync || !parts.isEmpty else { continue }
            due.append(
                DueFile(
                    conversation: conversation, id: id, createdAt: file.created.time,
                    isClosed: true, parts: parts))
        }
        guard isInSync else { return due }
        for key in try someFiles(carrying: Term.unsent, world) where due.count < limit {
            guard let (file, id, conversation) = try dueFile(key, in: world), !file.isClosed,
                file.message == nil, file.created.time < deadline
            else { continue }
            due.append(
                DueFile(
                    conversation: conversation, id: id, createdAt: file.created.time,
                    isClosed: false, parts: []))
        }
        return due
    }

    /// The most files of one kind that are looked at for one list.
    private static let filesReadMax = 64

    private mutating func dueFile(
        _ key: DocumentKey, in world: ShardWorld
    ) throws(ShardFailure) -> (file: File, id: FileID, conversation: ConversationID)? {
        guard let file = try find(key, in: world)?.document.file,
            let conversation = ConversationID(key.partition), let id = FileID(key.id)
        else { return nil }
        return (file, id, conversation)
    }

    /// Returns files with a term; of many, others each time.
    private mutating func someFiles(
        carrying term: String, _ world: ShardWorld
    ) throws(ShardFailure) -> ArraySlice<DocumentKey> {
        let files = try files(carrying: term, world)
        guard files.count > ShardMachine.filesReadMax else { return files[...] }
        let start = Int(world.entropy.next() % UInt64(files.count))
        return (files[start...] + files[..<start]).prefix(ShardMachine.filesReadMax)
    }

    private mutating func files(
        carrying term: String, _ world: ShardWorld
    ) throws(ShardFailure) -> [DocumentKey] {
        let shard = replica.shard
        return try read { () throws(StoreFailure) in
            try world.reader.keys(of: .file, carrying: term, in: shard, partition: nil)
        }
    }

    /// The most parts of a file that are named at once.
    static let partsNamedMax = 64

    /// Returns parts of a file that are not purged.
    private mutating func parts(
        of id: FileID, in conversation: ConversationID, _ world: ShardWorld
    ) throws(ShardFailure) -> [PartID] {
        let shard = replica.shard
        let prefix = "\(id)."
        let pending = documents.pending.filter {
            $0.key.kind == .filePart && $0.key.partition == conversation.text
                && $0.key.id.hasPrefix(prefix)
        }
        let stored = try read { () throws(StoreFailure) in
            try world.reader.keys(
                of: .filePart, carrying: Term.part(of: id), in: shard,
                partition: conversation.text)
        }
        let waiting = pending.filter { $0.value.document.part?.isPurged == false }.keys
        let keys = stored.lazy.filter { pending[$0] == nil } + Array(waiting)
        return keys.prefix(ShardMachine.partsNamedMax).compactMap {
            PartID(String($0.id.dropFirst(prefix.count)))
        }
    }
}
