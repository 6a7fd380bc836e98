import Membership
import TestKit
import Testing
import Wire

struct MemberTests {
    @Test func `the greater state wins at one incarnation, and a greater incarnation beats all`() {
        let states: [MemberState] = [.alive, .suspect, .dead, .evicted, .left]
        let ladder = [1, 2].flatMap { incarnation in
            states.map { entry("a", incarnation: incarnation, $0) }
        }
        for (lower, one) in ladder.enumerated() {
            for (higher, other) in ladder.enumerated() {
                #expect(other.supersedes(one) == (higher > lower))
            }
        }
    }

    @Test func `an entry is read as it was written`() throws {
        let one = entry("a", incarnation: 1 << 62, .evicted)
        #expect(try MemberEntry.decode(one.encoded) == one)
    }

    @Test func `incarnations beyond belief and unknown states are refused`() {
        let beyond = entry("a", incarnation: 1 << 62 + 1, .alive)
        #expect(throws: WireError.self) { try MemberEntry.decode(beyond.encoded) }
        var bytes = entry("a", .alive).encoded
        bytes[bytes.count - 1] = 6
        #expect(throws: WireError.self) { try MemberEntry.decode(bytes) }
    }
}

func name(_ text: String) -> NodeName { NodeName(checked: text) }

func member(_ text: String, process: UInt64 = 1, incarnation: Int = 1) -> Member {
    Member(
        name: name(text), process: RandomID(high: process, low: 7), gossip: "\(text):1",
        admin: "\(text):2", incarnation: UInt64(incarnation))
}

func entry(
    _ text: String, process: UInt64 = 1, incarnation: Int = 1, _ state: MemberState
) -> MemberEntry {
    MemberEntry(
        member: member(text, process: process, incarnation: incarnation), state: state)
}
