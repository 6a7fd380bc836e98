import CRDT
import Chat
import Node
import Replication
import StorePort
import Wire

/// A disk in memory; commits wait until a test completes them, or are stored at once.
package actor MemoryStore: Store {
    private struct Waiting {
        let writes: [ShardWrite]
        let drops: [ShardID]
        let settings: [Setting]
        let ticket: UInt64
        let isBuiltOnFailure: Bool
    }

    private let executor: any SerialExecutor
    private var documents: [DocumentKey: (shard: ShardID, document: Document)] = [:]
    package private(set) var headers: [ShardID: [UInt8]] = [:]
    package private(set) var settings: [String: [UInt8]] = [:]
    private var waiting: [Waiting] = []
    private var hasFailed = false
    package private(set) var freeBytes: UInt64 = 1 << 40
    private var logsAsked = 0
    package private(set) var backupsAsked: [String] = []
    /// Whether commits wait for `complete`.
    package private(set) var isHeld = false

    package init(on executor: any SerialExecutor) { self.executor = executor }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    package var waitingCount: Int { waiting.count }

    package func hold(_ isHeld: Bool) { self.isHeld = isHeld }

    /// Returns how often the log was to be emptied since the last call.
    package func takeLogsAsked() -> Int {
        defer { logsAsked = 0 }
        return logsAsked
    }

    /// Returns the files of the backups that were asked for since the last call.
    package func takeBackupsAsked() -> [String] {
        defer { backupsAsked = [] }
        return backupsAsked
    }

    package func leave(freeBytes: UInt64) { self.freeBytes = freeBytes }

    /// Completes the oldest commit that waits, or fails it.
    ///
    /// - Returns: its ticket and its failure, to be reported to the node; nil where none waits.
    package func complete(
        failing failure: StoreFailure? = nil
    ) -> (ticket: UInt64, failure: StoreFailure?)? {
        guard !waiting.isEmpty else { return nil }
        let first = waiting.removeFirst()
        if first.isBuiltOnFailure { return (first.ticket, .full) }
        if let failure {
            hasFailed = true
            waiting = waiting.map {
                Waiting(
                    writes: $0.writes, drops: $0.drops, settings: $0.settings,
                    ticket: $0.ticket, isBuiltOnFailure: true)
            }
            return (first.ticket, failure)
        }
        for shard in first.drops {
            headers[shard] = nil
            documents = documents.filter { $0.value.shard != shard }
        }
        for write in first.writes {
            headers[write.shard] = write.header.encoded
            for record in write.records { put(record, in: write.shard) }
        }
        for setting in first.settings { settings[setting.name] = setting.value }
        return (first.ticket, nil)
    }

    private func put(_ record: Record, in shard: ShardID) {
        do {
            let document = try Document(record.key, decoding: record.bytes)
            documents[record.key] = (shard, document)
        } catch {
            preconditionFailure("a record holds a document: \(error)")
        }
    }

    private func page(
        of conversation: ConversationID, in shard: ShardID, page: HistoryPage
    ) -> [Document] {
        documents.values.filter {
            $0.shard == shard && $0.document.key.partition == conversation.text
        }.compactMap { entry -> (HistoryPosition, Document)? in
            guard entry.document.message != nil, let id = MessageID(entry.document.key.id)
            else { return nil }
            let position = HistoryPosition(time: entry.document.historyTime, id: id)
            return page.admits(position) ? (position, entry.document) : nil
        }.sorted { page.isDescending ? $0.0 > $1.0 : $0.0 < $1.0 }.map(\.1)
    }
}

extension MemoryStore {
    package nonisolated func commit(
        _ writes: [ShardWrite], drops: [ShardID], settings: [Setting], ticket: UInt64
    ) {
        assumeIsolated {
            $0.waiting.append(
                Waiting(
                    writes: writes, drops: drops, settings: settings, ticket: ticket,
                    isBuiltOnFailure: $0.hasFailed))
        }
    }

    package nonisolated var diskSpace: DiskSpace? {
        let free = assumeIsolated { $0.freeBytes }
        return DiskSpace(freeBytes: free, totalBytes: 1 << 40, logBytes: 0, isReserved: true)
    }

    package nonisolated func setUrgent(_ isUrgent: Bool) {}

    package nonisolated func makeReserve() {}

    package nonisolated func emptyLog() { assumeIsolated { $0.logsAsked += 1 } }

    /// Checks everything at once; everything is good.
    package nonisolated func check(
        _ shard: ShardID, after mark: (any CheckMark)?, rowsMax: Int
    ) throws(StoreFailure) -> CheckedPart {
        var part = CheckedPart()
        let found = assumeIsolated { store in
            store.documents.values.filter { $0.shard == shard }.map(\.document)
        }
        for document in found { part.add(document, bytes: document.encoded, isIndexed: true) }
        return part
    }

    package nonisolated func backUp(to file: String) {
        assumeIsolated { $0.backupsAsked.append(file) }
    }

    package nonisolated func resume() { assumeIsolated { $0.hasFailed = false } }

    package nonisolated var queuedBytes: Int { 0 }

    package nonisolated var usage: StoreUsage? {
        StoreUsage(databaseBytes: 4_096, logBytes: 512, freeBytes: 1 << 40)
    }

    package nonisolated func document(
        _ key: DocumentKey, in shard: ShardID
    ) throws(StoreFailure) -> Document? {
        assumeIsolated { $0.documents[key]?.document }
    }

    package nonisolated func keys(
        of kind: DocumentKey.Kind, carrying term: String, in shard: ShardID, partition: String?
    ) throws(StoreFailure) -> [DocumentKey] {
        assumeIsolated { store in
            store.documents.values.filter { $0.shard == shard }.map(\.document).filter {
                $0.key.kind == kind && $0.indexKeys.contains(term)
                    && (partition == nil || partition == $0.key.partition)
            }.map(\.key).sorted()
        }
    }

    package nonisolated func participantStates(
        of conversation: ConversationID, in shard: ShardID
    ) throws(StoreFailure) -> [Document] {
        assumeIsolated { store in
            store.documents.values.filter { $0.shard == shard }.map(\.document).filter {
                $0.key.kind == .participantState && $0.key.partition == conversation.text
            }.sorted { $0.key < $1.key }
        }
    }

    package nonisolated func history(
        of conversation: ConversationID, in shard: ShardID, page: HistoryPage,
        handing: (Document) -> Bool
    ) throws(StoreFailure) {
        for document in assumeIsolated({ $0.page(of: conversation, in: shard, page: page) }) {
            guard handing(document) else { return }
        }
    }

    /// Always throws: no record is damaged in memory.
    package nonisolated func remainder(
        of shard: ShardID, without bad: [DocumentKey]
    ) throws(StoreFailure) -> Remainder {
        throw .failed("nothing to count anew")
    }

    /// Returns everything that the other replica lacks, at once.
    package nonisolated func changes(
        in shard: ShardID, lackedBy theirs: Vector, of ours: Vector, after cursor: Dot?,
        bytesMax: Int
    ) throws(StoreFailure) -> (encodedDocuments: [EncodedDocument], next: Dot?) {
        let found = assumeIsolated { store in
            store.documents.values.filter { $0.shard == shard }.map(\.document)
        }
        let lacked = found.filter { !theirs.contains($0.changedBy) }.sorted { $0.key < $1.key }
        return (lacked.map { EncodedDocument(key: $0.key.encoded, bytes: $0.encoded) }, nil)
    }
}
