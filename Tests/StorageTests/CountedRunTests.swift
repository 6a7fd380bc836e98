import CRDT
import Chat
import Replication
import Storage
import StorePort
import Testing
import Wire

/// The index of counted runs, in the write log and in the tables.
@Suite struct CountedRunTests {
    private let conversation = Chats.conversation(0)

    private func run(_ start: UInt64, _ end: UInt64, _ messages: Int) -> CountedRun {
        var chats = Chats()
        var counts = MessageCounts()
        for number in 0..<messages {
            let key = chats.send(number, in: 0).key
            if let document = chats.documents[key] { counts.add(document) }
        }
        return CountedRun(
            from: HybridTimestamp(bits: start), to: HybridTimestamp(bits: end), counts)
    }

    private func store(_ runs: [CountedRun], in database: TestDatabase) throws {
        let records = runs.map { Record($0, of: conversation, level: 1) }
        try database.store(
            WriteBatch(shards: [
                ShardWrite(shard: ShardID(0), header: Chats.header(1), records: records)
            ]))
    }

    private func read(
        _ database: TestDatabase, from start: UInt64, to end: UInt64
    ) throws -> [CountedRun] {
        try database.reader.countedRuns(
            of: conversation, in: ShardID(0), level: 1, from: HybridTimestamp(bits: start),
            to: HybridTimestamp(bits: end)
        ).filter { $0.start.bits < end && $0.end.bits > start }
    }

    @Test func `runs are read as they were last written, from the write log or from the tables`()
        throws
    {
        for limits in WriteLogLimits.kinds {
            let folder = try TemporaryFolder()
            let database = try TestDatabase(folder: folder.path, writeLog: limits)
            var expected: [CountedRun] = []
            for number in UInt64(0)..<40 {
                let run = self.run(number * 10, number * 10 + 10, 1 + 100 * Int(number % 3))
                expected.append(run)
                try store([run], in: database)
                let changed = self.run(0, 10, Int(number % 4))
                expected[0] = changed
                try store([changed], in: database)
                #expect(try read(database, from: 0, to: number * 10 + 10) == expected)
            }
            #expect(try read(database, from: 205, to: 206) == [expected[20]])
            #expect(try read(database, from: 195, to: 215) == Array(expected[19...21]))
            let last = try database.reader.countedRuns(
                of: conversation, in: ShardID(0), level: 1,
                from: HybridTimestamp(bits: UInt64(Int64.max)),
                to: HybridTimestamp(bits: UInt64(Int64.max)))
            #expect(last.last == expected.last)
            // Runs do not count as documents, and are not checked as such.
            let sum = try database.reader.remainder(of: ShardID(0), without: [])
            #expect(sum.header.documents == 0 && sum.bad.isEmpty)
            database.close()
        }
    }

    @Test func `with a message that is set aside go the runs of its conversation`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path)
        try store([run(0, 10, 2), run(10, 20, 1)], in: database)
        try database.store(
            WriteBatch(shards: [
                ShardWrite(
                    shard: ShardID(0), header: Chats.header(1), records: [],
                    removed: [.message(Chats.message(0), in: conversation)])
            ]))
        #expect(try read(database, from: 0, to: 20).isEmpty)
        database.close()
    }
}
