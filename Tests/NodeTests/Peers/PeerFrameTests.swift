import CRDT
import Chat
import Membership
import Placement
import TestKit
import Testing
import Wire

@testable import Node
@testable import Replication

@Suite struct PeerFrameTests {
    private static let me = member("n1", gossip: "127.0.0.1:7101", admin: "127.0.0.1:7201")
    private static let settings = ClusterSettings(
        id: RandomID(high: 1, low: 2), name: ClusterName(checked: "team"), shards: 64,
        replicas: .count(3))

    private static func member(
        _ name: String, gossip: String = "g", admin: String = "a",
        incarnation: UInt64 = Member.incarnationMax
    ) -> Member {
        Member(
            name: NodeName(checked: name), process: RandomID(high: 5, low: 6), gossip: gossip,
            admin: admin, incarnation: incarnation)
    }

    private static let table = MemberTable(
        (1...5).map { number in
            MemberEntry(member: member("n\(number)", incarnation: UInt64(number)), state: .suspect)
        })

    private static let frames: [PeerFrame] = [
        .hello(
            Hello(
                process: RandomID(high: 3, low: 4), member: me, cluster: settings,
                members: table, versions: PeerVersions(wire: 1...1, document: 1))),
        .hello(
            Hello(
                process: RandomID(high: 3, low: 4), member: me, cluster: nil,
                members: MemberTable(), versions: PeerVersions(wire: 1...1, document: 1))),
        .reject(.connected), .reject(.nameTaken),
        .gossip(.table(table), wallMilliseconds: 1_800_000_000_000),
        .gossip(.ping(number: 0, tableHash: 1, []), wallMilliseconds: 0),
        .gossip(
            .ack(number: .max, tableHash: .max, table.entries), wallMilliseconds: .max),
        .replication(.summary(Frame.Summary(hash: 5, unready: [ShardID(9)]))),
        .replication(.confirm(ShardID(3), Vector())),
        .pulse(
            Pulse(Frame.Summary(hash: .max, unready: [ShardID(0), ShardID(4)]), silence: 3)),
        .unheard(ShardID(4)), .signing(.version(7)),
        .pages(PageAddresses(chat: "https://chat.example.org")),
        .signing(
            .news(
                [],
                [
                    SigningTable.Revocation(
                        name: UserID(checked: "s1"), through: HybridTimestamp(milliseconds: 5),
                        made: 6)
                ])),
    ]

    @Test(arguments: frames)
    func `what is sent is what arrives`(frame: PeerFrame) throws {
        #expect(try PeerFrame.decode(frame.encoded) == frame)
    }

    @Test(arguments: frames)
    func `no part of a frame is a frame, and none traps`(frame: PeerFrame) {
        let bytes = frame.encoded
        for end in bytes.indices {
            #expect(throws: WireError.self) { try PeerFrame.decode(bytes.prefix(end)) }
        }
    }

    @Test func `damaged frames never trap`() {
        var random = TestBytes(seed: 7)
        var read = 0
        for round in 0..<100_000 {
            let frame = Self.frames[round % Self.frames.count].encoded
            let bytes = round % 4 == 0 ? [1] + random.bytes(60) : random.damaged(frame)
            if (try? PeerFrame.decode(bytes)) != nil { read += 1 }
        }
        #expect(read > 0)
    }

    @Test func `another version is told from bytes that are wrong`() {
        #expect(throws: WireError.unknown) { try PeerFrame.decode([2, 4, 0]) }
    }

    @Test func `a hello of a full table fits what a stranger may send`() {
        let entries = (0..<MemberTable.entriesMax).map { number in
            let name = String(repeating: "x", count: nameBytesMax - 3) + "\(100 + number)"
            return MemberEntry(
                member: Self.member(
                    name, gossip: String(repeating: "g", count: Member.addressBytesMax),
                    admin: String(repeating: "a", count: Member.addressBytesMax)),
                state: number < MemberTable.ringMax ? .alive : .left)
        }
        let table = MemberTable(entries)
        #expect(table.entries.count == MemberTable.entriesMax)
        let hello = Hello(
            process: RandomID(high: 3, low: 4), member: table.entries[0].member,
            cluster: Self.settings, members: table)
        #expect(PeerFrame.hello(hello).encoded.count <= Hello.bytesMax)
    }

    @Test(arguments: [UInt64(0), 4_097, .max])
    func `a cluster that is read has 1 to 4096 shards`(count: UInt64) {
        var writer = ByteWriter()
        writer.write(Self.settings.id)
        writer.write(Self.settings.name)
        writer.write(varint: count)
        #expect(throws: WireError.invalid("a number of shards")) {
            try ClusterSettings.decode(writer.bytes)
        }
    }

    @Test func `the bytes are those of earlier builds`() throws {
        #expect(try GoldenBytes("peer-frame", of: Self.frames.map(\.encoded)).difference() == nil)
    }
}

@Suite struct DialerTests {
    @Test func `each address is dialled at once, then in pauses that double up to a limit`() {
        var dialer = Dialer()
        var dials: [UInt64] = []
        for now in stride(from: UInt64(0), through: 3_000, by: 50) {
            for address in dialer.due(["a"], now: now) {
                dials.append(now)
                dialer.onEnd(of: address, now: now)
            }
        }
        #expect(dials == [0, 100, 300, 700, 1_200, 1_700, 2_200, 2_700])
    }

    @Test func `an address that is being dialled is not dialled twice`() {
        var dialer = Dialer()
        let first = dialer.due(["a", "b"], now: 0)
        let second = dialer.due(["a", "b"], now: 10_000)
        #expect(first == ["a", "b"])
        #expect(second.isEmpty)
    }

    @Test func `an encouraged address is dialled at once`() {
        var dialer = Dialer()
        _ = dialer.due(["a"], now: 0)
        dialer.onEnd(of: "a", now: 0)
        let early = dialer.due(["a"], now: 50)
        dialer.encourage("a")
        let due = dialer.due(["a"], now: 50)
        #expect(early.isEmpty)
        #expect(due == ["a"])
    }

    @Test func `nothing is dialled that nobody wants`() {
        var dialer = Dialer()
        _ = dialer.due(["a"], now: 0)
        dialer.onEnd(of: "a", now: 0)
        let due = dialer.due([], now: 1_000)
        #expect(due.isEmpty)
    }
}
