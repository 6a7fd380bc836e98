import CRDT
import Chat
import Replication
import Wire

/// A shard's answers about files, and the changes of files that come with those of messages.
extension ShardMachine {
    // MARK: Changes

    mutating func file(
        besides target: Document?, of mutation: Mutation, in world: ShardWorld
    ) throws(ShardFailure) -> ShardDocuments.Found? {
        guard let conversation = mutation.conversation, let id = mutation.file(besides: target)
        else { return nil }
        return try find(.file(id, in: conversation), in: world)
    }

    /// Changes a message's file with the message, in the same commit.
    ///
    /// A message may be here, and deleted, before its file has arrived: the file is then closed
    /// before it comes.
    ///
    /// - Returns: nil where there is nothing to change.
    mutating func change(
        _ file: ShardDocuments.Found?, with operation: Operation, over target: Document?,
        in world: ShardWorld
    ) -> Document? {
        let mutation = operation.mutation
        guard let action = mutation.changeOfFile, let conversation = mutation.conversation,
            let id = mutation.file(besides: target),
            action.changes(file?.document.file)
        else { return nil }
        let change = Mutation(action, of: id, in: conversation, by: mutation.user)
        let derived = Operation(change, operation.stamp, after: operation.unsettled)
        return write(
            derived, at: change.key, with: ParticipantFindings(), over: file, in: world
        ).0
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
        _ = try file(id, in: conversation, world)
        let found = try find(.part(index, of: id, in: conversation), in: world)
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
