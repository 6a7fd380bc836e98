import CRDT
import Chat
import Replication
import Storage
import StorePort
import TestKit
import Testing
import Wire

@Suite struct IndexCheckTests {
    private static let faults = [
        "DELETE FROM place WHERE id = 'm3'",
        "UPDATE place SET time = time + 1 WHERE id = 'm3'",
        "DELETE FROM term WHERE id = 'm3'",
        "UPDATE term SET word = 'other' WHERE id = 'm3'",
    ]

    private func filled(_ database: TestDatabase) throws -> Chats {
        var chats = Chats()
        var writes = (0..<40).map { chats.send($0, in: 1) }
        writes.append(
            chats.make(.message(Chats.message(3), PinMessage()), in: Chats.conversation(1)))
        try database.store(chats.batch(writes))
        for document in chats.documents.values {
            #expect(try database.reader.isIndexed(document, in: chats.shard))
        }
        return chats
    }

    private func withFilledDatabase(
        _ check: (TestDatabase, Chats, RawFile) throws -> Void
    ) throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path)
        defer { database.close() }
        let chats = try filled(database)
        try check(database, chats, try RawFile(folder.file))
    }

    /// Repairs the document as the node does.
    private func mend(
        _ document: Document, of chats: Chats, in database: TestDatabase
    ) throws {
        #expect(try !database.reader.isIndexed(document, in: chats.shard))
        let again = Record(of: document, bytes: document.encoded, previous: nil)
        try database.store(chats.batch([again]))
        #expect(try database.reader.isIndexed(document, in: chats.shard))
    }

    @Test(arguments: faults) func `a document that an index does not lead to is known, and mended`(
        fault: String
    ) throws {
        try withFilledDatabase { database, chats, raw in
            let (dots, indexKeys) = (try raw.dots(), try raw.indexKeys())
            raw.run(fault)
            let key = DocumentKey.message(Chats.message(3), in: Chats.conversation(1))
            try mend(try #require(chats.documents[key]), of: chats, in: database)
            #expect(try raw.dots() == dots)
            #expect(try Set(raw.indexKeys()).isSuperset(of: indexKeys))
        }
    }

    private static let dotFaults = [
        "DELETE FROM dots WHERE block = 1",
        "UPDATE dots SET body = x'' WHERE block = 1",
        "UPDATE dots SET body = substr(body, 1, 20) WHERE block = 1",
        "UPDATE dots SET body = (SELECT body FROM dots WHERE block = 2) WHERE block = 1",
    ]

    @Test(arguments: dotFaults) func `dots that are lost are known by their documents, and mended`(
        fault: String
    ) throws {
        try withFilledDatabase { database, chats, raw in
            let dots = try raw.dots()
            raw.run(fault)
            for (dot, key) in chats.dots where (16..<32).contains(dot.seq) {
                let document = try #require(chats.documents[key])
                #expect(try !database.reader.isIndexed(document, in: chats.shard))
            }
            try reindex(chats, in: database)
            for document in chats.documents.values {
                #expect(try database.reader.isIndexed(document, in: chats.shard))
            }
            #expect(try raw.dots() == dots)
        }
    }

    /// Rebuilds the indexes that lead to documents, as the node does.
    private func reindex(_ chats: Chats, in database: TestDatabase) throws {
        let anew = ShardWrite(
            shard: chats.shard, header: Chats.header(1), records: [],
            isReindexed: true)
        try database.store(WriteBatch(shards: [anew]))
    }

    private static let rowFaults = [
        "UPDATE dots SET body = x'' WHERE block = 1",
        "UPDATE dots SET body = zeroblob(length(body)) WHERE block = 0",
        "UPDATE dots SET block = 3 WHERE block = 1",
        "UPDATE replica SET id = zeroblob(16)",
        "UPDATE replica SET number = 77",
        "UPDATE replica SET sum = sum + 1",
        "UPDATE place SET time = time + 1 WHERE id = 'm3'",
        "UPDATE place SET sum = 0 WHERE id = 'm3'",
        "UPDATE term SET id = 'm4' WHERE id = 'm3'",
    ]

    /// Reads what a peer, a client and a list need, and returns the number of changes.
    private func readAll(_ chats: Chats, in database: TestDatabase) throws -> Int {
        let found = try database.reader.changes(
            in: chats.shard, lackedBy: Vector(), of: chats.vector, after: nil, bytesMax: 1 << 20)
        for key in chats.documents.keys {
            _ = try database.reader.document(key, in: chats.shard)
        }
        for term in Set(chats.documents.values.flatMap(\.indexKeys)) {
            _ = try database.reader.keys(of: .message, carrying: term, in: chats.shard)
        }
        return found.encodedDocuments.count
    }

    @Test(arguments: rowFaults) func `a damaged row of an index is met as such, and made anew`(
        fault: String
    ) throws {
        let folder = try TemporaryFolder()
        let first = try TestDatabase(folder: folder.path)
        let chats = try filled(first)
        first.close()
        let raw = try RawFile(folder.file)
        let (dots, indexKeys) = (try raw.dots(), try raw.indexKeys())
        let database = try TestDatabase(folder: folder.path)
        defer { database.close() }
        // The writer's thread allocates the log when it begins, over what another connection writes
        // at that moment.
        try database.store(WriteBatch(shards: []))
        raw.run(fault)
        var met: StorageError?
        do {
            _ = try readAll(chats, in: database)
        } catch {
            met = error as? StorageError
        }
        #expect(met == .badIndex(chats.shard))
        try reindex(chats, in: database)
        #expect(try readAll(chats, in: database) == chats.documents.count)
        #expect(try raw.dots() == dots && raw.indexKeys() == indexKeys)
    }

    @Test(arguments: [
        "UPDATE replica SET id = zeroblob(16)", "UPDATE replica SET sum = sum + 1",
        "UPDATE replica SET number = 77",
    ])
    func `all shards that share a damaged replica are made anew with the first`(
        fault: String
    ) throws {
        let folder = try TemporaryFolder()
        let first = try TestDatabase(folder: folder.path)
        var all = [try filled(first), Chats(shard: ShardID(5))]
        try first.store(all[1].batch((0..<20).map { all[1].send($0, in: 1) }))
        first.close()
        let raw = try RawFile(folder.file)
        let database = try TestDatabase(folder: folder.path)
        defer { database.close() }
        // These records wait in the write log.
        try database.store(all[1].batch((20..<30).map { all[1].send($0, in: 1) }))
        raw.run(fault)
        for chats in all {
            #expect(throws: StorageError.badIndex(chats.shard)) {
                try readAll(chats, in: database)
            }
        }
        try reindex(all[0], in: database)
        for chats in all {
            #expect(try readAll(chats, in: database) == chats.documents.count)
        }
    }

    @Test func `a fold that meets a damaged row waits, says so, and loses nothing`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path, writeLog: .small)
        defer { database.close() }
        let failures = Outcomes()
        database.inner.onFailure { failures.note(0, $0) }
        var chats = Chats()
        for number in 0..<40 { try database.store(chats.batch([chats.send(number, in: 1)])) }
        let raw = try RawFile(folder.file)
        raw.run("UPDATE dots SET body = zeroblob(length(body))")
        for number in 40..<80 { try database.store(chats.batch([chats.send(number, in: 1)])) }
        while failures.isEmpty { database.bringMail() }
        #expect(failures.wait(for: 1).first?.1 == .badIndex(chats.shard))
        try reindex(chats, in: database)
        #expect(try raw.rows("SELECT number FROM journal").isEmpty)
        #expect(try raw.dots() == chats.dotRows)
        #expect(try readAll(chats, in: database) == 80)
    }
}
