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

    private static let ofChats: [any Query] = [
        HistoryQuery(room, place: .newest, limit: 1),
        HistoryQuery(room, place: .before(id), limit: 1_000),
        HistoryQuery(room, place: .after(id), limit: 50), EditsQuery(id, in: room),
        PinsQuery(room), UnreadQuery(), ParticipantsQuery(room), ChatQuery(room), MarksQuery(room),
        DevicesQuery(of: users[0]), ContactsQuery(), ProfilesQuery(among: [users[0]]),
    ]

    private static let ofOthers: [any Query] = [
        ChatsQuery(.all, finding: WordSearch("a B")), FileQuery(file, in: room, isTagged: false),
        FilePartQuery(3, of: file, in: room), FileQuery(file, in: room),
        FilePartQuery(3, of: file, in: room, tag: "t"), BlocksQuery(of: users[0]),
        BlockersQuery(among: users), AccountUsersQuery(among: users),
        AcquaintanceQuery(Acquaintance.Question(beside: room)),
        AcquaintanceQuery(Acquaintance.Question(beside: room, others: users)),
        UnsentBytesQuery(besides: file, in: room), MessageQuery(id, in: room),
        ItemQuery(ItemID(checked: "i")), ChangesQuery(room, limit: 100),
    ]

    private static let queries: [AnyQuery] =
        (ofChats + ChatsQuery.Shown.allCases.map { ChatsQuery($0) } + NotificationTests.queries
        + ofOthers).map { AnyQuery($0) }

    private static var filtered: AnyQuery {
        let blocks = BlockUser(users[1])
        let document = Mutation(blocks, by: users[0]).applied(
            to: nil,
            by: Authorship(
                dot: Dot(replica: RandomID(high: 1, low: 2), seq: 1),
                stamp: Stamp(time: time, process: RandomID(high: 1, low: 1), counter: 1)))
        return AnyQuery(
            HistoryQuery(room, place: .newest, limit: 9),
            without: BlockedSenders(of: document.blocks ?? Blocks()))
    }

    @Test func `a query is filtered once, for senders that are named, and shows messages`() throws {
        #expect(try AnyQuery.decode(Self.filtered.encoded) == Self.filtered)
        #expect(!Self.filtered.showsMessages && Self.filtered.isForOperators)
        let unread = AnyQuery(UnreadQuery()).encoded
        #expect(throws: WireError.self) { try AnyQuery.decode([39, 0] + unread) }
        let query = AnyQuery(Self.filtered.base).encoded
        let prefix = Self.filtered.encoded.dropLast(query.count)
        for code: UInt8 in [39, 7, 28] {
            #expect(throws: WireError.self) { try AnyQuery.decode(Array(prefix) + [code]) }
        }
    }
    private static let users = [UserID(checked: "a"), UserID(checked: "b")]
    private static let file = FileID(checked: "f")

    private static func view(tag: String?) -> FileView {
        FileView(
            id: file, owner: UserID(checked: "a"), type: "image/png", size: 7, message: id,
            createdAt: time, tag: tag)
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

    private static func edits(_ count: Int) -> AnyFindings {
        AnyFindings(
            (0..<count).map {
                EditView(at: time, text: String(repeating: "x", count: $0 % 900))
            })
    }

    private static let foundOfChats: [any Findings] = [
        [MessageView](), edits(3).base, [preview, chat(1, at: 2), chat(2, at: 3)],
        [UnreadCount(conversation: room, count: 7)], [UnreadCount](), users, marks,
        [
            DeviceView(id: DeviceID(checked: "d"), token: "t", viewing: room),
            DeviceView(id: DeviceID(checked: "e"), token: nil, viewing: nil),
        ],
        [DatedProfile(view: profile, at: time)],
    ]

    private static let foundOfOthers: [any Findings] = [
        view(tag: nil), view(tag: "t"), [BlockView(user: users[0], since: time)], Acquaintance(),
        acquaintance(isAnswered: false), acquaintance(isAnswered: true), UnsentBytes(1 << 40),
    ]

    private static let findings: [AnyFindings] =
        (foundOfChats + NotificationTests.findings + foundOfOthers).map { AnyFindings($0) }

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

    @Test func `what stands before a query is no query`() {
        #expect(QueryTable.queries[AnyQuery.codeOfFiltered] == nil)
        #expect(QueryTable.queries[AnyQuery.codeOfExact] == nil)
    }

    @Test func `each is read as it was written`() throws {
        for query in Self.queries { #expect(try AnyQuery.decode(query.encoded) == query) }
        for found in Self.findings { #expect(try AnyFindings.decode(found.encoded) == found) }
        for receipt in Self.receipts { #expect(try Receipt.decode(receipt.encoded) == receipt) }
        for failure in Self.failures {
            #expect(try ShardFailure.decode(failure.encoded) == failure)
        }
    }

    @Test func `what several shards know of a list is read as it was written`() throws {
        let users = ["a", "b", "c"].map { UserID(checked: $0) }
        var found = AnyFindings([users[0], users[2]])
        let isSame = found.append(AnyFindings([users[1], users[2]]))
        #expect(isSame)
        #expect(try AnyFindings.decode(found.gathered.encoded) == AnyFindings(users))
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
            (Self.queries.map(\.encoded), { try? AnyQuery.decode($0).encoded }),
            (Self.findings.map(\.encoded), { try? AnyFindings.decode($0).encoded }),
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
            let query = HistoryQuery(Self.room, place: .newest, limit: 1_001)
            return try AnyQuery.decode(AnyQuery(query).encoded)
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
        var other = AnyFindings([MessageView]())
        let isAlike = other.append(AnyFindings([EditView]()))
        #expect(!isAlike)
    }

    @Test func `a list out of several has its order, and each conversation once`() {
        let (one, two) = ([1, 2, 3], [4, 2, 5])
        func views(_ numbers: [Int]) -> [ChatView] {
            numbers.map { Self.chat($0, at: UInt64($0 % 2), unread: $0) }
        }
        for whole in [views(one) + views(two), views(two) + views(one)] {
            #expect(whole.gathered.map(\.id.text) == ["c1", "c3", "c5", "c2", "c4"])
        }
        let counts = [("b", 2), ("a", 1), ("b", 3)].map {
            UnreadCount(conversation: ConversationID(checked: $0.0), count: $0.1)
        }
        let expected = [("a", 1), ("b", 3)].map {
            UnreadCount(conversation: ConversationID(checked: $0.0), count: $0.1)
        }
        #expect(counts.gathered == expected)
    }

    @Test func `the bytes are those of earlier builds`() throws {
        #expect(try GoldenBytes("query", of: Self.queries.map(\.encoded)).difference() == nil)
        #expect(try GoldenBytes("findings", of: Self.findings.map(\.encoded)).difference() == nil)
        #expect(try GoldenBytes("receipt", of: Self.receipts.map(\.encoded)).difference() == nil)
        #expect(try GoldenBytes("failure", of: Self.failures.map(\.encoded)).difference() == nil)
    }
}
