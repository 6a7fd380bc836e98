import CRDT
import Chat
import Storage
import TestKit
import Testing
import Wire

@Suite struct HistoryTests {
    @Test(arguments: 1...4, WriteLogLimits.kinds)
    func `pages are runs of the conversation in order`(seed: UInt64, limits: WriteLogLimits) throws
    {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path, writeLog: limits)
        defer { database.close() }
        var generator = SeededGenerator(seed: seed)
        var chats = Chats()
        var writes = (0..<5).map { room in
            chats.make(
                .conversation(CreateConversation(participants: [Chats.user], title: nil)),
                in: Chats.conversation(room))
        }
        // Few times and many messages, so that ids decide often.
        for number in (0..<200).shuffled(using: &generator) {
            let time = UInt64.random(in: 1...20, using: &generator)
            writes.append(chats.send(number, in: number % 5, at: time))
        }
        try database.store(chats.batch(writes))

        for room in 0..<6 {
            let all = chats.positions(in: Chats.conversation(room))
            var places = all.flatMap { [HistoryPage.Place.before($0), .after($0)] } + [.newest]
            for time: UInt64 in [0, 10, 21] {
                let id = Chats.message(Int(time))
                let position = HistoryPosition(
                    time: HybridTimestamp(milliseconds: time), id: id)
                places += [.before(position), .after(position)]
            }
            for place in places {
                let page = HistoryPage(place, limit: 7)
                let admitted = all.filter(page.admits)
                let expected = page.isDescending ? admitted.reversed() : admitted
                let read = try database.reader.positions(room, in: chats.shard, page)
                #expect(read == Array(expected.prefix(7)))
            }
        }
    }

    @Test func `a place beyond all times is at the end`() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder: folder.path)
        defer { database.close() }
        var chats = Chats()
        try database.store(chats.batch([chats.send(1, in: 1)]))
        let end = HistoryPosition(time: HybridTimestamp(bits: .max), id: Chats.message(0))
        let before = HistoryPage(.before(end), limit: 5)
        let after = HistoryPage(.after(end), limit: 5)
        #expect(try database.reader.positions(1, in: chats.shard, before).count == 1)
        #expect(try database.reader.positions(1, in: chats.shard, after).isEmpty)
    }
}

extension Chats {
    func positions(in conversation: ConversationID) -> [HistoryPosition] {
        documents.values
            .filter { $0.key.partition == conversation.text && $0.message != nil }
            .map {
                HistoryPosition(time: $0.historyTime, id: MessageID(checked: $0.key.id))
            }
            .sorted()
    }
}

extension Reader {
    func positions(
        _ room: Int, in shard: ShardID, _ page: HistoryPage
    ) throws -> [HistoryPosition] {
        var read: [HistoryPosition] = []
        try history(Chats.conversation(room), in: shard, page: page) { document in
            read.append(
                HistoryPosition(
                    time: document.historyTime, id: MessageID(checked: document.key.id)))
            return read.count < page.limit
        }
        return read
    }
}
