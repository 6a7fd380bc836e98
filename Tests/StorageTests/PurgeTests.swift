import CRDT
import Chat
import Glibc
import Replication
import Storage
import StorePort
import TestKit
import Testing
import Wire

@Suite struct PurgeTests {
    @Test(arguments: WriteLogLimits.kinds)
    func `a purged text is in no file once the writer is idle`(limits: WriteLogLimits) async throws
    {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path, writeLog: limits)
        defer { database.close() }
        var chats = Chats()
        let text = "qqzz-a-text-that-has-to-go"
        let writes = (0..<50).map { chats.send($0, in: $0 % 3, text: "\(text)-\($0)") }
        try database.store(chats.batch(writes))
        #expect(!folder.filesWith(text).isEmpty)
        let gone = (0..<50).map { number in
            chats.make(
                .message(Chats.message(number), RetractMessage()),
                in: Chats.conversation(number % 3),
                by: 2,
                purges: true)
        }
        try database.store(chats.batch(gone))
        #expect(try await becomesTrue { folder.filesWith(text).isEmpty })
        #expect(
            try database.reader.remainder(of: chats.shard, without: []).header.digest
                == chats.digest)
    }

    /// Stores 2,000 messages of many lengths in random order, and retracts a third of them in
    /// between, at the end all.
    func fillAndPurge(
        _ database: TestDatabase, _ chats: inout Chats, seed: UInt64, text: String
    ) throws {
        var generator = SeededGenerator(seed: seed)
        let numbers = (0..<2_000).shuffled(using: &generator)
        var sent: [Int] = []
        for part in stride(from: 0, to: numbers.count, by: 100) {
            var writes: [Record] = []
            for number in numbers[part..<(part + 100)] {
                let length = Int.random(in: 0...900, using: &generator)
                let filler = String(repeating: "f", count: length)
                let time = UInt64.random(in: 1...100_000, using: &generator)
                writes.append(
                    chats.send(number, in: number % 20, at: time, text: filler + text + filler))
                sent.append(number)
                guard Int.random(in: 0..<3, using: &generator) == 0 else { continue }
                let place = Int.random(in: 0..<sent.count, using: &generator)
                writes.append(chats.retract(sent.remove(at: place)))
            }
            try database.store(chats.batch(writes))
        }
        try database.store(chats.batch(sent.map { chats.retract($0) }))
    }

    @Test(arguments: 1...4, WriteLogLimits.kinds)
    func `texts purged from pages that split and shrank are in no file`(
        seed: UInt64, limits: WriteLogLimits
    ) throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path, writeLog: limits)
        var chats = Chats()
        let text = "qqzz-a-text-that-has-to-go"
        try fillAndPurge(database, &chats, seed: seed, text: text)
        database.close()
        #expect(folder.filesWith(text) == [])
        #expect(try RawFile(folder.file).rows("PRAGMA integrity_check") == [["ok"]])
        let again = try TestDatabase(folder: folder.path)
        defer { again.close() }
        #expect(
            try again.reader.remainder(of: chats.shard, without: []).header.digest == chats.digest)
    }

    @Test(arguments: WriteLogLimits.kinds)
    func `writing on does not bring purged texts back into the log`(
        limits: WriteLogLimits
    ) async throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path, writeLog: limits)
        defer { database.close() }
        var chats = Chats()
        let text = "qqzz-a-text-that-has-to-go"
        try fillAndPurge(database, &chats, seed: 1, text: text)
        #expect(try await becomesTrue { folder.filesWith(text).isEmpty })
        let more = (0..<400).map { chats.send(10_000 + $0, in: $0 % 20, at: UInt64($0 * 250)) }
        try database.store(chats.batch(more))
        #expect(!folder.bytes(of: "grapevine.sqlite-wal").isEmpty)
        #expect(folder.filesWith(text) == [])
    }

    @Test func `a log that a reader is on is emptied when it has gone`() async throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path)
        defer { database.close() }
        var chats = Chats()
        let text = "qqzz-a-text-that-has-to-go"
        try database.store(chats.batch([chats.send(1, in: 1, text: text)]))
        do {
            let raw = try RawFile(folder.file)
            raw.run("BEGIN")
            _ = try raw.rows("SELECT * FROM document")
            try database.store(chats.batch([chats.retract(1, room: 1)]))
            usleep(150_000)
            #expect(!folder.filesWith(text).isEmpty, "the reader still needs it")
        }
        #expect(try await becomesTrue { folder.filesWith(text).isEmpty })
    }

    @Test(arguments: WriteLogLimits.kinds)
    func `a log left by a killed process is emptied at the next start`(
        limits: WriteLogLimits
    ) throws {
        let folder = try TemporaryFolder()
        let copy = try TemporaryFolder()
        var chats = Chats()
        let text = "qqzz-a-text-that-has-to-go"
        let first = try TestDatabase(folder: folder.path, writeLog: limits)
        try first.store(chats.batch([chats.send(1, in: 1, text: text)]))
        try first.store(chats.batch([chats.retract(1, room: 1)]))
        for name in folder.names where !name.hasSuffix("-shm") {
            try copy.write(folder.bytes(of: name), to: name)
        }
        first.close()
        try #require(!copy.filesWith(text).isEmpty)
        let second = try TestDatabase(folder: copy.path)
        defer { second.close() }
        #expect(copy.filesWith(text).isEmpty)
        #expect(
            try second.reader.remainder(of: chats.shard, without: []).header.digest == chats.digest)
    }

    /// Whether the condition becomes true within ten seconds.
    private func becomesTrue(_ condition: () throws -> Bool) async throws -> Bool {
        for _ in 0..<1_000 {
            if try condition() { return true }
            try await Task.sleep(for: .milliseconds(10))
        }
        return false
    }
}

extension Chats {
    mutating func retract(_ number: Int, room: Int? = nil) -> Record {
        make(
            .message(Chats.message(number), RetractMessage()),
            in: Chats.conversation(room ?? number % 20),
            by: 2,
            purges: true)
    }
}
