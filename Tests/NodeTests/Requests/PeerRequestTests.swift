import CRDT
import Chat
import Replication
import TestKit
import Testing
import Wire

@testable import Node

/// Requests and responses as they travel between nodes.
@Suite struct AskCommandTests {
    private static let room = ConversationID(checked: "c")
    private static let replica = RandomID(high: 1, low: 2)

    private static let requests: [PeerRequest.Request] =
        [
            .read(AnyQuery(PinsQuery(room)), alice),
            .list(AnyQuery(ChatsQuery(.all)), alice, [ShardID(0), ShardID(63)]),
            .list(AnyQuery(UnreadQuery()), alice, []),
            .copies(ShardID(7), Vector()),
        ]
        + [PeerRequest.Attempt.minted, .first, .again].flatMap { attempt in
            [AckLevel.local, .majority, .all].map { level in
                .write(operation(send("m1"), after: earlier), level, attempt)
            }
        }

    @Test func `earlier versions read a page without the bytes after which it may end`() throws {
        func request(_ bytesMax: Int?) -> PeerRequest {
            let query = AnyQuery(
                HistoryQuery(Self.room, place: .newest, limit: 9, bytesMax: bytesMax))
            return PeerRequest(number: 3, round: 4, deadline: 70, request: .read(query, alice))
        }
        let (whole, part) = (request(nil), request(1 << 20))
        #expect(try PeerRequest.decode(part.encoded) == part)
        #expect(try PeerRequest.decode(whole.encoded) == whole)
        #expect(part.encoded.starts(with: whole.encoded))
    }

    @Test func `earlier versions read an operation of a client's as a repetition`() throws {
        func request(_ attempt: PeerRequest.Attempt) -> PeerRequest {
            let write = operation(send("m1"), after: Self.earlier)
            return PeerRequest(
                number: 3, round: 4, deadline: 70, request: .write(write, .majority, attempt))
        }
        let ofClient = request(.client)
        #expect(try PeerRequest.decode(ofClient.encoded) == ofClient)
        #expect(ofClient.encoded.starts(with: request(.again).encoded))
    }

    @Test func `earlier versions do not know an operation that is to be refused`() throws {
        var write = operation(send("m1"), after: Self.earlier)
        write.refusal = .blockedByUser
        let refused = PeerRequest(
            number: 3, round: 4, deadline: 70, request: .write(write, .majority, .client))
        #expect(try PeerRequest.decode(refused.encoded) == refused)
        // The numbers of the request, its round and its deadline have a byte each.
        #expect(refused.encoded[3] == 7)
        #expect(throws: WireError.self) { try PeerRequest.decode(refused.encoded.dropLast(2)) }
    }

    private static let earlier = {
        var earlier = Unsettled()
        earlier.insertOperation(
            Stamp(time: HybridTimestamp(milliseconds: 9), process: replica, counter: 1 << 40))
        return earlier
    }()

    private static let receipt = Receipt(
        context: Context(Dot(replica: replica, seq: 3)), message: nil, sentAt: nil, editedAt: nil,
        unread: 4, isRepeated: false, item: nil)

    private static let outcomes: [PeerResponse.Completion] = [
        .taken, .found(AnyFindings([UnreadCount]()), part: 0, isLast: false),
        .found(AnyFindings([MessageView]()), part: 300, isLast: true),
        .listed(AnyFindings([ChatView]()), part: 1, missing: [ShardID(1)]), .copies(3),
        .failed(.notReady),
        .failed(.unreachable), .failed(.overloaded), .failed(.unanswered), .failed(.behind),
        .failed(.stale(HybridTimestamp(milliseconds: 7))), .level, .notOwner,
    ]

    @Test func `the bytes are those of earlier builds`() throws {
        let requests = Self.requests.map {
            PeerRequest(number: 300, round: 4, deadline: 70_000, request: $0).encoded
        }
        #expect(try GoldenBytes("peer-request", of: requests).difference() == nil)
        let responses = Self.outcomes.map {
            PeerResponse(
                number: 1 << 40, round: 9, outcome: $0, time: HybridTimestamp(milliseconds: 5)
            ).encoded
        }
        #expect(try GoldenBytes("peer-response", of: responses).difference() == nil)
    }

    @Test func `how large a list may be follows what earlier builds know of the request`() throws {
        func ask(_ bytesMax: Int?) -> PeerRequest {
            PeerRequest(
                number: 300, round: 4, deadline: 70_000,
                request: .list(
                    AnyQuery(UnreadQuery()), alice, [ShardID(0)], bytesMax: bytesMax))
        }
        #expect(try PeerRequest.decode(ask(9).encoded) == ask(9))
        #expect(ask(9).encoded.starts(with: ask(nil).encoded))
        let large = PeerResponse(
            number: 1, round: 0, outcome: .large(bytes: 1 << 20), time: HybridTimestamp(bits: 5))
        #expect(try PeerResponse.decode(large.encoded) == large)
    }

    @Test(arguments: requests) func `a request comes back as it went`(
        _ request: PeerRequest.Request
    ) throws {
        let ask = PeerRequest(number: 300, round: 4, deadline: 70_000, request: request)
        #expect(try PeerRequest.decode(ask.encoded) == ask)
        let frame = PeerFrame.request(ask)
        #expect(try PeerFrame.decode(frame.encoded) == frame)
    }

    @Test(arguments: outcomes) func `an answer comes back as it went`(
        _ outcome: PeerResponse.Completion
    ) throws {
        let told = PeerResponse(
            number: 1 << 40, round: 9, outcome: outcome, time: HybridTimestamp(milliseconds: 5))
        #expect(try PeerResponse.decode(told.encoded) == told)
        let frame = PeerFrame.response(told)
        #expect(try PeerFrame.decode(frame.encoded) == frame)
    }

    @Test func `an acknowledgement says on how many owners it is`() throws {
        var writer = ByteWriter()
        writer.write(varint: 5)
        writer.write(varint: 6)
        writer.write(2 as UInt8)
        AskCommandTests.receipt.encode(into: &writer)
        writer.write(count: 2)
        writer.write(count: 3)
        writer.write(true)
        // The response shows no replica, and comes from a clock that has not begun.
        writer.write(count: 0)
        HybridTimestamp.zero.encode(into: &writer)
        let told = try PeerResponse.decode(writer.bytes)
        guard case .written(let receipt, let stored) = told.outcome else {
            Issue.record("an acknowledgement became \(told)")
            return
        }
        #expect(receipt == AskCommandTests.receipt)
        #expect(stored.on == 2 && stored.owners == 3)
        #expect(told.encoded == writer.bytes)
    }

    @Test func `what no node sends is refused`() {
        let bad: [[UInt8]] = [
            [], [1], [1, 0, 1], [1, 0, 1, 3, 5],
            // A list of more shards than a cluster has.
            [1, 0, 1, 3, 5, 1, 97, 0xFF, 0xFF, 0x7F],
        ]
        for bytes in bad {
            #expect(throws: WireError.self) { try PeerRequest.decode(bytes) }
        }
        for bytes: [UInt8] in [
            [], [1], [1, 0], [1, 0, 8], [1, 0, 3, 1], [1, 0, 6, 9],
        ] {
            #expect(throws: WireError.self) { try PeerResponse.decode(bytes) }
        }
        // Only a message or an item can have an id that was just created.
        let leave = PeerRequest.Request.write(
            operation(Mutation(LeaveConversation(), in: AskCommandTests.room, by: alice)), .local,
            .minted)
        #expect(throws: WireError.self) {
            try PeerRequest.decode(
                PeerRequest(number: 1, round: 0, deadline: 2, request: leave).encoded)
        }
        // More owners than any cluster has.
        var writer = ByteWriter()
        writer.write(varint: 5)
        writer.write(varint: 6)
        writer.write(2 as UInt8)
        AskCommandTests.receipt.encode(into: &writer)
        writer.write(count: 1)
        writer.write(count: 1_025)
        #expect(throws: WireError.self) { try PeerResponse.decode(writer.bytes) }
    }

    @Test(arguments: requests) func `a request that is cut off is refused`(
        _ request: PeerRequest.Request
    ) {
        let bytes = PeerRequest(number: 1, round: 0, deadline: 2, request: request).encoded
        for count in bytes.indices {
            #expect(throws: WireError.self) { try PeerRequest.decode(Array(bytes.prefix(count))) }
        }
    }
}
