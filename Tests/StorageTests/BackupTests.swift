import CSQLite
import Chat
import Glibc
import Replication
import StorePort
import Testing
import Wire

@testable import Storage

@Suite struct BackupTests {
    private func backUp(
        _ database: TestDatabase, to path: String
    ) throws -> Result<UInt64, StorageError> {
        let outcomes = BackupOutcome()
        try database.inner.backUp(to: path) { outcomes.note($0) }
        return outcomes.wait()
    }

    @Test func `a copy made under load is one of the states that were committed`() throws {
        let folder = try TemporaryFolder()
        let target = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path)
        var chats = Chats()
        var digests: Set<Hash128> = []
        for part in 0..<40 {
            let text = String(repeating: "filler", count: 400)
            let writes = (0..<20).map { chats.send(part * 20 + $0, in: $0 % 5, text: text) }
            try database.store(chats.batch(writes))
        }
        digests.insert(chats.digest)
        let outcomes = BackupOutcome()
        try database.inner.backUp(to: target.file) { outcomes.note($0) }
        var number = 10_000
        while !outcomes.isThere {
            try database.store(chats.batch([chats.send(number, in: number % 5)]))
            digests.insert(chats.digest)
            number += 1
        }
        let bytes = try outcomes.wait().get()
        #expect(target.names == ["grapevine.sqlite"], "nothing beside it, no log either")
        #expect(target.bytes(of: "grapevine.sqlite").count == Int(bytes))
        #expect(Array(target.bytes(of: "grapevine.sqlite")[18..<20]) == [1, 1])
        database.close()
        #expect(try RawFile(target.file).rows("PRAGMA integrity_check") == [["ok"]])
        let copy = try TestDatabase(folder: target.path)
        defer { copy.close() }
        let sum = try copy.reader.remainder(of: chats.shard, without: [])
        #expect(digests.contains(sum.header.digest) && sum.bad.isEmpty)
        #expect(sum.header.documents >= 800)
        try copy.store(chats.batch([chats.send(99_999, in: 1)]))
    }

    @Test func `what is there already is left as it is, and a missing folder is said`() throws {
        let folder = try TemporaryFolder()
        let target = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path)
        defer { database.close() }
        try target.write([1, 2, 3], to: "mine")
        #expect(throws: StorageError.exists) {
            try backUp(database, to: target.path + "/mine").get()
        }
        #expect(target.names == ["mine"] && target.bytes(of: "mine") == [1, 2, 3])
        #expect(throws: StorageError.noFolder) {
            try backUp(database, to: target.path + "/none/b").get()
        }
        #expect(throws: StorageError.exists) { try backUp(database, to: folder.file).get() }
        try target.write([4, 5, 6], to: "b.partial")
        _ = try backUp(database, to: target.path + "/b").get()
        #expect(target.names == ["b", "b.partial", "mine"])
        #expect(target.bytes(of: "b.partial") == [4, 5, 6])
    }

    @Test func `a full disk leaves no half of a backup`() throws {
        let folder = try TemporaryFolder()
        let target = try TemporaryFolder()
        let disk = FaultyDisk(target)
        let database = try TestDatabase(folder: folder.path)
        defer { database.close() }
        disk.allow(writes: 3)
        #expect(throws: StorageError.full) { try backUp(database, to: target.path + "/b").get() }
        #expect(target.names.isEmpty)
        disk.allow(writes: nil)
        _ = try backUp(database, to: target.path + "/b").get()
    }

    @Test(arguments: 1...3, WriteLogLimits.kinds)
    func `what was deleted before is not in the copy`(
        seed: UInt64, limits: WriteLogLimits
    ) throws {
        let folder = try TemporaryFolder()
        let target = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path, writeLog: limits)
        defer { database.close() }
        // A reader keeps the log, with everything that is left behind in its pages.
        let raw = try RawFile(folder.file)
        raw.run("BEGIN")
        _ = try raw.rows("SELECT count(*) FROM document")
        var chats = Chats()
        let text = "qqzz-a-text-that-has-to-go"
        try PurgeTests().fillAndPurge(database, &chats, seed: seed, text: text)
        #expect(!folder.filesWith(text).isEmpty)
        _ = try backUp(database, to: target.file).get()
        #expect(target.filesWith(text).isEmpty)
        raw.run("COMMIT")
    }

    @Test func `a database that is closed waits for no backup`() throws {
        let folder = try TemporaryFolder()
        let target = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path)
        let outcomes = BackupOutcome()
        try database.inner.backUp(to: target.file) { outcomes.note($0) }
        database.close()
        _ = outcomes.wait()
        #expect(target.names.allSatisfy { $0 == "grapevine.sqlite" })
        #expect(throws: StorageError.closed) { try database.inner.backUp(to: target.file) { _ in } }
    }
}

/// The result of a backup, passed from its thread to the test's.
// SAFETY: `result` is touched under the mutex alone.
final class BackupOutcome: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var result: Result<UInt64, StorageError>?

    init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        pthread_cond_destroy(condition)
        mutex.deallocate()
        condition.deallocate()
    }

    func note(_ result: Result<UInt64, StorageError>) {
        pthread_mutex_lock(mutex)
        self.result = result
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    var isThere: Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return result != nil
    }

    func wait() -> Result<UInt64, StorageError> {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result { return result }
            pthread_cond_wait(condition, mutex)
        }
    }
}
