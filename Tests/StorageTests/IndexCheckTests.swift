import CRDT
import Chat
import Storage
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
        writes.append(chats.make(.pin(Chats.message(3)), in: Chats.conversation(1)))
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

    /// Has the document mended as the node does.
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
            let (dots, terms) = (try raw.dots(), try raw.terms())
            raw.run(fault)
            let key = DocumentKey.message(Chats.message(3), in: Chats.conversation(1))
            try mend(try #require(chats.documents[key]), of: chats, in: database)
            #expect(try raw.dots() == dots)
            #expect(try Set(raw.terms()).isSuperset(of: terms))
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
                try mend(try #require(chats.documents[key]), of: chats, in: database)
            }
            for document in chats.documents.values {
                #expect(try database.reader.isIndexed(document, in: chats.shard))
            }
            #expect(try raw.dots() == dots)
        }
    }
}
