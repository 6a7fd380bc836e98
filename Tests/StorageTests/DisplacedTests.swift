import Chat
import Glibc
import Storage
import Testing
import Wire

/// Files that are removed, moved or replaced while they are written.
@Suite struct DisplacedTests {
    private static let files = ["grapevine.sqlite", "grapevine.sqlite-wal", "lock"]

    private func opened(
        _ folder: TemporaryFolder
    ) throws -> (TestDatabase, Chats) {
        let database = try TestDatabase(folder: folder.path)
        var chats = Chats()
        try database.store(chats.batch([chats.send(0, in: 1)]))
        #expect(database.inner.displaced == nil)
        return (database, chats)
    }

    @Test(arguments: files) func `nothing is acknowledged once a file is gone`(
        name: String
    ) throws {
        let folder = try TemporaryFolder()
        var (database, chats) = try opened(folder)
        defer { database.close() }
        let path = folder.path + "/" + name
        unlink(path)
        #expect(database.inner.displaced == .displaced(path))
        for number in 1..<3 {
            #expect(throws: StorageError.displaced(path)) {
                try database.store(chats.batch([chats.send(number, in: 1)]))
            }
        }
    }

    @Test(arguments: files) func `what another program put in the place is left as it is`(
        name: String
    ) throws {
        let folder = try TemporaryFolder()
        var (database, chats) = try opened(folder)
        let path = folder.path + "/" + name
        rename(path, path + ".moved")
        try folder.write([1, 2, 3], to: name)
        #expect(throws: StorageError.displaced(path)) {
            try database.store(chats.batch([chats.send(1, in: 1)]))
        }
        database.close()
        #expect(folder.bytes(of: name) == [1, 2, 3])
    }

    @Test func `a write that another program keeps from the file is refused until it lets go`()
        throws
    {
        let folder = try TemporaryFolder()
        var (database, chats) = try opened(folder)
        defer { database.close() }
        let before = chats
        let raw = try RawFile(folder.file)
        raw.run("BEGIN IMMEDIATE")
        #expect(throws: StorageError.locked) {
            try database.store(chats.batch([chats.send(1, in: 1)]))
        }
        raw.run("COMMIT")
        chats = before
        try database.store(chats.batch([chats.send(1, in: 1)]))
    }
}
