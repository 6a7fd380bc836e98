import CRDT
import TestKit
import Testing
import Wire

@testable import Node
@testable import Replication

@Suite struct PeerFrameTests {
    private static let member = Member(
        name: NodeName(checked: "n1"), gossip: "127.0.0.1:7101", admin: "127.0.0.1:7201",
        incarnation: 7)
    private static let settings = ClusterSettings(
        id: RandomID(high: 1, low: 2), name: ClusterName(checked: "team"), shards: 64)

    private static var table: MemberTable {
        var table = MemberTable()
        for number in 1...5 {
            _ = table.learn(
                Member(
                    name: NodeName(checked: "n\(number)"), gossip: "g\(number)",
                    admin: "a\(number)", incarnation: UInt64(number)))
        }
        return table
    }

    private static let frames: [PeerFrame] = [
        .hello(
            Hello(
                process: RandomID(high: 3, low: 4), member: member, cluster: settings,
                members: table)),
        .hello(
            Hello(
                process: RandomID(high: 3, low: 4), member: member, cluster: nil,
                members: MemberTable())),
        .reject(.connected), .reject(.nameTaken), .members(table), .ping(0), .pong(.max),
        .replication(.summary(5)), .replication(.confirm(ShardID(3), Vector())),
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

    @Test func `another version is refused as such`() {
        #expect(throws: WireError.version(2)) { try PeerFrame.decode([2, 4, 0]) }
    }

    @Test func `a hello of a full table fits what a stranger may send`() {
        var table = MemberTable()
        for number in 0..<200 {
            let name = String(repeating: "x", count: 60) + "\(number)"
            _ = table.learn(
                Member(
                    name: NodeName(checked: name), gossip: String(repeating: "g", count: 256),
                    admin: String(repeating: "a", count: 256), incarnation: Member.incarnationMax))
        }
        #expect(table.members.count == MemberTable.membersMax)
        let hello = Hello(
            process: RandomID(high: 3, low: 4), member: table.members[0], cluster: Self.settings,
            members: table)
        #expect(PeerFrame.hello(hello).encoded.count <= Hello.bytesMax)
    }

    @Test(arguments: [UInt64(0), 4_097, .max])
    func `a cluster has 1 to 4096 shards`(count: UInt64) {
        var writer = ByteWriter()
        writer.write(Self.settings.id)
        writer.write(Self.settings.name)
        writer.write(varint: count)
        #expect(throws: WireError.invalid("a number of shards")) {
            try ClusterSettings.decode(writer.bytes)
        }
    }

    @Test func `an incarnation that leaves no room for the next is refused`() {
        let member = Member(
            name: NodeName(checked: "n1"), gossip: "", admin: "",
            incarnation: Member.incarnationMax + 1)
        #expect(throws: WireError.invalid("an incarnation")) {
            try Member.decode(member.encoded)
        }
    }
}

@Suite struct MemberTableTests {
    private func member(_ name: String, _ incarnation: UInt64, gossip: String = "g") -> Member {
        Member(
            name: NodeName(checked: name), gossip: gossip, admin: "a", incarnation: incarnation)
    }

    @Test func `what a member says later of itself replaces what was known`() {
        var table = MemberTable()
        var changes: [Bool] = []
        for entry in [
            member("n2", 5), member("n1", 1), member("n2", 5, gossip: "other"), member("n2", 4),
            member("n2", 6, gossip: "moved"),
        ] {
            changes.append(table.learn(entry))
        }
        #expect(changes == [true, true, false, false, true])
        #expect(table.members.map(\.name.text) == ["n1", "n2"])
        #expect(table[NodeName(checked: "n2")]?.gossip == "moved")
    }

    @Test func `tables that were learnt in any order are equal`() throws {
        var random = SplitMix64(seed: 3)
        for _ in 0..<200 {
            // Of one name and incarnation there is one entry.
            let entries = (0..<12).map { _ in
                member("n\(random.below(4))", UInt64(random.below(5)))
            }
            var (one, other) = (MemberTable(), MemberTable())
            for entry in entries { _ = one.learn(entry) }
            for entry in entries.reversed() + entries { _ = other.learn(entry) }
            #expect(one == other)
            #expect(try MemberTable.decode(one.encoded) == one)
        }
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
