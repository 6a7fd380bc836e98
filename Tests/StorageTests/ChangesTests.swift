import CRDT
import Chat
import Replication
import Storage
import StorePort
import TestKit
import Testing
import Wire

@Suite struct ChangesTests {
    @Test(arguments: 1...25, WriteLogLimits.kinds)
    func `changes are what a naive model says`(seed: UInt64, limits: WriteLogLimits) throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path, writeLog: limits)
        defer { database.close() }
        var generator = SeededGenerator(seed: seed)
        var chats = Chats()
        try database.store(chats.batch(chats.random(80, using: &generator)))
        for _ in 0..<20 {
            let theirs = chats.vector.random(using: &generator)
            let expected = chats.keys(lackedBy: theirs)
            var met: Set<DocumentKey> = []
            try database.reader.pull(chats, theirs, bytesMax: 1 << 20) { records in
                #expect(Set(records.map(\.key)).count == records.count, "each once in a part")
                for record in records {
                    #expect(chats.documents[record.key]?.encoded == record.bytes)
                    met.insert(record.key)
                }
            }
            #expect(met == expected)
        }
    }

    @Test(arguments: 1...10, WriteLogLimits.kinds)
    func `small parts together are the whole and keep their limit`(
        seed: UInt64, limits: WriteLogLimits
    ) throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path, writeLog: limits)
        defer { database.close() }
        var generator = SeededGenerator(seed: seed)
        var chats = Chats()
        try database.store(chats.batch(chats.random(60, using: &generator)))
        let theirs = chats.vector.random(using: &generator)
        for bytesMax in [1, 200, 700] {
            var met: Set<DocumentKey> = []
            var parts = 0
            try database.reader.pull(chats, theirs, bytesMax: bytesMax) { records in
                let bytes = records.reduce(0) { $0 + $1.bytes.count }
                #expect(bytes <= bytesMax || records.count == 1)
                parts += 1
                met.formUnion(records.map(\.key))
            }
            #expect(met == chats.keys(lackedBy: theirs))
            #expect(bytesMax > 1 || parts >= met.count)
        }
    }

    @Test(arguments: 1...25, WriteLogLimits.kinds)
    func `nothing that was counted at the start is missed when documents move up`(
        seed: UInt64, limits: WriteLogLimits
    ) throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path, writeLog: limits)
        defer { database.close() }
        var generator = SeededGenerator(seed: seed)
        var chats = Chats()
        try database.store(chats.batch(chats.random(60, using: &generator)))
        let theirs = chats.vector.random(using: &generator)
        let start = chats
        var handed: [DocumentKey: Set<Dot>] = [:]
        try database.reader.pull(start, theirs, bytesMax: 300) { records in
            for record in records {
                let document = try Document(record.key, decoding: record.bytes)
                handed[record.key, default: []].formUnion(document.changedBy.dots)
            }
            try database.store(chats.batch(chats.random(5, using: &generator)))
        }
        // For each dot that counted and was lacked, it or a later one of its replica came.
        for (dot, key) in start.dots where !theirs.contains(dot) {
            let later = handed[key, default: []].contains {
                $0.replica == dot.replica && $0.seq >= dot.seq
            }
            #expect(later, "\(dot) of \(key)")
        }
    }

    @Test func `seqs that nobody can have are no trap`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path)
        defer { database.close() }
        var chats = Chats()
        try database.store(chats.batch([chats.send(1, in: 1)]))
        let replica = Chats.replica(1)
        var all = Vector()
        all.insert(SeqSet(0...UInt64.max), of: replica)
        let none = try database.reader.changes(
            in: chats.shard, lackedBy: all, of: all, after: nil, bytesMax: 100)
        #expect(none.encodedDocuments.isEmpty && none.next == nil)
        let far = Dot(replica: replica, seq: .max)
        let behind = try database.reader.changes(
            in: chats.shard, lackedBy: Vector(), of: all, after: far, bytesMax: 100)
        #expect(behind.encodedDocuments.isEmpty && behind.next == nil)
    }
}

extension Reader {
    /// Reads all parts, one after the other.
    func pull(
        _ chats: Chats, _ theirs: Vector, bytesMax: Int,
        handing: ([(key: DocumentKey, bytes: [UInt8])]) throws -> Void
    ) throws {
        var cursor: Dot?
        repeat {
            let part = try changes(
                in: chats.shard, lackedBy: theirs, of: chats.vector, after: cursor,
                bytesMax: bytesMax)
            #expect(!part.encodedDocuments.isEmpty || part.next == nil)
            try handing(
                part.encodedDocuments.map { document in
                    var reader = ByteReader(document.key)
                    return (try DocumentKey(from: &reader), document.bytes)
                })
            cursor = part.next
        } while cursor != nil
    }
}

extension Chats {
    /// Returns sendings and pins by four replicas, with gaps of seqs that no disk holds.
    mutating func random(
        _ count: Int, using generator: inout SeededGenerator
    ) -> [Record] {
        (0..<count).map { _ in
            let replica = Int.random(in: 1...4, using: &generator)
            if Int.random(in: 0..<5, using: &generator) == 0 { skip(replica) }
            let number = Int.random(in: 0..<40, using: &generator)
            let conversation = Chats.conversation(number % 3)
            let key = DocumentKey.message(Chats.message(number), in: conversation)
            guard documents[key] != nil else {
                return send(number, in: number % 3, by: replica)
            }
            return make(
                .message(Chats.message(number), PinMessage()), in: conversation, by: replica)
        }
    }
}

extension Vector {
    /// Returns a part of the vector, with holes, and with replicas that it does not know.
    func random(using generator: inout SeededGenerator) -> Vector {
        var some = Vector()
        for entry in entries where Int.random(in: 0..<4, using: &generator) > 0 {
            let greatest = entry.seqs.greatest ?? 0
            for _ in 0..<Int.random(in: 0..<4, using: &generator) {
                let low = UInt64.random(in: 1...(greatest + 2), using: &generator)
                let high = low + UInt64.random(in: 0...8, using: &generator)
                some.insert(SeqSet(low...high), of: entry.replica)
            }
        }
        some.insert(SeqSet(1...3), of: Chats.replica(99))
        return some
    }
}
