import CRDT
import Chat
import Replication
import StorePort
import Wire

/// A shard's answers to queries for files, and file changes that follow from message changes.
///
/// A file is closed if all messages that name it are deleted. The rule for closing files is
/// evaluated in the commit of a message's change, and when a message, a file or a part is merged,
/// since each side of a network partition may have only some of the documents.
extension ShardMachine {
    // MARK: Changes

    /// A file that a mutation names.
    struct NamedFile {
        let id: FileID
        let found: ShardDocuments.Found?
    }

    /// A change that was made by a rule and not by a user.
    package struct DerivedChange: Sendable {
        package let mutation: Mutation
        package let document: Document
        package let dot: Dot
    }

    mutating func files(
        besides target: Document?, of mutation: Mutation, in world: ShardWorld
    ) throws(ShardFailure) -> [NamedFile] {
        guard let conversation = mutation.conversation else { return [] }
        var files: [NamedFile] = []
        for id in mutation.action.files(besides: target, at: mutation.key) {
            let found = try find(.file(id, in: conversation), in: world)
            files.append(NamedFile(id: id, found: found))
        }
        return files
    }

    /// Writes a document, and the documents of the files that the change names.
    ///
    /// After a crash, only some of a turn's frames may have arrived. Due to the order of the
    /// writes, a message arrives after the changes of its files, and a file closes after the
    /// deletion of its message.
    mutating func write(
        _ operation: Operation, at key: DocumentKey, with findings: ParticipantFindings,
        over target: ShardDocuments.Found?, changing files: [NamedFile], in world: ShardWorld
    ) -> (Document, Dot, files: [Document]) {
        let isFirst = operation.mutation.changeOfFiles?.precedesMessage ?? false
        var changed = isFirst ? change(files, with: operation, in: world) : []
        let (document, dot) = write(operation, at: key, with: findings, over: target, in: world)
        if !isFirst { changed = change(files, with: operation, in: world) }
        return (document, dot, changed)
    }

    /// Changes a message's files with the message, in the same commit.
    ///
    /// A file that has not arrived is changed when it arrives.
    ///
    /// - Returns: the documents that were changed.
    private mutating func change(
        _ files: [NamedFile], with operation: Operation, in world: ShardWorld
    ) -> [Document] {
        let mutation = operation.mutation
        guard let action = mutation.changeOfFiles, let conversation = mutation.conversation
        else { return [] }
        return files.filter { $0.found?.document.file.map(action.changes) ?? false }.map { file in
            let key = DocumentKey.file(file.id, in: conversation)
            let change = Mutation(action, at: key, by: mutation.user)
            let derived = Operation(change, operation.stamp, after: operation.unsettled)
            return write(
                derived, at: change.key, with: ParticipantFindings(), over: file.found, in: world
            ).0
        }
    }

    /// Makes a change of a file or a part that follows from the documents of this shard.
    mutating func derive(
        _ action: some DocumentAction, at key: DocumentKey, by user: UserID = Mutation.cluster,
        in world: ShardWorld
    ) throws(ShardFailure) {
        guard let found = try find(key, in: world), replica.mayNumber, !replica.isDropping
        else { return }
        let mutation = Mutation(action, at: key, by: user)
        // A derived change leaves no stamp in its document.
        let stamp = Stamp(
            time: found.document.greatestTime, process: ProcessID(high: 0, low: 0), counter: 1)
        let (document, dot) = write(
            Operation(mutation, stamp), at: mutation.key, with: ParticipantFindings(), over: found,
            in: world)
        derived.append(DerivedChange(mutation: mutation, document: document, dot: dot))
    }

    /// Removes and returns the changes that rules have made in this turn since the last call.
    package mutating func takeDerived() -> [DerivedChange] {
        defer { derived = [] }
        return derived
    }

    // MARK: Merges

    /// Records the files that a merged document concerns, and processes a merged part at once.
    mutating func noteFiles(
        of document: Document, replacing old: Document?, in world: ShardWorld
    ) throws(ShardFailure) {
        switch document.content {
        case .part(let part):
            try settle(part, at: document.key, replacing: old?.part, in: world)
        case .message(let message):
            guard message.isRetracted, !message.files.isEmpty,
                let conversation = ConversationID(document.key.partition)
            else { return }
            if let old = old?.message, old.isRetracted, old.files == message.files { return }
            filesToSettle += message.files.map { .file($0, in: conversation) }
        case .file: filesToSettle.append(document.key)
        default: return
        }
    }

    /// Detaches deleted messages from the files that a frame's documents concern.
    mutating func settleFiles(in world: ShardWorld) throws(ShardFailure) {
        guard !filesToSettle.isEmpty else { return }
        let keys = Set(filesToSettle).sorted()
        filesToSettle = []
        for key in keys {
            guard let (file, _, conversation) = try file(at: key, in: world) else { continue }
            for message in file.namingMessages {
                let named = try find(.message(message, in: conversation), in: world)
                guard named?.document.message?.isRetracted == true else { continue }
                try derive(DetachFile(message), at: key, in: world)
            }
            // A part may have arrived before its closed file, and has to be purged.
            if try self.file(at: key, in: world)?.file.hasClosed == true {
                filesToPurge.append(key, at: world.milliseconds)
            }
        }
    }

    /// Schedules the purge of an arrived part that its file does not need, or restores a needed
    /// part that another node has purged.
    ///
    /// The part is not purged at once: the node that wrote it may have a message that has not
    /// arrived on this node, and would restore the part after each purge.
    ///
    /// - Parameter old: this node's state of the part before the merge.
    private mutating func settle(
        _ part: FilePart, at key: DocumentKey, replacing old: FilePart?, in world: ShardWorld
    ) throws(ShardFailure) {
        guard let (id, name) = key.partOfFile, let conversation = ConversationID(key.partition),
            let file = try find(.file(id, in: conversation), in: world)?.document.file
        else { return }
        let isNeeded = file.needs(name)
        if part.isPurged, isNeeded, let old, !old.isPurged {
            try derive(PutFilePart(old.bytes), at: key, in: world)
        } else if !part.isPurged, !isNeeded {
            filesToPurge.append(.file(id, in: conversation), at: world.milliseconds)
        }
    }

    // MARK: Answers

    /// Returns files of the shard that wait to be purged or closed, at most `limit`.
    mutating func dueFiles(
        limit: Int, unsentBy deadline: HybridTimestamp, in world: ShardWorld
    ) throws(ShardFailure) -> [DueFile] {
        var due: [DueFile] = []
        for key in try page(of: Term.closed, after: nil, limit: limit, world) {
            guard let (file, id, conversation) = try file(at: key, in: world), file.isDue
            else { continue }
            let parts = try parts(of: id, in: conversation, beyond: file, world)
            due.append(
                DueFile(
                    conversation: conversation, id: id, createdAt: file.begun, isClosed: true,
                    parts: Array(parts.prefix(ShardMachine.partsNamedMax))))
        }
        for key in try page(of: Term.unsent, after: nil, limit: limit, world)
        where due.count < limit {
            guard let (file, id, conversation) = try file(at: key, in: world),
                file.isUnsent(before: deadline)
            else { continue }
            due.append(
                DueFile(
                    conversation: conversation, id: id, createdAt: file.begun, isClosed: false,
                    parts: []))
        }
        return due
    }

    /// The greatest number of parts that one `DueFile` names.
    static let partsNamedMax = 64

    mutating func file(
        at key: DocumentKey, in world: ShardWorld
    ) throws(ShardFailure) -> (file: File, id: FileID, conversation: ConversationID)? {
        guard let file = try find(key, in: world)?.document.file,
            let conversation = ConversationID(key.partition), let id = FileID(key.id)
        else { return nil }
        return (file, id, conversation)
    }

    /// Returns the keys of files on disk with an index term, ascending from the key after `last`.
    mutating func page(
        of term: String, after last: DocumentKey?, limit: Int, _ world: ShardWorld
    ) throws(ShardFailure) -> [DocumentKey] {
        let shard = replica.shard
        return try read { () throws(StoreFailure) in
            try world.reader.keys(of: .file, carrying: term, in: shard, after: last, limit: limit)
        }
    }

    /// Returns the parts of a file that are not purged and that the file does not need.
    mutating func parts(
        of id: FileID, in conversation: ConversationID, beyond file: File, _ world: ShardWorld
    ) throws(ShardFailure) -> [PartID] {
        let shard = replica.shard
        let pending = documents.pending.filter {
            $0.key.kind == .filePart && $0.key.partition == conversation.text
                && $0.key.partOfFile?.file == id
        }
        let stored = try read { () throws(StoreFailure) in
            try world.reader.keys(
                of: .filePart, carrying: Term.part(of: id), in: shard,
                partition: conversation.text)
        }
        let waiting = pending.filter { $0.value.document.part?.isPurged == false }.keys.sorted()
        let keys = stored.filter { pending[$0] == nil } + waiting
        return keys.compactMap(\.partOfFile?.part).filter { !file.needs($0) }
    }
}
