import CRDT
import StorePort
import TestKit
import Testing
import Wire

@testable import Chat
@testable import Node

/// What travels between the node that receives a query and the one that answers it.
@Suite struct QueryCodingTests {
    private static let room = ConversationID(checked: "c")
    private static let id = MessageID(checked: "m")
    private static let time = HybridTimestamp(milliseconds: 7)

    private static let queries: [Query] =
        [
            .history(room, place: .newest, limit: 1),
            .history(room, place: .before(id), limit: 1_000),
            .history(room, place: .after(id), limit: 50), .edits(id, in: room), .pinned(room),
            .unread, .participants(room), .chat(room), .marks(room),
            .devices(of: UserID(checked: "a")), .contacts, .profiles(of: [UserID(checked: "a")]),
        ] + Query.Shown.allCases.map { .chats($0) } + NotificationTests.queries
        + [.chats(.all, finding: WordSearch("a B"))]
        + [
            .file(file, in: room, isTagged: false), .part(3, of: file, in: room),
            .file(file, in: room), .part(3, of: file, in: room, tag: "t"),
        ]
        + [
            .blocks(of: users[0]), .blockers(among: users), .accountUsers(among: users),
            .acquaintance(Acquaintance.Question(beside: room)),
            .acquaintance(Acquaintance.Question(beside: room, others: users)),
            .unsentBytes(besides: file, in: room), .message(id, in: room),
            .action(ItemID(checked: "i")), .changes(room, limit: 100),
        ]
    private static let users = [UserID(checked: "a"), UserID(checked: "b")]
    private static let file = FileID(checked: "f")

    private static func view(tag: String?) -> Findings {
        .file(
            FileView(
                id: file, owner: UserID(checked: "a"), type: "image/png", size: 7, message: id,
                createdAt: time, tag: tag))
    }

    private static func chat(_ number: Int, at milliseconds: UInt64, unread: Int = 0) -> ChatView {
        ChatView(
            id: ConversationID(checked: "c\(number)"), title: number % 2 == 0 ? nil : "t",
            unread: unread, isArchived: number % 3 == 0,
            participants: [UserID(checked: "a"), UserID(checked: "b")],
            createdBy: UserID(checked: "a"), createdAt: HybridTimestamp(milliseconds: milliseconds),
            last: nil)
    }

    private static let preview = ChatView(
        id: room, title: nil, unread: 3, isArchived: true, participants: [],
        createdBy: UserID(checked: "a"), createdAt: time,
        last: ChatView.Preview(
            id: id, from: UserID(checked: "b"), at: time, type: .voice, text: "x"),
        archivedBy: [UserID(checked: "b")])

    private static let marks = [
        MarkView(
            user: UserID(checked: "a"), read: MarkView.Place(id: id, at: time), delivered: nil),
        MarkView(
            user: UserID(checked: "b"), read: nil, delivered: MarkView.Place(id: id, at: time)),
    ]

    private static let profile = ProfileView(
        user: UserID(checked: "a"), name: "A", email: nil, photo: "p", createdAt: time)

    private static func edits(_ count: Int) -> Findings {
        .edits(
            (0..<count).map {
                EditView(at: time, text: String(repeating: "x", count: $0 % 900))
            })
    }

    private static let findings: [Findings] =
        [
            .messages([]), edits(3), .chats([preview, chat(1, at: 2), chat(2, at: 3)]),
            .unread([UnreadCount(conversation: room, count: 7)]), .unread([]),
            .users([UserID(checked: "a"), UserID(checked: "b")]), .marks(marks),
            .devices([
                DeviceView(id: DeviceID(checked: "d"), token: "t", viewing: room),
                DeviceView(id: DeviceID(checked: "e"), token: nil, viewing: nil),
            ]),
            .profiles([DatedProfile(view: profile, at: time)]),
        ] + NotificationTests.findings + [view(tag: nil), view(tag: "t")]
        + [
            .blockViews([BlockView(user: users[0], since: time)]),
            .acquaintance(Acquaintance()), .acquaintance(acquaintance(isAnswered: false)),
            .acquaintance(acquaintance(isAnswered: true)), .bytes(1 << 40),
        ]

    /// What b has to do with a, who has created a conversation of both.
    private static func acquaintance(isAnswered: Bool) -> Acquaintance {
        let created = Stamp(time: time, process: RandomID(high: 1, low: 1), counter: 1)
        let header = Conversation.Header(
            created: created, dot: Dot(replica: RandomID(high: 1, low: 2), seq: 1),
            creator: users[0], participants: users, title: nil)
        return Acquaintance(
            in: Conversation(header: header), as: room, of: users[1],
            for: Acquaintance.Question(beside: ConversationID(checked: "d"), others: users),
            isAnswered: isAnswered)
    }

    private static let failures: [ShardFailure] = [
        .refused(.editForbidden), .notReady, .store(.full),
        .store(.badRecord(.message(id, in: room))), .store(.failed("reading: no such file")),
    ]

    private static let receipts: [Receipt] = [
        Receipt(
            context: Context(Dot(replica: RandomID(high: 1, low: 2), seq: 3)), message: id,
            sentAt: time, editedAt: time, unread: 4, isRepeated: true, item: nil),
        Receipt(
            context: Context(), message: nil, sentAt: nil, editedAt: nil, unread: nil,
            isRepeated: false, item: ItemID(checked: "i1")),
    ]

    @Test func `each is read as it was written`() throws {
        for query in Self.queries { #expect(try Query.decode(query.encoded) == query) }
        for found in Self.findings { #expect(try Findings.decode(found.encoded) == found) }
        for receipt in Self.receipts { #expect(try Receipt.decode(receipt.encoded) == receipt) }
        for failure in Self.failures {
            #expect(try ShardFailure.decode(failure.encoded) == failure)
        }
    }

    @Test func `what several shards know of a list is read as it was written`() throws {
        let users = ["a", "b", "c"].map { UserID(checked: $0) }
        var found = Findings.users([users[0], users[2]])
        let isSame = found.append(.users([users[1], users[2]]))
        #expect(isSame)
        #expect(try Findings.decode(found.gathered.encoded) == .users(users))
    }

    @Test func `a reason is cut, and a bad frame travels as one`() throws {
        let long = ShardFailure.store(.failed(String(repeating: "é", count: 2_000)))
        #expect(
            try ShardFailure.decode(long.encoded)
                == .store(.failed(String(repeating: "é", count: 512))))
        let frame = ShardFailure.badFrame(.checksum)
        let reason = ShardFailure.store(.failed("bad frame: the checksum is wrong"))
        #expect(try ShardFailure.decode(frame.encoded) == reason)
    }

    @Test func `damaged bytes never trap, and what is read is canonical`() throws {
        typealias Read = ([UInt8]) -> [UInt8]?
        let readers: [(good: [[UInt8]], read: Read)] = [
            (Self.queries.map(\.encoded), { try? Query.decode($0).encoded }),
            (Self.findings.map(\.encoded), { try? Findings.decode($0).encoded }),
            (Self.receipts.map(\.encoded), { try? Receipt.decode($0).encoded }),
            (Self.failures.map(\.encoded), { try? ShardFailure.decode($0).encoded }),
        ]
        var random = TestBytes(seed: 12)
        var accepted = 0
        for round in 0..<40_000 {
            let (good, read) = readers[round % readers.count]
            let bytes =
                round % 5 == 0
                ? random.bytes(24) : random.damaged(good[round / readers.count % good.count])
            guard let again = read(bytes) else { continue }
            try #require(again == bytes)
            accepted += 1
        }
        #expect(accepted > 500)
        #expect(throws: WireError.self) {
            try Query.decode(Query.history(Self.room, place: .newest, limit: 1_001).encoded)
        }
    }

    @Test func `the parts of findings are small, and together the whole`() throws {
        for whole in Self.findings + [Self.edits(4_000)] {
            let parts = whole.split(bytesMax: 4_096)
            #expect(parts.allSatisfy { $0.encoded.count <= 4_096 + 8 })
            var joined = try #require(parts.first)
            for part in parts.dropFirst() {
                let isAlike = joined.append(part)
                #expect(isAlike)
            }
            #expect(joined == whole)
        }
        #expect(Self.edits(4_000).split().count > 1)
        // A finding that is too large by itself travels alone.
        #expect(Self.edits(30).split(bytesMax: 1).count == 30)
        var other = Findings.messages([])
        let isAlike = other.append(.edits([]))
        #expect(!isAlike)
    }

    @Test func `a list out of several has its order, and each conversation once`() {
        let (one, two) = ([1, 2, 3], [4, 2, 5])
        func views(_ numbers: [Int]) -> [ChatView] {
            numbers.map { Self.chat($0, at: UInt64($0 % 2), unread: $0) }
        }
        for whole in [views(one) + views(two), views(two) + views(one)] {
            guard case .chats(let list) = Findings.chats(whole).gathered else { return }
            #expect(list.map(\.id.text) == ["c1", "c3", "c5", "c2", "c4"])
        }
        let counts = [("b", 2), ("a", 1), ("b", 3)].map {
            UnreadCount(conversation: ConversationID(checked: $0.0), count: $0.1)
        }
        let expected = [("a", 1), ("b", 3)].map {
            UnreadCount(conversation: ConversationID(checked: $0.0), count: $0.1)
        }
        #expect(Findings.unread(counts).gathered == .unread(expected))
    }

    @Test func `the bytes are those of earlier builds`() throws {
        #expect(try GoldenBytes("query", of: Self.queries.map(\.encoded)).difference() == nil)
        #expect(try GoldenBytes("findings", of: Self.findings.map(\.encoded)).difference() == nil)
        #expect(try GoldenBytes("receipt", of: Self.receipts.map(\.encoded)).difference() == nil)
        #expect(try GoldenBytes("failure", of: Self.failures.map(\.encoded)).difference() == nil)
    }
}
