import Chat
import Glibc
import Testing
import Wire

@testable import Storage

/// The log that a process leaves behind, and what may be missing in it.
@Suite struct LogCheckTests {
    /// Returns a folder as `kill -9` leaves it, after so many commits.
    private func crashed(
        commits: Int = 30, limits: WriteLogLimits = .standard
    ) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path, writeLog: limits)
        defer { database.close() }
        var chats = Chats()
        for number in 0..<commits {
            try database.store(chats.batch([chats.send(number, in: 1, text: "text-\(number).")]))
        }
        // The mark is written after outcomes are reported, and before the next task is done.
        let done = Outcomes()
        database.inner.writer.makeReserve { done.note(0, $0) }
        _ = done.wait(for: 1)
        let copy = try TemporaryFolder()
        for name in folder.names where !name.hasSuffix("-shm") {
            try copy.write(folder.bytes(of: name), to: name)
        }
        return copy
    }

    private func damage(in folder: TemporaryFolder) throws -> String? {
        try LogCheck(folder.file, in: folder.path).damage()
    }

    private let log = "grapevine.sqlite-wal"

    @Test(arguments: WriteLogLimits.kinds) func `a log as a kill leaves it is whole`(
        limits: WriteLogLimits
    ) throws {
        let folder = try crashed(limits: limits)
        #expect(try damage(in: folder) == nil)
        let again = try TestDatabase(folder: folder.path)
        #expect(again.inner.loss == nil)
        again.close()
        #expect(folder.names == ["grapevine.sqlite", "lock"])
    }

    @Test func `a flipped bit anywhere in what was synced is damage, with the mark`() throws {
        let folder = try crashed()
        let whole = folder.bytes(of: log)
        let mark = try #require(LogMark(folder.bytes(of: LogMark.fileName)))
        let end = LogFrame.offset(of: Int(mark.frames))
        for place in stride(from: 0, to: end, by: 997) {
            var bytes = whole
            bytes[place] ^= 4
            try folder.write(bytes, to: log)
            #expect(try damage(in: folder) != nil, "byte \(place)")
        }
        var bytes = whole
        bytes[end + 100] ^= 4
        try folder.write(bytes, to: log)
        #expect(try damage(in: folder) == nil, "nothing was written there")
    }

    @Test func `without the mark, what ends two transactions behind it tells of damage`() throws {
        let folder = try crashed()
        let whole = folder.bytes(of: log)
        let mark = try #require(LogMark(folder.bytes(of: LogMark.fileName)))
        unlink(folder.path + "/" + LogMark.fileName)
        var (early, late) = (whole, whole)
        early[LogFrame.offset(of: 1) + 50] ^= 1
        try folder.write(early, to: log)
        #expect(try damage(in: folder) != nil)
        // This may be what a power loss left of a commit that was not reported to anybody.
        late[LogFrame.offset(of: Int(mark.frames) - 1) + 50] ^= 1
        try folder.write(late, to: log)
        #expect(try damage(in: folder) == nil)
    }

    @Test func `a log that is shorter, empty or gone is damage`() throws {
        let folder = try crashed()
        let whole = folder.bytes(of: log)
        try folder.write(Array(whole[..<LogFrame.offset(of: 3)]), to: log)
        #expect(try damage(in: folder) != nil)
        try folder.write([], to: log)
        #expect(try damage(in: folder) == "the write-ahead log is empty")
        unlink(folder.path + "/" + log)
        #expect(try damage(in: folder) == "the write-ahead log is missing")
    }

    @Test func `a log that another program folded into the file is not missing`() throws {
        let folder = try crashed()
        try RawFile(folder.file).run("PRAGMA wal_checkpoint(TRUNCATE)")
        #expect(try damage(in: folder) == nil)
    }

    @Test func `damage is known until it is forgotten, though the log is folded by then`() throws {
        let folder = try crashed()
        var bytes = folder.bytes(of: log)
        bytes[LogFrame.offset(of: 2) + 50] ^= 1
        try folder.write(bytes, to: log)
        for _ in 0..<2 {
            let database = try TestDatabase(folder: folder.path)
            let loss = try #require(database.inner.loss)
            #expect(loss.hasPrefix("the write-ahead log is damaged at frame"))
            database.close()
        }
        let database = try TestDatabase(folder: folder.path)
        database.inner.forgetLoss()
        database.close()
        let again = try TestDatabase(folder: folder.path)
        #expect(again.inner.loss == nil)
        again.close()
    }
}
