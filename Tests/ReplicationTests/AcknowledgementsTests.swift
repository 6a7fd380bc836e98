import CRDT
import Testing

@testable import Replication

@Suite struct AcknowledgementsTests {
    private func waiter(_ number: UInt64) -> Acknowledgements.Waiter {
        Acknowledgements.Waiter(
            slot: ReplySlot(session: 1, number: number), context: Context(), level: .majority,
            deadline: 0)
    }

    private func settle(
        _ acknowledgements: inout Acknowledgements, _ numbers: Set<UInt64>? = nil
    ) -> [UInt64] {
        acknowledgements.takeSettled { waiter in
            guard numbers?.contains(waiter.slot.number) ?? true else { return nil }
            return Stored(on: 1, owners: 1, isEnough: true)
        }.map(\.0.number)
    }

    @Test func `a reply waits for its own commit, and commits are stored in order`() {
        var acknowledgements = Acknowledgements()
        acknowledgements.add(waiter(1), awaiting: .next)
        #expect(settle(&acknowledgements) == [])
        acknowledgements.noteHandedOut(with: 7)
        acknowledgements.add(waiter(2), awaiting: .last(7))
        acknowledgements.add(waiter(3), awaiting: .next)
        acknowledgements.noteHandedOut(with: 9)
        acknowledgements.add(waiter(4), awaiting: .last(9))
        acknowledgements.add(waiter(5), awaiting: .next)
        #expect(settle(&acknowledgements) == [])
        acknowledgements.noteCommit(of: 8)
        #expect(settle(&acknowledgements) == [1, 2])
        acknowledgements.noteCommit(of: 9)
        #expect(settle(&acknowledgements) == [3, 4])
        #expect(!acknowledgements.isEmpty)
    }

    @Test func `a reply to a commit that nobody else waits for is not lost`() {
        var acknowledgements = Acknowledgements()
        acknowledgements.noteHandedOut(with: 3)
        acknowledgements.add(waiter(1), awaiting: .last(3))
        #expect(settle(&acknowledgements) == [])
        acknowledgements.noteCommit(of: 3)
        #expect(settle(&acknowledgements) == [1])
        #expect(acknowledgements.isEmpty)
    }

    @Test func `replies that stay keep their order, and the commits behind them follow`() {
        var acknowledgements = Acknowledgements()
        for number in 1...6 { acknowledgements.add(waiter(UInt64(number)), awaiting: .none) }
        #expect(settle(&acknowledgements, [1, 4]) == [1, 4])
        acknowledgements.add(waiter(7), awaiting: .next)
        acknowledgements.noteHandedOut(with: 1)
        acknowledgements.noteCommit(of: 1)
        #expect(settle(&acknowledgements) == [2, 3, 5, 6, 7])
    }

    @Test func `a failed commit takes what no disk has, and nothing that is stored`() {
        var acknowledgements = Acknowledgements()
        acknowledgements.add(waiter(1), awaiting: .none)
        acknowledgements.add(waiter(2), awaiting: .next)
        acknowledgements.noteHandedOut(with: 4)
        acknowledgements.add(waiter(3), awaiting: .next)
        #expect(acknowledgements.takeFailed().map(\.number) == [2, 3])
        acknowledgements.noteCommit(of: 4)
        #expect(settle(&acknowledgements) == [1])
        #expect(acknowledgements.isEmpty)
    }

    @Test func `a replica that starts anew takes every reply`() {
        var acknowledgements = Acknowledgements()
        acknowledgements.add(waiter(1), awaiting: .none)
        acknowledgements.add(waiter(2), awaiting: .next)
        #expect(acknowledgements.takeAll().map(\.number).sorted() == [1, 2])
        #expect(acknowledgements.isEmpty)
    }
}
