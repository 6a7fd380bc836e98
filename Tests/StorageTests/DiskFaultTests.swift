import CSQLite
import Chat
import Glibc
import Replication
import StorePort
import Testing
import Wire

@testable import Storage

/// The effects of a failing disk on a commit, and what is on it afterwards.
@Suite struct DiskFaultTests {
    /// A part of a history, with the part that was acknowledged.
    private struct Load {
        var chats = Chats()
        /// The state that was acknowledged last.
        var stored = Chats()
        private var next = 0

        /// Sends ten messages and edits none: enough for a commit of several pages.
        mutating func store(in database: TestDatabase) -> StorageError? {
            var tried = stored
            let writes = (0..<10).map { tried.send(next + $0, in: $0 % 3, text: "text-\($0)") }
            next += 10
            do {
                try database.store(tried.batch(writes))
                stored = tried
                return nil
            } catch {
                return error as? StorageError ?? .closed
            }
        }
    }

    private func expect(_ database: TestDatabase, toHold chats: Chats, _ note: String) throws {
        let sum = try database.reader.remainder(of: chats.shard, without: [])
        #expect(sum.header.digest == chats.digest, "\(note)")
        #expect(sum.header.vector == chats.vector, "\(note)")
        #expect(sum.bad.isEmpty, "\(note)")
    }

    @Test(arguments: WriteLogLimits.kinds)
    func `wherever a disk gets full nothing acknowledged is lost and none is half there`(
        limits: WriteLogLimits
    ) throws {
        var points = 0
        // Every point of the first commit and its log, then every fifth.
        for writes in Array(0..<24) + Array(stride(from: 24, to: 1_000, by: 5)) {
            let folder = try TemporaryFolder()
            let disk = FaultyDisk(folder)
            let database = try TestDatabase(folder: folder.path, writeLog: limits)
            var load = Load()
            #expect(load.store(in: database) == nil)
            let before = disk.failures
            disk.allow(writes: writes)
            let outcomes = (0..<2).map { _ in load.store(in: database) }
            #expect(outcomes.allSatisfy { $0 == nil || $0 == .full }, "\(outcomes)")
            try expect(database, toHold: load.stored, "full after \(writes) writes")
            let isOver = disk.failures == before
            disk.allow(writes: nil)
            #expect(load.store(in: database) == nil, "there is room again")
            database.close()
            let again = try TestDatabase(folder: folder.path, writeLog: limits)
            try expect(again, toHold: load.stored, "closed, full after \(writes) writes")
            again.close()
            if isOver { break }
            points += 1
        }
        #expect((3..<999).contains(points), "a commit to the write log writes few pages")
    }

    @Test(arguments: [EFBIG, EDQUOT])
    func `a limit to the size of files, and a quota, refuse writes as a full disk does`(
        error: Int32
    ) throws {
        let folder = try TemporaryFolder()
        let disk = FaultyDisk(folder)
        let database = try TestDatabase(folder: folder.path)
        var load = Load()
        #expect(load.store(in: database) == nil)
        for writes in 0..<3 {
            disk.allow(writes: writes, thenFailingWith: error)
            #expect(load.store(in: database) == .full)
        }
        disk.allow(writes: nil)
        #expect(load.store(in: database) == nil)
        try expect(database, toHold: load.stored, "there is room again")
        disk.allow(writes: 0, thenFailingWith: EIO)
        guard case .io = load.store(in: database) else {
            Issue.record("a disk that fails is not a full one")
            return
        }
    }

    @Test(arguments: WriteLogLimits.kinds)
    func `what was acknowledged before a disk got full survives a kill on it`(
        limits: WriteLogLimits
    ) throws {
        for writes in stride(from: 0, to: 30, by: 3) {
            let folder = try TemporaryFolder()
            let disk = FaultyDisk(folder)
            let database = try TestDatabase(folder: folder.path, writeLog: limits)
            var load = Load()
            #expect(load.store(in: database) == nil)
            disk.allow(writes: writes)
            _ = (0..<3).map { _ in load.store(in: database) }
            let copy = try TemporaryFolder()
            for name in folder.names where !name.hasSuffix("-shm") {
                try copy.write(folder.bytes(of: name), to: name)
            }
            disk.allow(writes: nil)
            database.close()
            let again = try TestDatabase(folder: copy.path, writeLog: limits)
            defer { again.close() }
            try expect(again, toHold: load.stored, "killed, full after \(writes) writes")
        }
    }

    @Test(arguments: WriteLogLimits.kinds)
    func `after a sync that failed nothing is acknowledged any more`(
        limits: WriteLogLimits
    ) throws {
        let folder = try TemporaryFolder()
        let disk = FaultyDisk(folder)
        let database = try TestDatabase(folder: folder.path, writeLog: limits)
        var load = Load()
        #expect(load.store(in: database) == nil)
        disk.failSync()
        guard case .io = load.store(in: database) else {
            Issue.record("a sync that fails is no success")
            return
        }
        guard case .io = load.store(in: database) else {
            Issue.record("the next sync would say nothing of the one before")
            return
        }
        database.close()
        let again = try TestDatabase(folder: folder.path, writeLog: limits)
        defer { again.close() }
        for (key, document) in load.stored.documents {
            #expect(try again.reader.document(key, in: load.stored.shard) == document)
        }
    }

    @Test func `a fold that fails while nobody writes is told all the same`() throws {
        let folder = try TemporaryFolder()
        let disk = FaultyDisk(folder)
        var limits = WriteLogLimits.standard
        limits.idleMilliseconds = 300
        let database = try TestDatabase(folder: folder.path, writeLog: limits)
        defer { database.close() }
        let outcomes = Outcomes()
        database.inner.onFailure { outcomes.note(0, $0) }
        var load = Load()
        #expect(load.store(in: database) == nil)
        disk.failSync()
        database.bringMail()
        guard case .io = outcomes.wait(for: 1)[0].1 else {
            Issue.record("the node has to end")
            return
        }
    }

    @Test(arguments: [
        (SQLITE_IOERR | 19 << 8, StorageError.full), (SQLITE_FULL, .full),
        (SQLITE_READONLY | 2 << 8, .readOnly), (SQLITE_CORRUPT, .corrupt(doing: "x")),
        (SQLITE_IOERR | 4 << 8, .io(code: SQLITE_IOERR | 4 << 8, doing: "x")),
    ])
    func `what SQLite says is known for what it is`(code: Int32, error: StorageError) {
        #expect(StorageError(sqlite: code, doing: "x") == error)
    }
}
