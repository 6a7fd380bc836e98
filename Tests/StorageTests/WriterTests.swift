import CRDT
import Chat
import Replication
import Storage
import StorePort
import TestKit
import Testing
import Wire

@Suite struct WriterTests {
    @Test func `what was stored is read again after the file was closed`() throws {
        let folder = try TemporaryFolder()
        var chats = Chats()
        let created = chats.make(
            .conversation(CreateConversation(participants: [Chats.user], title: "Tea")),
            in: Chats.conversation(1))
        let writes = [created, chats.send(1, in: 1), chats.send(2, in: 1)]
        let first = try TestDatabase(folder: folder.path)
        var batch = chats.batch(writes, header: Chats.header(987))
        batch.settings = [
            Setting(name: "node", value: Array("n1".utf8)), Setting(name: "empty", value: []),
        ]
        try first.store(batch)
        first.close()

        let second = try TestDatabase(folder: folder.path)
        defer { second.close() }
        for (key, document) in chats.documents {
            #expect(try second.reader.document(key, in: chats.shard) == document)
            #expect(try second.reader.document(key, in: ShardID(4)) == nil)
        }
        #expect(try second.reader.settings() == ["node": Array("n1".utf8), "empty": []])
        let headers = try second.reader.headers()
        #expect(headers.map(\.0) == [chats.shard])
        #expect(headers.map(\.1) == [Chats.header(987).encoded])
    }

    @Test(arguments: 1...8)
    func `a document that others change keeps exactly its current dots`(seed: UInt64) throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path)
        defer { database.close() }
        var generator = SeededGenerator(seed: seed)
        var chats = Chats()
        var writes = (0..<6).map { chats.send($0, in: $0 % 3) }
        for _ in 0..<60 {
            let message = Int.random(in: 0..<6, using: &generator)
            let action: ChatAction =
                Bool.random(using: &generator)
                ? .message(Chats.message(message), PinMessage())
                : .message(Chats.message(message), UnpinMessage())
            writes.append(
                chats.make(
                    action, in: Chats.conversation(message % 3),
                    by: Int.random(in: 1...4, using: &generator)))
            guard Bool.random(using: &generator) else { continue }
            try database.store(chats.batch(writes))
            writes = []
        }
        try database.store(chats.batch(writes))
        #expect(try RawFile(folder.file).dots() == chats.dotRows)
    }

    @Test func `a message whose earlier sending arrives moves to its time`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path)
        defer { database.close() }
        var late = Chats()
        var early = Chats()
        try database.store(late.batch([late.send(1, in: 1, by: 1, at: 9_000)]))
        _ = early.send(1, in: 1, by: 2, at: 5_000)
        let key = DocumentKey.message(Chats.message(1), in: Chats.conversation(1))
        var document = try #require(late.documents[key])
        document.merge(try #require(early.documents[key]))
        try database.store(late.batch([late.put(document)]))

        #expect(try database.reader.document(key, in: late.shard) == document)
        let raw = try RawFile(folder.file)
        let time = String(HybridTimestamp(milliseconds: 5_000).bits)
        #expect(try raw.rows("SELECT time FROM document") == [[time]])
        #expect(try raw.rows("SELECT time FROM place") == [[time]])
        #expect(try raw.dotPlaces().allSatisfy { String($0.place.time.bits) == time })
        #expect(try raw.dots() == late.dotRows)
    }

    @Test func `batches are completed in order and the last header shows`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path)
        defer { database.close() }
        var chats = Chats()
        let outcomes = Outcomes()
        for number in 0..<500 {
            let header = Chats.header(UInt64(number))
            database.submit(chats.batch([chats.send(number, in: 1)], header: header)) {
                outcomes.note(number, $0)
            }
        }
        let ended = outcomes.wait(for: 500)
        #expect(ended.map(\.0) == Array(0..<500))
        #expect(ended.allSatisfy { $0.1 == nil })
        #expect(database.writer.queuedBytes == 0)
        #expect(try database.reader.headers()[0].1 == Chats.header(499).encoded)
        let sum = try database.reader.remainder(of: chats.shard, without: [])
        #expect(sum.header.documents == 500)
    }

    @Test func `what waits shares a transaction and fails as one`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path)
        defer { database.close() }
        let raw = try RawFile(folder.file)
        raw.run(
            """
            CREATE TRIGGER refusal BEFORE INSERT ON document WHEN new.id = 'm7'
            BEGIN SELECT RAISE(ABORT, 'refused'); END
            """)
        var chats = Chats()
        let outcomes = Outcomes()
        // The writer has taken the first batches by the time it waits for this transaction to end;
        // all others wait then, and are one transaction.
        raw.run("BEGIN IMMEDIATE")
        for number in 0..<10 {
            database.submit(chats.batch([chats.send(number, in: 1)])) {
                outcomes.note(number, $0)
            }
        }
        raw.run("COMMIT")
        let ended = outcomes.wait(for: 10)
        #expect(ended.map(\.0) == Array(0..<10))
        let failed = ended.filter { $0.1 != nil }.map(\.0)
        let (first, last) = (try #require(failed.first), try #require(failed.last))
        #expect((first...last).contains(7) && failed == Array(first...last))
        #expect(failed.count >= 3, "of two transactions, the one with 7 has 8 batches or 8 and 9")
        let stored = try raw.rows("SELECT count(*) FROM document")
        #expect(stored == [[String(10 - failed.count)]])

        try database.store(chats.batch([chats.send(20, in: 1)]))
        let refused = chats.batch([chats.send(21, in: 1)])
        var built = refused
        built.failuresKnown = 0
        #expect(throws: StorageError.builtOnFailure) { try database.store(built) }
        built.failuresKnown = database.writer.failures
        try database.store(built)
    }

    @Test func `what has no room in the tables is refused and nothing else`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path)
        defer { database.close() }
        var chats = Chats()
        let good = chats.send(1, in: 1)
        func changed(_ context: Context, _ time: UInt64, id: String) -> Record {
            Record(
                key: DocumentKey(checked: .message, partition: "room-1", id: id),
                changedBy: context, time: HybridTimestamp(bits: time), bytes: good.bytes,
                previous: nil, purges: false)
        }
        let far = Context(Dot(replica: Chats.replica(1), seq: .max))
        let near = Context(Dot(replica: Chats.replica(1), seq: 9))
        let misfits = [
            changed(far, 1, id: "x"), changed(near, .max, id: "x"),
            changed(near, 1, id: String(repeating: "x", count: 65)),
        ]
        for misfit in misfits {
            let error = #expect(throws: StorageError.self) {
                try database.store(chats.batch([misfit]))
            }
            guard case .unfit = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        try database.store(chats.batch([good]))
        #expect(try RawFile(folder.file).dots() == chats.dotRows)
    }

    @Test func `a dropped copy leaves nothing and the others stay`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path)
        defer { database.close() }
        var one = Chats(shard: ShardID(1))
        var two = Chats(shard: ShardID(2))
        try database.store(one.batch([one.send(1, in: 1), one.send(2, in: 2)]))
        try database.store(two.batch([two.send(3, in: 3)], base: [2]))
        try database.store(one.batch([], base: [1]))
        #expect(try database.reader.bases() == [one.shard: [1], two.shard: [2]])
        try database.store(WriteBatch(dropped: [one.shard]))
        #expect(try database.reader.bases() == [two.shard: [2]])
        #expect(try database.reader.headers().map(\.0) == [two.shard])
        #expect(
            try database.reader.remainder(of: one.shard, without: []).header
                == ReplicaHeader(remaining: DocumentSum()))
        #expect(try database.reader.remainder(of: two.shard, without: []).header.documents == 1)
        let raw = try RawFile(folder.file)
        #expect(try raw.dots() == two.dotRows)
        #expect(try raw.rows("SELECT id FROM place") == [["m3"]])
    }
}
