import CRDT
import Chat
import Replication
import Storage
import StorePort
import TestKit
import Testing
import Wire

/// The index of terms, compared with the terms of the documents.
@Suite struct TermIndexTests {
    private static let users = ["ann", "ben", "cleo"].map { UserID(checked: $0) }

    /// Stores changes that a seed decides, and returns the documents that they make.
    private func fill(_ database: TestDatabase, seed: UInt64, steps: Int) throws -> Chats {
        var random = SeededGenerator(seed: seed)
        var chats = Chats()
        for number in 0..<4 {
            let record = chats.make(
                .conversation(CreateConversation(participants: [Chats.user], title: nil)),
                in: Chats.conversation(number))
            try database.store(chats.batch([record, chats.send(number, in: number)]))
        }
        for _ in 0..<steps {
            let number = Int.random(in: 0..<4, using: &random)
            let user = TermIndexTests.users[Int.random(in: 0..<3, using: &random)]
            let id = Chats.message(number)
            let actions: [ChatAction] = [
                .conversation(InviteUser(user)), .conversation(InviteUser(user)),
                .conversation(LeaveConversation()),
                .message(id, PinMessage()), .message(id, UnpinMessage()),
                .message(id, HideMessage()),
                .participant(ArchiveChat()),
            ]
            var action = actions[Int.random(in: 0..<actions.count, using: &random)]
            if Int.random(in: 0..<30, using: &random) == 0 {
                action = .message(id, RetractMessage())
            }
            let key = DocumentKey.message(id, in: Chats.conversation(number))
            // No node pins a message that is deleted for everyone.
            if chats.documents[key]?.message?.isRetracted ?? false {
                action = .message(id, HideMessage())
            }
            let record = chats.make(action, in: Chats.conversation(number), from: user)
            try database.store(chats.batch([record]))
        }
        return chats
    }

    private func check(_ database: TestDatabase, _ folder: TemporaryFolder, _ chats: Chats) throws {
        #expect(try RawFile(folder.file).indexKeys() == chats.termRows)
        for user in TermIndexTests.users {
            let keys = try database.reader.keys(
                of: .conversation, carrying: Term.participant(user), in: chats.shard)
            let expected = chats.documents.values.filter {
                $0.conversation?.participants.contains(user) ?? false
            }
            #expect(keys == expected.map(\.key).sorted())
        }
        for number in 0..<4 {
            let partition = Chats.conversation(number).text
            let pins = try database.reader.keys(
                of: .message, carrying: Term.pinned, in: chats.shard, partition: partition)
            let expected = chats.documents.values.filter {
                $0.key.partition == partition && $0.message?.isPinned ?? false
            }
            #expect(pins == expected.map(\.key).sorted())
            let participantStates = chats.documents.values.filter {
                $0.key.partition == partition && $0.participantState != nil
            }
            let read = try database.reader.participantStates(
                of: Chats.conversation(number), in: chats.shard)
            #expect(read == participantStates.sorted { $0.key < $1.key })
        }
    }

    @Test func `a file of an earlier version gets the terms that its documents lack`() throws {
        let folder = try TemporaryFolder()
        var database = try TestDatabase(folder: folder.path)
        var chats = try fill(database, seed: 1, steps: 3)
        let begin = BeginUpload(type: FieldText("image/png"))
        for number in 0..<4 {
            let record = chats.make(
                .file(FileID(checked: "f"), begin), in: Chats.conversation(number))
            try database.store(chats.batch([record]))
        }
        database.close()
        try TestDatabase(folder: folder.path).close()
        let word = Term.unsent(by: Chats.user)
        try RawFile(folder.file).run(
            "DELETE FROM term WHERE word = '\(word)'; PRAGMA user_version = 7")
        database = try TestDatabase(folder: folder.path)
        let keys = try database.reader.keys(of: .file, carrying: word, in: chats.shard)
        #expect(keys.count == 4)
        try check(database, folder, chats)
        database.close()
        // It is done once.
        try RawFile(folder.file).run("DELETE FROM term WHERE word = '\(word)'")
        database = try TestDatabase(folder: folder.path)
        #expect(try database.reader.keys(of: .file, carrying: word, in: chats.shard).isEmpty)
        database.close()
    }

    @Test func `the index equals a recomputation, whatever is stored`() throws {
        for seed in UInt64(0)..<4 {
            let folder = try TemporaryFolder()
            let database = try TestDatabase(folder: folder.path)
            let chats = try fill(database, seed: seed, steps: 120)
            #expect(chats.termRows.contains { $0.contains(" pinned ") })
            try check(database, folder, chats)
            let other = try database.reader.keys(
                of: .conversation, carrying: "ann", in: ShardID(9))
            #expect(other.isEmpty)
            database.close()
        }
    }

    @Test func `the shards of whoever is or was in a conversation are found at once`() throws {
        let folder = try TemporaryFolder()
        let (ann, ben, cleo) = (Self.users[0], Self.users[1], Self.users[2])
        var database = try TestDatabase(folder: folder.path)
        for (number, users) in [(0, [ann]), (3, [ann, ben]), (200, [ben, cleo])] {
            var chats = Chats(shard: ShardID(UInt16(number)))
            let room = Chats.conversation(number)
            var records = [
                chats.make(
                    .conversation(CreateConversation(participants: users, title: nil)), in: room)
            ]
            if users.contains(cleo) {
                records.append(chats.make(.conversation(LeaveConversation()), in: room, from: cleo))
            }
            try database.store(chats.batch(records))
        }
        // In the write log, and then in the tables.
        for _ in 0..<2 {
            func found(_ user: UserID, upTo last: UInt16) throws -> [UInt16] {
                try database.reader.shards(concerning: user, upTo: ShardID(last))
                    .map(\.number).sorted()
            }
            #expect(try found(ann, upTo: 255) == [0, 3])
            #expect(try found(ben, upTo: 255) == [3, 200])
            #expect(try found(cleo, upTo: 200) == [200])
            #expect(try found(ben, upTo: 199) == [3])
            #expect(try found(UserID(checked: "dan"), upTo: 255).isEmpty)
            database.close()
            database = try TestDatabase(folder: folder.path)
        }
        database.close()
    }

    @Test func `what is set aside or dropped is not found any more`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path)
        defer { database.close() }
        var chats = Chats()
        let room = Chats.conversation(1)
        try database.store(
            chats.batch([
                chats.make(
                    .conversation(CreateConversation(participants: [Chats.user], title: nil)),
                    in: room),
                chats.send(1, in: 1),
                chats.make(.message(Chats.message(1), PinMessage()), in: room),
                chats.send(2, in: 1),
                chats.make(.message(Chats.message(2), PinMessage()), in: room),
            ]))
        #expect(try RawFile(folder.file).indexKeys() == chats.termRows)
        let aside = ShardWrite(
            shard: chats.shard, header: Chats.header(1), records: [],
            removed: [.message(Chats.message(1), in: room)])
        try database.store(WriteBatch(shards: [aside]))
        #expect(
            try RawFile(folder.file).indexKeys() == ["1 ann room-1/", "2 pinned room-1/m2"])
        try database.store(WriteBatch(dropped: [chats.shard]))
        #expect(try RawFile(folder.file).indexKeys().isEmpty)
    }

    @Test func `a term that is no name is refused`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path)
        defer { database.close() }
        var chats = Chats()
        let good = chats.send(1, in: 1)
        let bad = Record(
            key: good.key, changedBy: good.changedBy, time: good.time, bytes: good.bytes,
            indexKeys: [String(repeating: "x", count: 65)], previous: nil, purges: false)
        #expect(throws: StorageError.self) { try database.store(chats.batch([bad])) }
    }
}
