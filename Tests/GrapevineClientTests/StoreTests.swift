import Foundation
import TestKit
import Testing

@testable import GrapevineClient
@testable import struct GrapevineClient.Operation

@Suite struct StoreTests {
    private let folder = FileManager.default.temporaryDirectory
        .appending(path: "store-\(UUID().uuidString)")

    private func withFile(_ body: (String) throws -> Void) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        try body(folder.appending(path: "alice.sqlite").path)
    }

    private func time(_ milliseconds: Int64) -> ExactTime { ExactTime(milliseconds: milliseconds) }

    private func message(_ id: String, _ sent: Int64?) -> MessageRecord {
        var record = MessageRecord(id: id, sent: sent.map(time))
        record.content = MessageRecord.Content(sender: "alice")
        record.text = Register(id, at: .zero)
        return record
    }

    private func pin(_ number: UInt64) -> Operation {
        Operation(
            number: number, action: .pin(conversation: "c", message: "m"), created: 1,
            stamp: Operation.Stamp(device: "phone", number: number, time: time(5)))
    }

    @Test func `what is stored is there after the next start`() throws {
        try withFile { path in
            let signIn = SignIn(
                user: "alice", email: "a@x", accessToken: "A", refreshToken: "R", seconds: 600,
                now: 0)
            let mark = Marks.Mark(conversation: "c", kind: .read, message: "a", sent: time(1))
            var conversation = ConversationRecord(id: "c")
            conversation.completeFrom = .zero
            try Store(path: path).commit([
                .message(message("b", 2), conversation: "c"),
                .message(message("a", 1), conversation: "c"),
                .message(message("part", nil), conversation: "c"),
                .message(message("z", 9), conversation: "d"),
                .conversation(conversation), .mark(MarkRecord(user: "bob"), conversation: "c"),
                .item(ItemRecord(id: "i")), .profile(ProfileRecord(user: "bob")),
                .operation(pin(12)), .operation(pin(7)), .deleteOperation(12), .token("T"),
                .signIn(signIn), .ownMark(mark, conversation: "c", kind: .read),
                .device("phone", lastNumber: 12, lastStamp: 5),
            ])
            let store = try Store(path: path)
            #expect(try store.messages(in: "c").map(\.id) == ["a", "b", "part"])
            #expect(try store.messages(in: "c", from: time(2)).map(\.id) == ["b", "part"])
            #expect(try store.message("a", in: "c") == message("a", 1))
            #expect(try store.conversations() == [conversation])
            #expect(try store.conversation("c") == conversation)
            #expect(try store.marks(in: "c") == [MarkRecord(user: "bob")])
            #expect(try store.items() == [ItemRecord(id: "i")])
            #expect(try store.profiles() == [ProfileRecord(user: "bob")])
            #expect(try store.operations() == [pin(7)])
            #expect(try store.token() == "T" && store.signIn() == signIn)
            #expect(try store.ownMarks() == [mark])
            let device = Store.Device(name: "phone", lastNumber: 12, lastStamp: 5)
            #expect(try store.device() == device)
            try store.commit([
                .token(nil), .signIn(nil), .ownMark(nil, conversation: "c", kind: .read),
                .deleteMessage(id: "part", conversation: "c"),
                .deleteMessages(conversation: "c", through: time(1)),
            ])
            #expect(try store.messages(in: "c").map(\.id) == ["b"])
            #expect(try store.messages(in: "d").map(\.id) == ["z"])
            #expect(try store.token() == nil && store.signIn() == nil && store.ownMarks().isEmpty)
            try store.shorten()
        }
    }

    @Test func `changes that fail together leave nothing of any`() throws {
        let database = try SQLiteDatabase(path: ":memory:")
        try database.run("CREATE TABLE t (a INTEGER PRIMARY KEY)")
        #expect(throws: StoreError.self) {
            try database.transaction { () throws(StoreError) in
                try database.run("INSERT INTO t VALUES (?)", .integer(1))
                try database.run("INSERT INTO t VALUES (?)", .integer(1))
            }
        }
        #expect(try database.rows("SELECT a FROM t").isEmpty)
        try database.transaction { () throws(StoreError) in
            try database.run("INSERT INTO t VALUES (?)", .integer(2))
        }
        #expect(try database.rows("SELECT a FROM t") == [[.integer(2)]])
    }

    @Test func `a file that is no store is set aside`() throws {
        try withFile { path in
            try Data(repeating: 7, count: 10_000).write(to: URL(filePath: path))
            let error = try #require(throws: StoreError.self) { _ = try Store(path: path) }
            #expect(error.isDamage)
            try Store.recover(path: path).commit([.token("T")])
            #expect(try Store(path: path).token() == "T")
            #expect(FileManager.default.fileExists(atPath: path + ".damaged"))
        }
    }

    @Test func `operations of a damaged file are taken over`() throws {
        try withFile { path in
            do {
                let store = try Store(path: path)
                try store.commit((1...50).map { StoreChange.operation(pin($0)) })
                let messages = (0..<500).map { (number: Int64) in
                    StoreChange.message(message("m\(number)", number), conversation: "c")
                }
                try store.commit(messages)
                try store.shorten()
            }
            // The pages after the first ones hold the messages.
            let file = try FileHandle(forUpdating: URL(filePath: path))
            let size = try file.seekToEnd()
            for offset in stride(from: size / 2, to: size - 4_096, by: 4_096) {
                try file.seek(toOffset: offset)
                try file.write(contentsOf: Data(repeating: 0xFF, count: 4_096))
            }
            try file.close()
            let error = try #require(throws: StoreError.self) {
                _ = try Store(path: path).messages(in: "c")
            }
            #expect(error.isDamage)
            let store = try Store.recover(path: path)
            #expect(try store.operations() == (1...50).map { pin($0) })
            #expect(try store.messages(in: "c").isEmpty)
        }
    }

    @Test(arguments: 0..<40) func `turns of any size and order store the same`(_ seed: UInt64)
        throws
    {
        var random = SplitMix64(seed: seed)
        let updates = (0..<60).map { _ in update(&random) }
        let whole = try Store(path: ":memory:")
        try merge([updates], into: whole)
        let parts = try Store(path: ":memory:")
        var turns: [[Update]] = []
        for update in (updates + updates.prefix(20)).shuffled(using: &random) {
            if turns.isEmpty || Bool.random(using: &random) { turns.append([]) }
            turns[turns.count - 1].append(update)
        }
        try merge(turns, into: parts)
        #expect(try parts.messages(in: "c") == whole.messages(in: "c"), "seed \(seed)")
        #expect(try parts.marks(in: "c") == whole.marks(in: "c"), "seed \(seed)")
        #expect(try parts.items() == whole.items(), "seed \(seed)")
        #expect(try parts.profiles() == whole.profiles(), "seed \(seed)")
        #expect(
            try parts.conversation("c")?.archived == whole.conversation("c")?.archived,
            "seed \(seed)")
    }

    private func merge(_ turns: [[Update]], into store: Store) throws {
        for updates in turns {
            var turn = Turn(store: store, user: "alice")
            for update in updates { try turn.merge(update) }
            try turn.commit()
        }
    }

    private func update(_ random: inout SplitMix64) -> Update {
        let number = Int64.random(in: 1...5, using: &random)
        var part = message("m\(number)", number)
        let at = time(Int64.random(in: 1...9, using: &random))
        switch Int.random(in: 0..<8, using: &random) {
        case 0: part.text = Register("text \(at.milliseconds)", at: at)
        case 1: part.pin = Register(Maybe("bob"), at: at)
        case 2: part.hidden = Register(.yes, at: at)
        case 3: part.delete(at: at)
        case 4:
            let position = MarkRecord.Position(message: part.id, sent: time(number), at: at)
            return .mark(MarkRecord(user: "bob", read: position), conversation: "c")
        case 5:
            return .archived(
                Register(Bool.random(using: &random) ? .yes : .no, at: at), conversation: "c")
        case 6:
            var item = ItemRecord(id: "i\(number)")
            item.title = Register("title \(at.milliseconds)", at: at)
            return .item(item)
        default:
            var profile = ProfileRecord(user: "u\(number)")
            profile.name = Register(Maybe("name \(at.milliseconds)"), at: at)
            return .profile(profile)
        }
        return .message(part, conversation: "c")
    }

    @Test func `a hiding removes what was sent before, also in the same turn`() throws {
        let store = try Store(path: ":memory:")
        try store.commit([.message(message("a", 1), conversation: "c")])
        var turn = Turn(store: store, user: "alice")
        try turn.merge(.message(message("b", 2), conversation: "c"))
        try turn.merge(.cleared(time(5), through: time(5), hasLeft: false, conversation: "c"))
        var pinned = MessageRecord(id: "a", sent: time(1))
        pinned.pin = Register(Maybe("bob"), at: time(6))
        try turn.merge(.message(pinned, conversation: "c"))
        try turn.merge(.message(message("z", 7), conversation: "c"))
        #expect(turn.touched == ["c"])
        try turn.commit()
        let left = try store.messages(in: "c")
        #expect(left.map(\.id) == ["a", "z"] && left[0].content == nil)
        // Deletions are kept: a node that has not received them yet brings nothing back.
        var deleted = MessageRecord(id: "z", sent: time(7))
        deleted.hidden = Register(.yes, at: time(8))
        var next = Turn(store: store, user: "alice")
        try next.merge(.message(deleted, conversation: "c"))
        try next.merge(.cleared(time(9), through: time(9), hasLeft: false, conversation: "c"))
        try next.merge(.message(message("z", 7), conversation: "c"))
        try next.commit()
        #expect(try store.messages(in: "c").map { $0.isHidden(for: "alice") } == [true])
        #expect(try store.conversation("c")?.epoch == 2)
    }

    @Test func `what nodes have told of an operation is judged by the times of its values`() throws
    {
        let store = try Store(path: ":memory:")
        var turn = Turn(store: store, user: "alice")
        let actions: [Action] = [
            .edit(conversation: "c", message: "a", text: "A"),
            .pin(conversation: "c", message: "a"),
            .unpin(conversation: "c", message: "a"), .delete(conversation: "c", message: "a"),
            .restore(conversation: "c", message: "a"), .archive(conversation: "c"),
            .hide(conversation: "c", through: nil), .completeItem(item: "i", isDone: true),
            .editItem(item: "i", Action.ItemChanges(title: "t")),
            .setProfile(name: "Al", photo: nil),
        ]
        for action in actions {
            var fresh = Turn(store: store, user: "alice")
            let told = action.consequence(at: time(5), user: "alice")
            #expect(try !fresh.includes(told), "\(action)")
            _ = try fresh.accept(told)
            #expect(try fresh.includes(told), "\(action)")
            let later = action.consequence(at: time(6), user: "alice")
            #expect(try !fresh.includes(later), "\(action)")
        }
        // What is left of a message that was deleted for everyone can still be hidden.
        var fresh = Turn(store: store, user: "alice")
        var deleted = message("a", 1)
        deleted.delete(at: time(4))
        try fresh.merge(.message(deleted, conversation: "c"))
        let included = try actions.prefix(4).map {
            try fresh.includes($0.consequence(at: time(5), user: "alice"))
        }
        #expect(included == [true, true, true, false])
        // A hiding of which an event has told clears nothing that was read since.
        let hide = Action.hide(conversation: "c", through: nil).consequence(
            at: time(9), user: "alice")
        try turn.merge(hide)
        try turn.merge(.message(message("a", 1), conversation: "c"))
        _ = try turn.accept(hide)
        #expect(try turn.message("a", in: "c") != nil)
        try turn.merge(hide)
        #expect(try turn.message("a", in: "c") == nil)
    }

    @Test func `a closed store fails, and another one has its file`() throws {
        try withFile { path in
            let first = try Store(path: path)
            try first.commit([.token("1")])
            first.close()
            #expect(throws: StoreError.self) { try first.token() }
            #expect(try Store(path: path).token() == "1")
        }
    }
}
