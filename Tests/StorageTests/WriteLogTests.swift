import CRDT
import Chat
import Replication
import StorePort
import TestKit
import Testing
import Wire

@testable import Storage

/// Reads return the same from the tables, from the write log, and from both.
@Suite struct WriteLogTests {
    private static let rooms = 3

    /// Makes a random record: a sending, an edit, a pin, a mark, an invitation, or an earlier
    /// sending that arrives late.
    ///
    /// - Parameter late: the number of sendings that arrived late; each is the first of another
    ///   replica.
    private func step(
        _ chats: inout Chats, _ late: inout Int, _ generator: inout SeededGenerator
    ) -> Record {
        let replica = Int.random(in: 1...3, using: &generator)
        let room = Int.random(in: 0..<Self.rooms, using: &generator)
        // Some ids contain a time, which is near the time of sending or far from it.
        let place = room + Self.rooms * Int.random(in: 0..<12, using: &generator)
        let number = place.isMultiple(of: 2) ? place : 1_000 + place
        let (conversation, message) = (Chats.conversation(room), Chats.message(number))
        let guest = UserID(checked: "u\(Int.random(in: 0..<4, using: &generator))")
        if chats.documents[.conversation(conversation)] == nil {
            return chats.make(
                .conversation(CreateConversation(participants: [Chats.user], title: nil)),
                in: conversation,
                by: replica)
        }
        guard let sent = chats.documents[.message(message, in: conversation)] else {
            let time = UInt64.random(in: 100...200, using: &generator)
            return chats.send(number, in: room, by: replica, at: time)
        }
        // The node's rules allow no pin on a message that is deleted for everyone.
        let first = sent.message?.isRetracted == true ? 2 : 0
        switch Int.random(in: first..<6, using: &generator) {
        case 0: return chats.make(.message(message, PinMessage()), in: conversation, by: replica)
        case 1: return chats.make(.message(message, UnpinMessage()), in: conversation, by: replica)
        case 2: return chats.make(.conversation(InviteUser(guest)), in: conversation, by: replica)
        case 3:
            return chats.make(
                .participant(ArchiveChat()), in: conversation, by: replica, from: guest)
        case 4:
            return chats.make(
                .message(message, RetractMessage()), in: conversation, by: replica, purges: true)
        default:
            var early = Chats()
            late += 1
            let time = UInt64.random(in: 1...99, using: &generator)
            _ = early.send(number, in: room, by: 100 + late, at: time)
            var merged = sent
            if let other = early.documents[sent.key] { merged.merge(other) }
            return chats.put(merged)
        }
    }

    private func check(_ reader: Reader, _ chats: Chats) throws {
        for (key, document) in chats.documents {
            #expect(try reader.document(key, in: chats.shard) == document)
        }
        let sum = try reader.remainder(of: chats.shard, without: [])
        #expect(sum.header.digest == chats.digest && sum.bad.isEmpty)
        for room in 0..<Self.rooms { try checkConversation(room, reader, chats) }
        let pinned = try reader.keys(of: .message, carrying: Term.pinned, in: chats.shard)
        let expected = chats.documents.values.filter { $0.indexKeys == [Term.pinned] }.map(\.key)
        #expect(Set(pinned).isSuperset(of: expected) && pinned == pinned.sorted())
    }

    private func checkConversation(_ room: Int, _ reader: Reader, _ chats: Chats) throws {
        let conversation = Chats.conversation(room)
        let all = chats.positions(in: conversation)
        let places = all.flatMap { [HistoryPage.Place.before($0), .after($0)] } + [.newest]
        for place in places {
            let page = HistoryPage(place, limit: 5)
            let admitted = all.filter(page.admits)
            let expected = page.isDescending ? admitted.reversed() : admitted
            #expect(
                try reader.positions(room, in: chats.shard, page) == Array(expected.prefix(5)))
        }
        let participantStates = try reader.participantStates(of: conversation, in: chats.shard)
        let expected = chats.documents.values.filter {
            $0.key.kind == .participantState && $0.key.partition == conversation.text
        }
        #expect(participantStates == expected.sorted { $0.key < $1.key })
    }

    private func checkChanges(
        _ reader: Reader, _ chats: Chats, _ generator: inout SeededGenerator
    ) throws {
        let theirs = chats.vector.random(using: &generator)
        for bytesMax in [1, 300] {
            var met: Set<DocumentKey> = []
            try reader.pull(chats, theirs, bytesMax: bytesMax) { records in
                for record in records {
                    #expect(chats.documents[record.key]?.encoded == record.bytes)
                    met.insert(record.key)
                }
            }
            #expect(met == chats.keys(lackedBy: theirs))
        }
    }

    @Test(arguments: 1...15)
    func `every read is what a naive model says`(seed: UInt64) throws {
        let folder = try TemporaryFolder()
        var database = try TestDatabase(folder: folder.path, writeLog: .small)
        defer { database.close() }
        var generator = SeededGenerator(seed: seed)
        var chats = Chats()
        var late = 0
        var base: [UInt8]?
        for turn in 0..<60 {
            let count = Int.random(in: 1...4, using: &generator)
            let records = (0..<count).map { _ in step(&chats, &late, &generator) }
            if Int.random(in: 0..<8, using: &generator) == 0 { base = [UInt8(turn)] }
            let isBaseNew = base == [UInt8(turn)]
            try database.store(
                chats.batch(
                    records, header: Chats.header(UInt64(turn)), base: isBaseNew ? base : nil))
            // A complete check takes longer than the writes.
            if turn % 3 == 2 { try check(database.reader, chats) }
            try checkChanges(database.reader, chats, &generator)
            if Int.random(in: 0..<20, using: &generator) == 0 {
                database.close()
                database = try TestDatabase(folder: folder.path, writeLog: .small)
                try check(database.reader, chats)
                #expect(
                    try database.reader.headers().map(\.1) == [Chats.header(UInt64(turn)).encoded])
                #expect(try database.reader.bases()[chats.shard] == base)
            }
        }
    }

    /// Returns a copy of the files as a power cut at this moment leaves them.
    private func crash(_ folder: TemporaryFolder) throws -> TemporaryFolder {
        let copy = try TemporaryFolder()
        for name in folder.names where !name.hasSuffix("-shm") {
            try copy.write(folder.bytes(of: name), to: name)
        }
        return copy
    }

    @Test(arguments: 1...10)
    func `whatever was stored is there after a crash, and every index is right`(
        seed: UInt64
    ) throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path, writeLog: .small)
        defer { database.close() }
        var generator = SeededGenerator(seed: seed &+ 1_000)
        var chats = Chats()
        var late = 0
        var base: [UInt8]?
        for turn in 0..<40 {
            let count = Int.random(in: 1...6, using: &generator)
            let records = (0..<count).map { _ in step(&chats, &late, &generator) }
            let isBaseNew = turn % 5 == 2
            if isBaseNew { base = [UInt8(turn)] }
            var batch = chats.batch(
                records, header: Chats.header(UInt64(turn)), base: isBaseNew ? base : nil)
            batch.settings = [Setting(name: "turn", value: [UInt8(turn)])]
            try database.store(batch)
            guard Int.random(in: 0..<4, using: &generator) == 0 else { continue }
            let copy = try crash(folder)
            let again = try TestDatabase(folder: copy.path, writeLog: .small)
            defer { again.close() }
            try check(again.reader, chats)
            try checkChanges(again.reader, chats, &generator)
            #expect(try again.reader.headers().map(\.1) == [Chats.header(UInt64(turn)).encoded])
            #expect(try again.reader.bases()[chats.shard] == base)
            #expect(try again.reader.settings() == ["turn": [UInt8(turn)]])
            let raw = try RawFile(copy.file)
            #expect(try raw.rows("SELECT count(*) FROM journal") == [["0"]])
            #expect(try raw.dots() == chats.dotRows)
            #expect(try raw.indexKeys() == chats.termRows)
            #expect(try raw.rows("PRAGMA integrity_check") == [["ok"]])
        }
    }

    @Test func `a dropped shard replica takes its rows of the write log along`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path, writeLog: .standard)
        defer { database.close() }
        var one = Chats(shard: ShardID(1))
        var two = Chats(shard: ShardID(2))
        try database.store(one.batch([one.send(1, in: 1), one.send(2, in: 2)]))
        try database.store(two.batch([two.send(3, in: 3)]))
        try database.store(WriteBatch(dropped: [one.shard]))
        #expect(
            try database.reader.remainder(of: one.shard, without: []).header
                == ReplicaHeader(remaining: DocumentSum()))
        #expect(try database.reader.remainder(of: two.shard, without: []).header.documents == 1)
        try database.store(one.batch([one.send(4, in: 1)]))
        #expect(try database.reader.remainder(of: one.shard, without: []).header.documents == 1)
    }

    @Test func `the reads of a turn see one state until it ends or more is told`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path, writeLog: .small)
        defer { database.close() }
        var chats = Chats()
        func isFound(_ number: Int) throws -> Bool {
            let key = DocumentKey.message(Chats.message(number), in: Chats.conversation(0))
            return try database.reader.documentInTurn(key, in: chats.shard) != nil
        }
        for number in 0..<40 {
            try database.store(chats.batch([chats.send(number, in: 0)]))
            // Whatever is stored or flushed meanwhile, as long as nobody ends the turn.
            for earlier in 0...number { #expect(try isFound(earlier), "\(earlier) of \(number)") }
        }
        try RawFile(folder.file).run("DELETE FROM document; DELETE FROM place")
        #expect(try isFound(0))
        database.reader.endTurn()
        #expect(try !isFound(0))
    }

    @Test func `what is folded while a turn lasts is found in the tables`() throws {
        let folder = try TemporaryFolder()
        var limits = WriteLogLimits.small
        limits.idleMilliseconds = 50
        let database = try TestDatabase(folder: folder.path, writeLog: limits)
        defer { database.close() }
        var chats = Chats()
        try database.store(chats.batch([chats.send(1, in: 0)]))
        let (there, missing) = (Chats.message(1), Chats.message(2))
        func isFound(_ message: MessageID) throws -> Bool {
            let key = DocumentKey.message(message, in: Chats.conversation(0))
            return try database.reader.documentInTurn(key, in: chats.shard) != nil
        }
        for _ in 1...2 { #expect(try !isFound(missing)) }
        // The write log is flushed without a request.
        database.bringMail()
        #expect(try isFound(there))
    }

    @Test func `rows that are in the tables are freed in the write log one by one`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path, writeLog: .small)
        defer { database.close() }
        var chats = Chats()
        var counts: [Int] = []
        for number in 0..<60 {
            try database.store(chats.batch([chats.send(number, in: 0)]))
            let rows = try RawFile(folder.file).rows("SELECT count(*) FROM journal")
            counts.append(try #require(Int(rows[0][0])))
        }
        // A memtable has seven records, one per row, and is flushed with the next three rows. Its
        // rows then go as others come: they are never gone at once.
        #expect(zip(counts, counts.dropFirst()).allSatisfy { $0 - 1 <= $1 })
        #expect((7...21).contains(counts.suffix(20).max() ?? 0))
        try check(database.reader, chats)
    }

    @Test func `what was dropped does not come back out of a row that was in the tables`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path, writeLog: .small)
        defer { database.close() }
        var one = Chats(shard: ShardID(1))
        // By the tenth, the first seven are in the tables.
        for number in 0..<10 { try database.store(one.batch([one.send(number, in: 1)])) }
        try database.store(WriteBatch(dropped: [one.shard]))
        let copy = try crash(folder)
        let again = try TestDatabase(folder: copy.path, writeLog: .small)
        defer { again.close() }
        #expect(
            try again.reader.remainder(of: one.shard, without: []).header
                == ReplicaHeader(remaining: DocumentSum()))
    }

    @Test func `a row of the write log with a flipped byte has every header doubted`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path, writeLog: .standard)
        defer { database.close() }
        var chats = Chats()
        var first = chats.batch([])
        first.settings = [Setting(name: "cluster", value: [1])]
        try database.store(first)
        for number in 0..<5 {
            try database.store(chats.batch([chats.send(number, in: 1, text: "text-\(number).")]))
        }
        let copy = try crash(folder)
        var log = copy.bytes(of: "grapevine.sqlite-wal")
        #expect(!log.isEmpty)
        // SQLite's log has checksums of its own: damaged frames there count as never committed.
        let raw = try RawFile(copy.file)
        raw.run("PRAGMA wal_checkpoint(TRUNCATE)")
        log = copy.bytes(of: "grapevine.sqlite")
        log[try #require(offset(of: Array("text-2".utf8), in: log))] ^= 1
        try copy.write(log, to: "grapevine.sqlite")
        let again = try TestDatabase(folder: copy.path, writeLog: .standard)
        defer { again.close() }
        #expect(try again.reader.headers().map(\.1) == [nil])
        #expect(try again.reader.remainder(of: chats.shard, without: []).header.documents == 4)
    }

    @Test func `a write log that lost whose file it is opens nothing`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path, writeLog: .standard)
        defer { database.close() }
        var chats = Chats()
        try database.store(chats.batch([chats.send(1, in: 1, text: "text-1.")]))
        let copy = try crash(folder)
        try RawFile(copy.file).run("UPDATE journal SET body = x'00'")
        #expect(throws: StorageError.corrupt(doing: "replaying the write log")) {
            try TestDatabase(folder: copy.path)
        }
    }

    @Test func `what is purged under a load that never pauses is gone all the same`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path, writeLog: .standard)
        defer { database.close() }
        var chats = Chats()
        let text = "qqzz-a-text-that-has-to-go"
        try database.store(chats.batch([chats.send(0, in: 0, text: text)]))
        // As fast as possible, with a deletion in each commit, until the first text is nowhere.
        var number = 1
        repeat {
            try database.store(
                chats.batch([chats.send(number, in: 0), chats.retract(number - 1, room: 0)]))
            number += 1
        } while number < 100_000 && !folder.filesWith(text).isEmpty
        #expect(number < 100_000)
        try check(database.reader, chats)
    }

    @Test func `the bytes are those of earlier builds`() throws {
        var chats = Chats()
        let records = [
            chats.make(
                .conversation(CreateConversation(participants: [Chats.user], title: "t")),
                in: Chats.conversation(0)),
            chats.send(1, in: 0, at: 100), chats.send(1_001, in: 0, at: 101),
            chats.make(.message(Chats.message(1), PinMessage()), in: Chats.conversation(0)),
            chats.make(
                .message(Chats.message(1), RetractMessage()), in: Chats.conversation(0),
                purges: true),
        ]
        let rows = records.map { record in
            var row = WriteLogRow([chats.batch([record])])
            row.headers[chats.shard] = HeaderRows(header: [1, 2], base: nil)
            return row.encoded
        }
        #expect(try GoldenBytes("write-log-row", of: rows).difference() == nil)
    }
}
