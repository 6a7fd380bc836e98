import Membership
import TestKit
import Testing
import Wire

struct GossipTests {
    static let samples: [Gossip] = [
        .ping(number: 300, tableHash: 1 << 63, []),
        .ack(number: 1, tableHash: 5, [entry("a", .alive), entry("b", .left)]),
        .probe(number: 9, of: name("x")), .heard(number: 9, of: name("x")),
        .updates([entry("a", incarnation: 77, .suspect)]),
        .table(MemberTable([entry("a", .dead), entry("b", .alive)])),
    ]

    @Test(arguments: samples) func `gossip is read as it was written`(gossip: Gossip) throws {
        #expect(try Gossip.decode(gossip.encoded) == gossip)
    }

    @Test(arguments: samples) func `bytes that end early are refused`(gossip: Gossip) {
        let bytes = gossip.encoded
        for count in bytes.indices {
            #expect(throws: WireError.self) { try Gossip.decode(bytes.prefix(count)) }
        }
    }

    @Test func `more entries than the limit are refused`() {
        let entries = Array(repeating: entry("a", .alive), count: Gossip.entriesMax + 1)
        #expect(throws: WireError.self) { try Gossip.decode(Gossip.updates(entries).encoded) }
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `changed bytes are refused or read, and never trap a member`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var bytes = random.pick(GossipTests.samples).encoded
        for _ in 0...random.below(4) {
            bytes[random.below(bytes.count)] = UInt8(random.below(256))
        }
        var one = Membership(
            me: member("a"), table: MemberTable([entry("b", .alive)]),
            evictAfterMilliseconds: nil, seed: seed, now: 0)
        var gossip: Gossip?
        do throws(WireError) { gossip = try Gossip.decode(bytes) } catch { gossip = nil }
        if let gossip { one.receive(gossip, from: name("b"), now: 5) }
        #expect(one.table[name("a")]?.member == one.me)
    }

    @Test func `the bytes are those of earlier builds`() throws {
        #expect(try GoldenBytes("gossip", of: Self.samples.map(\.encoded)).difference() == nil)
    }
}
