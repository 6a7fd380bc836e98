import Membership
import TestKit
import Testing
import Wire

struct MemberTableTests {
    @Test(arguments: 0..<50 as Range<UInt64>)
    func `any order of the same entries gives the same table`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let states: [MemberState] = [.alive, .suspect, .dead, .evicted, .left]
        var said: [MemberEntry] = []
        for _ in 0..<60 {
            said.append(
                entry(
                    random.pick(["a", "b", "c", "d"]), process: UInt64(random.below(3)),
                    incarnation: random.below(4), random.pick(states)))
        }
        let one = MemberTable(said)
        let other = MemberTable(said.shuffled(using: &random) + said.prefix(20))
        #expect(one == other)
        #expect(one.hash == other.hash)
        #expect(try MemberTable.decode(one.encoded) == one)
    }

    @Test func `tables that differ in one state have other hashes`() {
        #expect(
            MemberTable([entry("a", .alive), entry("b", .alive)]).hash
                != MemberTable([entry("a", .alive), entry("b", .suspect)]).hash)
    }

    @Test func `the hundred and first member is refused until one is gone`() {
        var table = MemberTable((100..<200).map { entry("n\($0)", .alive) })
        #expect(table.entries.count == MemberTable.ringMax)
        let isTakenAtFirst = table.merge(entry("m", .alive))
        let isGone = table.merge(entry("n150", .left))
        let isTakenThen = table.merge(entry("m", .alive))
        #expect(!isTakenAtFirst && isGone && isTakenThen)
        #expect(table[name("m")]?.state == .alive)
    }

    @Test func `the oldest that left make room, whatever the order`() {
        let all = (0..<400).map { entry("n\($0 + 100)", incarnation: $0, .left) }
        let one = MemberTable(all)
        #expect(one.entries.count == MemberTable.entriesMax)
        #expect(one == MemberTable(all.reversed()))
        #expect(one[name("n499")] != nil)
        #expect(one[name("n100")] == nil)
    }

    @Test func `a table that is out of order or too large is refused`() {
        var writer = ByteWriter()
        writer.write(count: 2)
        entry("b", .alive).encode(into: &writer)
        entry("a", .alive).encode(into: &writer)
        #expect(throws: WireError.self) { try MemberTable.decode(writer.bytes) }
        var large = ByteWriter()
        large.write(count: 101)
        for number in 100...200 { entry("n\(number)", .alive).encode(into: &large) }
        #expect(throws: WireError.self) { try MemberTable.decode(large.bytes) }
    }
}
