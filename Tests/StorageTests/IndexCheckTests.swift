import Chat
import Storage
import Testing
import Wire

@Suite struct IndexCheckTests {
    private static let faults = [
        "DELETE FROM place WHERE id = 'm3'",
        "UPDATE place SET time = time + 1 WHERE id = 'm3'",
        "DELETE FROM dot WHERE id = 'm3'",
        "UPDATE dot SET id = 'm4' WHERE id = 'm3'",
        "DELETE FROM term WHERE id = 'm3'",
        "UPDATE term SET word = 'other' WHERE id = 'm3'",
    ]

    @Test(arguments: faults) func `a document that an index does not lead to is known, and mended`(
        fault: String
    ) throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path)
        defer { database.close() }
        var chats = Chats()
        var writes = (0..<10).map { chats.send($0, in: 1) }
        writes.append(chats.make(.pin(Chats.message(3)), in: Chats.conversation(1)))
        try database.store(chats.batch(writes))
        let raw = try RawFile(folder.file)
        let (dots, terms) = (try raw.dots(), try raw.terms())
        for document in chats.documents.values {
            #expect(try database.reader.isIndexed(document, in: chats.shard))
        }
        raw.run(fault)
        let key = DocumentKey.message(Chats.message(3), in: Chats.conversation(1))
        let document = try #require(chats.documents[key])
        #expect(try !database.reader.isIndexed(document, in: chats.shard))
        let again = Record(of: document, bytes: document.encoded, previous: nil)
        try database.store(chats.batch([again]))
        #expect(try database.reader.isIndexed(document, in: chats.shard))
        #expect(try raw.dots() == dots)
        #expect(try Set(raw.terms()).isSuperset(of: terms))
    }
}
