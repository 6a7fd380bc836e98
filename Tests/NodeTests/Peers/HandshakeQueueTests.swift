import Testing

@testable import Node

@Suite struct HandshakeQueueTests {
    private let grace = HandshakePlace.graceMilliseconds
    private var queue = HandshakeQueue(placesMax: 4, millisecondsMax: 10_000)
    private var speaking: Set<UInt64> = []

    /// Checks a result outside of the macro, which cannot take a mutating call.
    private func check(_ holds: Bool, at place: SourceLocation = #_sourceLocation) {
        #expect(holds, sourceLocation: place)
    }

    private mutating func arrive(_ id: UInt64, from source: String, now: UInt64) -> UInt64? {
        let speaking = speaking
        return queue.onArrival(id, from: source, now: now) { speaking.contains($0) }
    }

    @Test mutating func `the oldest goes for an arrival, when all places are taken`() {
        queue = HandshakeQueue(placesMax: 3, millisecondsMax: 100)
        for id in 1...3 as ClosedRange<UInt64> {
            check(arrive(id, from: "a", now: id) == nil)
        }
        check(arrive(4, from: "a", now: 4) == 1)
        #expect(queue.count == 3)
        queue.onEnd(of: 3)
        check(arrive(5, from: "a", now: 5) == nil)
        check(arrive(6, from: "a", now: 6) == 2)
        check(arrive(7, from: "a", now: 7) == 4)
    }

    @Test mutating func `a silent connection goes before one that has spoken`() {
        queue = HandshakeQueue(placesMax: 3, millisecondsMax: 10_000)
        for id in 1...3 as ClosedRange<UInt64> { _ = arrive(id, from: "a", now: 0) }
        speaking = [1, 2]
        check(arrive(4, from: "a", now: grace) == 3)
        speaking.insert(4)
        // All have sent something: the oldest is closed.
        check(arrive(5, from: "a", now: grace) == 1)
        // The first bytes of the youngest are still on their way.
        check(arrive(6, from: "a", now: grace + 1) == 2)
        check(arrive(7, from: "a", now: 2 * grace) == 5)
    }

    @Test mutating func `a flood from one source does not displace another's handshake`() {
        queue = HandshakeQueue(placesMax: 4, millisecondsMax: 10_000)
        _ = arrive(1, from: "member", now: 0)
        for id in 2...4 as ClosedRange<UInt64> { _ = arrive(id, from: "flood", now: 1) }
        for id in 5...1_000 as ClosedRange<UInt64> {
            check(arrive(id, from: "flood", now: grace + id) != 1)
        }
        check(arrive(1_001, from: "another", now: 2_000) == 998)
    }

    @Test mutating func `a connection that takes too long is told once to go`() {
        queue = HandshakeQueue(placesMax: 3, millisecondsMax: 100)
        _ = arrive(1, from: "a", now: 0)
        _ = arrive(2, from: "a", now: 50)
        check(queue.onTime(99) == [])
        check(queue.onTime(100) == [1])
        check(queue.onTime(149) == [])
        check(queue.onTime(1_000) == [2])
        check(queue.onTime(2_000) == [])
        #expect(queue.count == 0)
    }

    @Test mutating func `a connection that is given its time anew is as one that arrives`() {
        queue = HandshakeQueue(placesMax: 3, millisecondsMax: 100)
        for id in 1...3 as ClosedRange<UInt64> { _ = arrive(id, from: "a", now: id) }
        queue.renew(1, now: 90)
        queue.renew(9, now: 90)
        check(arrive(4, from: "a", now: 91) == 2)
        check(queue.onTime(150) == [3])
        check(queue.onTime(190) == [1])
    }

    @Test mutating func `a connection that may stay has no deadline`() {
        queue = HandshakeQueue(placesMax: 1, millisecondsMax: 100)
        _ = arrive(1, from: "a", now: 0)
        queue.onEnd(of: 1)
        queue.onEnd(of: 1)
        check(queue.onTime(500) == [])
        check(arrive(2, from: "a", now: 500) == nil)
    }
}
