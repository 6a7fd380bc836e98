import CRDT
import Chat
import Replication
import Storage
import StorePort
import Testing
import Wire

@Suite struct BadRecordTests {
    /// Returns twenty messages, one of them with a flipped byte.
    private func spoilt(
        _ folder: TemporaryFolder, flipping text: String = "text-13"
    ) throws -> (Chats, TestDatabase) {
        var chats = Chats()
        let writes = (0..<20).map { chats.send($0, in: $0 % 2, text: "text-\($0).") }
        let first = try TestDatabase(folder: folder.path)
        try first.store(chats.batch(writes))
        first.close()
        var bytes = folder.bytes(of: "grapevine.sqlite")
        let place = try #require(offset(of: Array(text.utf8), in: bytes))
        bytes[place + 2] ^= 1
        try folder.write(bytes, to: "grapevine.sqlite")
        return (chats, try TestDatabase(folder: folder.path))
    }

    private let bad = DocumentKey.message(Chats.message(13), in: Chats.conversation(1))

    @Test func `a flipped byte is one bad document and the rest is told`() throws {
        let folder = try TemporaryFolder()
        let (chats, database) = try spoilt(folder)
        defer { database.close() }
        let error = StorageError.badRecord(chats.shard, bad)
        for (key, document) in chats.documents where key != bad {
            #expect(try database.reader.document(key, in: chats.shard) == document)
        }
        #expect(throws: error) { try database.reader.document(bad, in: chats.shard) }
        #expect(throws: error) {
            try database.reader.history(
                Chats.conversation(1), in: chats.shard, page: HistoryPage(.newest, limit: 1)
            ) { _ in true }
        }
        #expect(throws: error) {
            try database.reader.changes(
                in: chats.shard, lackedBy: Vector(), of: chats.vector, after: nil,
                bytesMax: 1 << 20)
        }

        let others = chats.documents.values.filter { $0.key != bad }
        var sum = try database.reader.remainder(of: chats.shard, without: [])
        #expect(sum.bad == [bad])
        #expect(sum.header.documents == 19)
        #expect(sum.header.count(ofKind: DocumentKey.Kind.message.number) == 19)
        #expect(sum.header.greatest == others.map(\.greatestTime).max())
        var vector = Vector()
        var digest = Hash128.zero
        for document in others {
            vector.insert(document.changedBy)
            digest += Document.digest(of: document.key, bytes: document.encoded)
        }
        #expect(sum.header.vector == vector)
        #expect(sum.header.digest == digest)
        let known = try database.reader.remainder(of: chats.shard, without: [bad])
        sum = try database.reader.remainder(of: chats.shard, without: [])
        #expect(known.bad.isEmpty && known.header == sum.header)
    }

    @Test func `a document set aside is gone from every table and can come again`() throws {
        let folder = try TemporaryFolder()
        let (chats, database) = try spoilt(folder)
        defer { database.close() }
        let aside = ShardWrite(
            shard: chats.shard, header: Chats.header(0), records: [], removed: [bad])
        try database.store(WriteBatch(shards: [aside]))
        #expect(try database.reader.document(bad, in: chats.shard) == nil)
        let raw = try RawFile(folder.file)
        let rows = chats.dotRows.filter { !$0.hasSuffix("/m13") }
        #expect(try raw.dots() == rows)
        #expect(try raw.rows("SELECT id FROM place WHERE id = 'm13'").isEmpty)

        let document = try #require(chats.documents[bad])
        let again = Record(
            key: bad, changedBy: document.changedBy, time: document.historyTime,
            bytes: document.encoded, previous: nil, purges: false)
        try database.store(chats.batch([again]))
        #expect(try raw.dots() == chats.dotRows)
        #expect(try database.reader.document(bad, in: chats.shard) == document)
        #expect(
            try database.reader.remainder(of: chats.shard, without: []).header.digest
                == chats.digest)
    }

    @Test func `a header, its base and a setting with a flipped byte are known as such`() throws {
        let folder = try TemporaryFolder()
        let first = try TestDatabase(folder: folder.path)
        let header = Chats.header(0x7468_652D_6865_6164)
        let (base, setting) = ([UInt8]("the-base".utf8), [UInt8]("the-setting".utf8))
        var batch = Chats().batch([], header: header, base: base)
        batch.settings = [Setting(name: "members", value: setting)]
        try first.store(batch)
        first.close()
        var bytes = folder.bytes(of: "grapevine.sqlite")
        for stored in [header.encoded, setting, base] {
            bytes[try #require(offset(of: stored, in: bytes))] ^= 1
        }
        try folder.write(bytes, to: "grapevine.sqlite")
        let database = try TestDatabase(folder: folder.path)
        defer { database.close() }
        #expect(try database.reader.headers().map(\.1) == [nil])
        #expect(try database.reader.bases().isEmpty)
        #expect(throws: StorageError.corrupt(doing: "reading the setting members")) {
            try database.reader.settings()
        }
    }

    @Test func `a row that lost its name is met by no key and swept out`() throws {
        let folder = try TemporaryFolder()
        let (chats, database) = try spoilt(folder)
        defer { database.close() }
        let raw = try RawFile(folder.file)
        raw.run("UPDATE document SET id = CAST(x'6DFF33' AS TEXT) WHERE id = 'm3'")
        let lost = DocumentKey.message(Chats.message(3), in: Chats.conversation(1))
        #expect(throws: StorageError.badIndex(chats.shard)) {
            try database.reader.document(lost, in: chats.shard)
        }
        let first = try database.reader.remainder(of: chats.shard, without: [])
        #expect(first.bad.count == 2)
        let aside = ShardWrite(
            shard: chats.shard, header: Chats.header(0), records: [],
            removed: first.bad + [lost])
        try database.store(WriteBatch(shards: [aside]))
        let second = try database.reader.remainder(of: chats.shard, without: [])
        #expect(second.bad.isEmpty && second.header.documents == 18)
    }

    @Test func `a walk in parts meets every document once and tells the bad one`() throws {
        let folder = try TemporaryFolder()
        let (chats, database) = try spoilt(folder)
        defer { database.close() }
        var met: [DocumentKey] = []
        var badOnes: [DocumentKey] = []
        var position: WalkPosition?
        repeat {
            var count = 0
            position = try database.reader.walk(
                chats.shard, after: position, rowsMax: 3
            ) { key, bytes in
                count += 1
                met.append(key)
                if let bytes {
                    #expect(chats.documents[key]?.encoded == bytes)
                } else {
                    badOnes.append(key)
                }
            }
            #expect(count <= 3)
        } while position != nil
        #expect(met.count == 20 && Set(met) == Set(chats.documents.keys))
        #expect(badOnes == [bad])
    }
}
