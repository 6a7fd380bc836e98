import NodeKit
import Testing
import Wire

@testable import Session

@Suite struct HeldBytesTests {
    private static let mebibyte = 1 << 20
    private static let patience = SessionLimits.stalledMillisecondsMax

    private var held = HeldBytes()

    @Test mutating func `what is free to all is not counted`() {
        for id in 0..<UInt64(10_000) {
            held.recordHeld(
                id, of: .session(id), holds: SessionLimits.freeBytes, isItsTurn: true, taken: 0,
                now: 0)
        }
        #expect(held.total == 0)
        #expect(!held.isTight)
    }

    @Test mutating func `the total follows what each holds`() {
        held.recordHeld(1, of: .session(1), holds: 100_000, isItsTurn: true, taken: 0, now: 0)
        held.recordHeld(2, of: .session(2), holds: 50_000, isItsTurn: true, taken: 0, now: 0)
        held.recordHeld(1, of: .session(1), holds: 70_000, isItsTurn: true, taken: 0, now: 0)
        #expect(held.total == 120_000)
        held.recordHeld(1, of: .session(1), holds: 10, isItsTurn: true, taken: 0, now: 0)
        held.removeSession(2)
        held.removeSession(3)
        #expect(held.total == 0)
    }

    @Test mutating func `who stalls while memory is tight goes, the largest first`() {
        fill(with: 4)
        #expect(held.isTight)
        let got1 = held.takeStalled(now: Self.patience - 1)
        #expect(got1.isEmpty)
        let stalled = held.takeStalled(now: Self.patience)
        #expect(stalled.first == 4)
        #expect(!stalled.contains(1))
    }

    @Test mutating func `nobody goes while memory is not tight`() {
        held.recordHeld(
            1, of: .session(1), holds: SessionLimits.heldBytesTight - 1, isItsTurn: true, taken: 0,
            now: 0)
        let got2 = held.takeStalled(now: 1_000_000)
        #expect(got2.isEmpty)
    }

    @Test mutating func `who reads stays, also the slowest that still moves`() {
        fill(with: 4)
        let read = UInt64(SessionLimits.movingBytesMin)
        held.recordHeld(
            4, of: .session(4), holds: 4 * Self.mebibyte, isItsTurn: true, taken: read, now: 500)
        held.recordHeld(
            3, of: .session(3), holds: 3 * Self.mebibyte, isItsTurn: true, taken: read - 1, now: 500
        )
        let stalled = held.takeStalled(now: Self.patience)
        #expect(!stalled.contains(4))
        #expect(stalled.contains(3))
        // What it has read before does not count the next time.
        let got3 = held.takeStalled(now: 2 * Self.patience)
        #expect(got3.contains(4))
    }

    @Test mutating func `who waits for the node does not stall`() {
        fill(with: 4)
        held.recordHeld(
            4, of: .session(4), holds: 4 * Self.mebibyte, isItsTurn: false, taken: 0, now: 10)
        let got4 = held.takeStalled(now: Self.patience + 10)
        #expect(!got4.contains(4))
    }

    @Test mutating func `room goes to who asks for least`() {
        held.recordHeld(
            9, of: .session(9), holds: SessionLimits.heldBytesMax - 100_000, isItsTurn: true,
            taken: 0, now: 0)
        held.wait(1, of: .session(1), for: 16 * Self.mebibyte)
        held.wait(2, of: .session(2), for: 80_000)
        held.wait(3, of: .session(3), for: 80_000)
        let got5 = held.takeWaiting()
        #expect(got5 == 2)
        let got6 = held.takeWaiting()
        #expect(got6 == 3)
        let got7 = held.takeWaiting()
        #expect(got7 == nil)
        held.removeSession(9)
        let got8 = held.takeWaiting()
        #expect(got8 == 1)
        let got9 = held.takeWaiting()
        #expect(got9 == nil)
    }

    @Test mutating func `a reply longer than everything may have is made once half is free`() {
        #expect(held.hasCapacity(for: .max / 2, of: .session(2)))
        held.recordHeld(
            1, of: .session(1), holds: SessionLimits.heldBytesMax / 2 + 1, isItsTurn: true,
            taken: 0, now: 0)
        #expect(!held.hasCapacity(for: .max / 2, of: .session(2)))
    }

    @Test mutating func `who holds little does not wait for who holds much`() {
        let asked = SessionLimits.listBytesEstimated
        held.recordHeld(
            1, of: .session(1), holds: 3 * SessionLimits.heldBytesMax, isItsTurn: true, taken: 0,
            now: 0)
        held.wait(1, of: .session(1), for: asked / 2)
        let count = UInt64(SessionLimits.heldBytesOfLight / asked)
        for id in 2...count + 2 {
            held.wait(id, of: .session(id), for: asked)
            let got = held.takeWaiting()
            // Session 1 counts as one of those, with the first MiB of what it holds.
            #expect(got == (id <= count ? id : nil), "\(id)")
            guard let got else { continue }
            held.recordHeld(
                got, of: .session(got), holds: asked, isItsTurn: true, taken: 0, now: 0)
            #expect(!held.hasCapacity(for: 1, of: .session(got)), "it holds no more")
        }
        held.removeSession(2)
        let next = held.takeWaiting()
        #expect(next == count + 1)
    }

    @Test mutating func `a user who holds much on many connections waits`() {
        let user = TurnSource.user(UserID("alice")!)
        for id in 1...40 as ClosedRange<UInt64> {
            held.recordHeld(
                id, of: user, holds: Self.mebibyte, isItsTurn: true, taken: 0, now: 0)
        }
        #expect(!held.hasCapacity(for: 1, of: user))
        #expect(held.hasCapacity(for: Self.mebibyte, of: .user(UserID("bob")!)))
        for id in 1...40 as ClosedRange<UInt64> { held.removeSession(id) }
        #expect(held.total == 0)
        #expect(held.hasCapacity(for: 20 * Self.mebibyte, of: user))
    }

    @Test mutating func `only a list of unknown size counts as a short one`() {
        held.recordHeld(
            1, of: .session(1), holds: SessionLimits.heldBytesMax, isItsTurn: true, taken: 0,
            now: 0)
        let texts = SessionLimits.textsBytesEstimated
        #expect(held.hasCapacity(for: texts, of: .session(2)))
        #expect(!held.hasCapacity(for: texts + 1, of: .session(2)))
        #expect(held.hasCapacity(for: Self.mebibyte, of: .session(2), isMeasured: true))
        #expect(!held.hasCapacity(for: Self.mebibyte + 1, of: .session(2), isMeasured: true))
    }

    @Test mutating func `who is gone waits no longer`() {
        held.wait(1, of: .session(1), for: 5)
        held.removeSession(1)
        let got10 = held.takeWaiting()
        #expect(got10 == nil)
    }

    @Test mutating func `what many share counts once, and goes with the last`() {
        held.addBytes(shared: 12 * Self.mebibyte)
        for id in 1...4 as ClosedRange<UInt64> {
            held.recordHeld(
                id, of: .session(id), holds: 0, sharing: 12 * Self.mebibyte, isItsTurn: true,
                taken: 0, now: 0)
        }
        #expect(held.total == 12 * Self.mebibyte)
        for id in 1...4 as ClosedRange<UInt64> { held.removeSession(id) }
        #expect(held.total == 12 * Self.mebibyte)
        held.addBytes(shared: -12 * Self.mebibyte)
        #expect(held.total == 0)
    }

    @Test mutating func `of those who share, each that goes counts for its part`() {
        held.addBytes(shared: 12 * Self.mebibyte)
        held.recordHeld(9, of: .session(9), holds: Self.mebibyte, isItsTurn: true, taken: 0, now: 0)
        for id in 1...4 as ClosedRange<UInt64> {
            held.recordHeld(
                id, of: .session(id), holds: 0, sharing: 12 * Self.mebibyte, isItsTurn: true,
                taken: 0, now: 0)
        }
        // Of 13 MiB, 8 have to go: three sessions, each with 3 of the 12 that four share.
        let stalled = held.takeStalled(now: Self.patience)
        #expect(stalled.count == 3)
        #expect(!stalled.contains(9))
        // The session that is left still holds all 12 MiB.
        for id in stalled { held.removeSession(id) }
        let rest = held.takeStalled(now: Self.patience)
        #expect(rest.count == 1)
    }

    /// Has session 1 hold a mebibyte, session 2 two, and so on up to `count`.
    private mutating func fill(with count: UInt64) {
        for id in 1...count {
            held.recordHeld(
                id, of: .session(id), holds: Int(id) * Self.mebibyte + 1, isItsTurn: true, taken: 0,
                now: 0)
        }
    }
}
