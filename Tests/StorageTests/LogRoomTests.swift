import Chat
import Testing

@testable import Storage

@Suite struct LogRoomTests {
    @Test func `commits write over what is there, and make no file longer`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path, journal: .standard)
        defer { database.close() }
        var chats = Chats()
        try database.store(chats.batch([chats.send(0, in: 1)]))
        // What is made ready behind a commit is there before the next one is stored.
        try database.store(chats.batch([chats.send(1, in: 1)]))
        let size = folder.bytes(of: "grapevine.sqlite-wal").count
        #expect(size >= 1 << 20)
        for number in 2..<40 { try database.store(chats.batch([chats.send(number, in: 1)])) }
        #expect(folder.bytes(of: "grapevine.sqlite-wal").count == size)
    }

    @Test func `a disk that has no room for it stores all the same`() throws {
        let folder = try TemporaryFolder()
        let disk = FaultyDisk(folder)
        let database = try TestDatabase(folder: folder.path, journal: .standard)
        defer { database.close() }
        var chats = Chats()
        let outcomes = Outcomes()
        database.writer.emptyLog { outcomes.note(0, $0) }
        #expect(outcomes.wait(for: 1)[0].1 == nil)
        // Enough for a commit or two, and not for what is made ready behind them.
        disk.allow(writes: 14)
        try database.store(chats.batch([chats.send(0, in: 1)]))
        disk.allow(writes: nil)
        try database.store(chats.batch([chats.send(1, in: 1)]))
        #expect(
            try database.reader.remaining(in: chats.shard, without: []).digest == chats.digest)
    }
}
