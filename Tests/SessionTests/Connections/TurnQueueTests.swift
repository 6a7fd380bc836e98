import NodeKit
import Testing
import Wire

@testable import Session

@Suite struct TurnQueueTests {
    private var queue = TurnQueue()
    private let mallory = TurnSource.user(UserID(checked: "mallory"))

    private mutating func turn(using time: UInt64) -> [UInt64] {
        queue.endTurn()
        var taken: [UInt64] = []
        while let id = queue.takeWaiting() {
            taken.append(id)
            queue.subtract(used: time)
        }
        queue.open()
        return taken
    }

    @Test mutating func aUserOnManyConnectionsDelaysAnotherByOneShare() {
        for id in 0..<200 as Range<UInt64> { queue.wait(id, of: mallory) }
        queue.wait(1_000, of: .user(UserID(checked: "alice")))
        queue.wait(1_001, of: .session(1_001))
        #expect(turn(using: 2_000) == [0, 1_000, 1_001, 1])
    }

    @Test mutating func sharesAreThoseOfSourcesAndNotOfConnections() {
        for id in 0..<200 as Range<UInt64> { queue.wait(id, of: mallory) }
        queue.endTurn()
        #expect(queue.grant.time == SessionLimits.turnMicrosecondsMax / 4)
        #expect(queue.grant.lines == SessionLimits.slotsMax)
    }

    @Test mutating func aSessionThatWaitsAgainIsNotServedForEverInOneTurn() {
        queue.wait(1, of: mallory)
        queue.endTurn()
        #expect(queue.takeWaiting() == 1)
        queue.wait(1, of: mallory)
        #expect(queue.takeWaiting() == nil)
    }
}
