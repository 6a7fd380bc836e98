import CSQLite
import Chat
import Replication
import StorePort
import Testing
import Wire

@testable import Storage

@Suite struct ReserveTests {
    @Test func `what deletes passes on a full disk, at the cost of what is kept for it`() throws {
        let folder = try TemporaryFolder()
        let disk = FaultyDisk(folder)
        let reserve = Reserve(in: folder.path)
        let database = try TestDatabase(folder: folder.path, reserve: reserve)
        defer { database.close() }
        var chats = Chats()
        try database.store(chats.batch([chats.send(1, in: 1), chats.send(2, in: 1)]))
        #expect(reserve.isHeld)
        disk.allow(writes: 0)
        disk.onGivenUp(folder, allow: 100)
        var lost = chats
        #expect(throws: StorageError.full) {
            try database.store(lost.batch([lost.send(3, in: 1)]))
        }
        #expect(reserve.isHeld, "what does not delete leaves it alone")
        try database.store(chats.batch([chats.retract(1, room: 1)]))
        #expect(!reserve.isHeld)
        var urgent = chats.batch([chats.retract(2, room: 1)])
        urgent.isUrgent = true
        try database.store(urgent)
        #expect(
            try database.reader.remainder(of: chats.shard, without: []).header.digest
                == chats.digest)
    }

    @Test func `it is made whole or not at all, and once`() throws {
        let folder = try TemporaryFolder()
        let reserve = Reserve(in: folder.path)
        try reserve.make()
        #expect(folder.names == ["reserve"])
        #expect(folder.bytes(of: "reserve").count == Reserve.bytesMax)
        try reserve.make()
        #expect(reserve.giveUp() && !reserve.giveUp())
        #expect(folder.names.isEmpty)
        let room = try DiskSpace(of: folder.path)
        #expect(room.freeBytes > 0 && room.freeBytes <= room.totalBytes && !room.isReserved)
        #expect(Reserve.bytesCount(ofDisk: 16 << 20) == 1 << 20)
    }

    @Test func `the log is emptied on demand`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path)
        defer { database.close() }
        var chats = Chats()
        try database.store(chats.batch([chats.send(1, in: 1)]))
        #expect(folder.bytes(of: "grapevine.sqlite-wal").contains { $0 != 0 })
        let outcomes = Outcomes()
        database.writer.emptyLog { outcomes.note(0, $0) }
        #expect(outcomes.wait(for: 1)[0].1 == nil)
        // The zeros are preallocated space for later commits.
        #expect(folder.bytes(of: "grapevine.sqlite-wal").allSatisfy { $0 == 0 })
    }
}
