import Replication
import TestKit
import Testing
import Wire

@testable import Node

@Suite struct ListTurnsTests {
    private var turns = ListTurns()

    private func slot(_ number: UInt64) -> ReplySlot { ReplySlot(session: 1, number: number) }

    private mutating func take(_ count: Int) -> [UInt64] {
        (0..<count).compactMap { _ in turns.takeNext()?.slot.number }
    }

    @Test mutating func aUserWithManyListsDelaysAnotherByOne() {
        for number in 0..<100 { turns.append(slot(UInt64(number)), of: alice, at: .fresh) }
        turns.append(slot(100), of: UserID(checked: "bob"), at: .fresh)
        #expect(take(3) == [0, 100, 1])
        #expect(take(98).count == 98)
        #expect(turns.isIdle)
    }

    @Test mutating func aFewListsGoOnAtATimeAndNewOnesGetASliceBetween() {
        for number in 0..<10 { turns.append(slot(UInt64(number)), of: alice, at: .begun) }
        var seen: Set<UInt64> = []
        for number in 100..<120 {
            turns.append(slot(UInt64(number)), of: UserID(checked: "bob"), at: .fresh)
            var wasFresh = false
            for _ in 0..<2 {
                guard let (slot, stage) = turns.takeNext() else { continue }
                if stage == .fresh {
                    wasFresh = slot.number == number
                    continue
                }
                seen.insert(slot.number)
                turns.append(slot, of: alice, at: .open)
            }
            #expect(wasFresh)
        }
        #expect(seen == [0, 1, 2, 3])
    }
}
