import CRDT
import TestKit
import Testing
import Wire

@testable import Chat

struct HistoryPositionTests {
    @Test func `the order of minted ids is the order of their times`() throws {
        var random = SplitMix64(seed: 6)
        for _ in 0..<2_000 {
            let times = [time(&random), time(&random)].sorted()
            let ids = times.map { MessageID.minted(at: $0, entropy: random.next()) }
            try #require(ids.allSatisfy { MessageID($0.text) != nil && $0.text.utf8.count == 15 })
            let areEqual = times[0].milliseconds == times[1].milliseconds
            try #require(areEqual || ids[0] < ids[1], "\(times) \(ids)")
        }
        let now = HybridTimestamp(milliseconds: 1)
        #expect(MessageID.minted(at: now, entropy: 1) < MessageID.minted(at: now, entropy: 2))
        #expect(MessageID.minted(at: now, entropy: .max) != MessageID.minted(at: now, entropy: 0))
    }

    @Test func `a minted id is the digits of the time, then of the entropy`() {
        let id = MessageID.minted(at: HybridTimestamp(milliseconds: 11 << 6 | 37), entropy: .max)
        #expect(id.text == "000000A_zzzzzzz")
        let other = MessageID.minted(at: HybridTimestamp(milliseconds: 10), entropy: 38)
        #expect(other.text == "0000000:000000a")
    }

    @Test func `a minted id says in which millisecond it was made, and no other id does`() throws {
        var random = SplitMix64(seed: 7)
        for _ in 0..<2_000 {
            let time = HybridTimestamp(milliseconds: time(&random).milliseconds)
            let id = MessageID.minted(at: time, entropy: random.next())
            try #require(MessageID.mintedAt(id.text) == time, "\(time) \(id)")
        }
        for id in ["", "m1", "0000000:000000", "0000000:000000ab", "00-0000:000000a"] {
            #expect(MessageID.mintedAt(id) == nil)
        }
        // Later than any valid time.
        #expect(MessageID.mintedAt("zzzzzzzz0000000") == nil)
    }

    @Test func `history is in the order of time, then of id`() {
        let positions = [position(1, "b"), position(2, "a"), position(2, "b"), position(3, "a")]
        #expect(positions.reversed().sorted() == positions)
    }

    @Test func `a page admits what is on its side of the bound, never the bound itself`() {
        let positions = [position(1, "z"), position(2, "a"), position(2, "b"), position(3, "a")]
        let admitted = { (place: HistoryPage.Place) in
            positions.map { HistoryPage(place, limit: 10).admits($0) }
        }
        #expect(admitted(.newest) == [true, true, true, true])
        #expect(admitted(.before(positions[2])) == [true, true, false, false])
        #expect(admitted(.after(positions[1])) == [false, false, true, true])
        #expect(HistoryPage(.newest, limit: 1).isDescending)
        #expect(HistoryPage(.before(positions[0]), limit: 1).isDescending)
        #expect(!HistoryPage(.after(positions[0]), limit: 1).isDescending)
    }

    private func position(_ bits: UInt64, _ id: String) -> HistoryPosition {
        HistoryPosition(time: HybridTimestamp(bits: bits), id: MessageID(checked: id))
    }

    private func time(_ random: inout SplitMix64) -> HybridTimestamp {
        HybridTimestamp(bits: random.next() >> UInt64(random.below(60)))
    }
}
