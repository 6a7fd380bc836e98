import CRDT
import Chat
import Replication
import StorePort
import Testing
import Wire

@testable import Storage

@Suite struct DatabaseTests {
    @Test func `a folder that is in use is not opened twice`() throws {
        let folder = try TemporaryFolder()
        let first = try TestDatabase(folder: folder.path)
        #expect(throws: StorageError.folderInUse) { try TestDatabase(folder: folder.path) }
        first.close()
        try TestDatabase(folder: folder.path).close()
    }

    @Test func `a missing folder is made with its parents`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path + "/a/b")
        database.close()
        let inner = TemporaryFolder(existing: folder.path + "/a/b")
        #expect(inner.names == ["grapevine.sqlite", "lock"])
        inner.remove()
        TemporaryFolder(existing: folder.path + "/a").remove()
        folder.remove()
    }

    @Test func `a file of a later version is left as it is`() throws {
        let folder = try TemporaryFolder()
        try TestDatabase(folder: folder.path).close()
        try RawFile(folder.file).run("PRAGMA user_version = 9")
        let before = folder.bytes(of: "grapevine.sqlite")
        #expect(throws: StorageError.newerFormat(9)) { try TestDatabase(folder: folder.path) }
        #expect(folder.bytes(of: "grapevine.sqlite") == before)
        #expect(folder.names == ["grapevine.sqlite", "lock"])
    }

    @Test func `a later version that leaves the file to this one is read, and its number stays`()
        throws
    {
        let folder = try TemporaryFolder()
        var chats = Chats()
        let first = try TestDatabase(folder: folder.path)
        try first.store(chats.batch([chats.send(1, in: 1)]))
        first.close()
        try RawFile(folder.file).run("PRAGMA user_version = \(Format.number << 16 | 9)")
        let again = try TestDatabase(folder: folder.path)
        for (key, document) in chats.documents {
            #expect(try again.reader.document(key, in: chats.shard) == document)
        }
        again.close()
        try RawFile(folder.file).run("PRAGMA user_version = \((Format.number + 1) << 16 | 9)")
        #expect(throws: StorageError.newerFormat(9)) { try TestDatabase(folder: folder.path) }
    }

    @Test func `a later version that is in the log alone is found as well`() throws {
        let folder = try TemporaryFolder()
        try TestDatabase(folder: folder.path).close()
        let raw = try RawFile(folder.file)
        raw.run("PRAGMA journal_mode = WAL")
        raw.run("PRAGMA user_version = 9")
        #expect(throws: StorageError.newerFormat(9)) { try TestDatabase(folder: folder.path) }
    }

    @Test(arguments: ["text", "short", "sqlite"])
    func `a file that is not ours is left as it is`(kind: String) throws {
        let folder = try TemporaryFolder()
        switch kind {
        case "text":
            let text = Array(repeating: UInt8(ascii: "x"), count: 5_000)
            try folder.write(text, to: "grapevine.sqlite")
        case "short":
            try folder.write([1, 2, 3], to: "grapevine.sqlite")
        default:
            try RawFile(folder.file).run("CREATE TABLE theirs(x)")
        }
        let before = folder.bytes(of: "grapevine.sqlite")
        #expect(throws: StorageError.foreignFile) { try TestDatabase(folder: folder.path) }
        #expect(folder.bytes(of: "grapevine.sqlite") == before)
        #expect(folder.names == ["grapevine.sqlite", "lock"])
    }

    @Test func `a creation that was cut off is begun again`() throws {
        let folder = try TemporaryFolder()
        try folder.write([1, 2, 3], to: "grapevine.sqlite.new")
        try folder.write([4, 5, 6], to: "grapevine.sqlite.new-journal")
        try TestDatabase(folder: folder.path).close()
        #expect(folder.names == ["grapevine.sqlite", "lock"])
    }

    @Test func `closed means closed`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path)
        database.close()
        database.close()
        #expect(throws: StorageError.closed) { try database.store(WriteBatch()) }
        #expect(throws: StorageError.closed) { try database.reader.settings() }
    }

    @Test func `what was submitted before the closing is on disk after it`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path)
        var chats = Chats()
        for number in 0..<200 {
            database.submit(chats.batch([chats.send(number, in: 1)])) { _ in }
        }
        database.close()
        #expect(folder.names == ["grapevine.sqlite", "lock"], "the log is folded in")
        let again = try TestDatabase(folder: folder.path)
        defer { again.close() }
        let sum = try again.reader.remainder(of: chats.shard, without: [])
        #expect(sum.header.documents == 200)
    }
}
