import Chat
import Testing

@testable import Storage

@Suite struct WALPreallocationTests {
    @Test func `commits write over what is there, and make no file longer`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path, writeLog: .standard)
        defer { database.close() }
        var chats = Chats()
        try database.store(chats.batch([chats.send(0, in: 1)]))
        // The space that is preallocated after a commit is there before the next one is stored.
        try database.store(chats.batch([chats.send(1, in: 1)]))
        let size = folder.bytes(of: "grapevine.sqlite-wal").count
        #expect(size >= 1 << 20)
        for number in 2..<40 { try database.store(chats.batch([chats.send(number, in: 1)])) }
        #expect(folder.bytes(of: "grapevine.sqlite-wal").count == size)
    }
}
