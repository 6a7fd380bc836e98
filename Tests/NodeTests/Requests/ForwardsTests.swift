import Chat
import Replication
import Testing
import Wire

@testable import Node

/// The table of requests that wait for other nodes, as a value.
@Suite struct ForwardsTests {
    private let room = ConversationID(checked: "c")
    private let a = NodeName(checked: "a")
    private let b = NodeName(checked: "b")
    private let shard = ShardID(1)

    private func forward(
        of shard: ShardID? = nil, size: Int = 1, at now: UInt64 = 0
    ) -> Forward {
        Forward(
            .write(operation(send("m1")), .local, .minted), of: shard ?? self.shard,
            for: ReplySlot(session: 1, number: 1), size: size, now: now)
    }

    /// Marks the waiting requests of the shard as sent, and returns their numbers.
    private func sendOff(_ forwards: inout Forwards, to target: NodeName, now: UInt64 = 0)
        -> [UInt64]
    {
        let numbers = forwards.takeWaiting(of: shard, for: target)
        for number in numbers { forwards.noteSent(number, to: target, now: now) }
        return numbers
    }

    @Test func `they go to one member, in the order in which they came`() {
        var forwards = Forwards()
        #expect(forwards.isIdle(shard))
        for number in 1...3 { forwards.add(forward(), as: UInt64(number)) }
        #expect(!forwards.isIdle(shard) && forwards.isIdle(ShardID(2)))
        #expect(sendOff(&forwards, to: a) == [1, 2, 3])
        forwards.add(forward(), as: 4)
        #expect(forwards.waitingShards == [shard])
        #expect(sendOff(&forwards, to: a) == [4])
        #expect(forwards.waitingShards.isEmpty)
    }

    @Test func `what is with one member holds up what would go to another, or stay here`() {
        var forwards = Forwards()
        forwards.add(forward(), as: 1)
        #expect(sendOff(&forwards, to: a) == [1])
        forwards.add(forward(), as: 2)
        #expect(forwards.takeWaiting(of: shard, for: b).isEmpty)
        #expect(forwards.takeWaiting(of: shard, for: nil).isEmpty)
        #expect(forwards.remove(1) != nil)
        #expect(!forwards.isIdle(shard))
        #expect(forwards.takeWaiting(of: shard, for: nil) == [2])
        #expect(forwards.remove(2) != nil)
        #expect(forwards.isIdle(shard) && forwards.isEmpty)
    }

    @Test func `what is not answered in time goes to the next, with all behind it`() {
        var forwards = Forwards()
        for number in 1...2 { forwards.add(forward(), as: UInt64(number)) }
        #expect(sendOff(&forwards, to: a, now: 0) == [1, 2])
        forwards.add(forward(at: 499), as: 3)
        #expect(sendOff(&forwards, to: a, now: 499) == [3])
        forwards.add(forward(at: 499), as: 4)
        #expect(forwards.takeBackOverdue(now: 499).isEmpty)
        #expect(forwards.takeBackOverdue(now: 500).map(\.name) == [a])
        #expect(sendOff(&forwards, to: b, now: 500) == [1, 2, 3, 4])
    }

    @Test func `who has carried it out has longer, and does not hold up the others`() {
        var forwards = Forwards()
        for number in 1...2 { forwards.add(forward(), as: UInt64(number)) }
        #expect(sendOff(&forwards, to: a) == [1, 2])
        forwards.update(1) { $0.isTaken = true }
        #expect(forwards.takeBackOverdue(now: 500).map(\.name) == [a])
        #expect(forwards[1]?.target == a && forwards[2]?.target == nil)
        #expect(forwards.takeBackOverdue(now: 1_499).isEmpty)
        #expect(forwards.takeBackOverdue(now: 1_500).map(\.shard) == [shard])
        #expect(forwards[1]?.target == nil)
    }

    @Test func `what was with a member that is gone waits for another, also what it had done`() {
        var forwards = Forwards()
        for number in 1...2 { forwards.add(forward(), as: UInt64(number)) }
        #expect(sendOff(&forwards, to: a) == [1, 2])
        forwards.update(1) { $0.isTaken = true }
        forwards.takeBack(from: b, now: 10)
        #expect(forwards.waitingShards.isEmpty)
        forwards.takeBack(from: a, now: 10)
        #expect(sendOff(&forwards, to: b, now: 10) == [1, 2])
    }

    @Test func `the second who is asked is told that the first may have done it`() {
        var forwards = Forwards()
        forwards.add(forward(), as: 1)
        let asked = forwards[1]?.next
        #expect(sendOff(&forwards, to: a, now: 5) == [1])
        forwards.takeBack(1, isUndone: true)
        let afterDenial = forwards[1]?.next
        #expect(sendOff(&forwards, to: a, now: 6) == [1])
        forwards.takeBack(from: a, now: 7)
        #expect(asked == .write(operation(send("m1")), .local, .minted))
        #expect(afterDenial == .write(operation(send("m1")), .local, .first))
        #expect(forwards[1]?.next == .write(operation(send("m1")), .local, .again))
    }

    @Test func `only a write may have been done by a member that fell silent`() {
        for (request, told) in [
            (.write(operation(send("m1")), .local, .minted), ShardFailure.unanswered),
            (.read(AnyQuery(PinsQuery(room)), UserID(checked: "ann")), .unreachable),
        ] as [(PeerRequest.Request, ShardFailure)] {
            var forwards = Forwards()
            let slot = ReplySlot(session: 1, number: 1)
            forwards.add(Forward(request, of: shard, for: slot, size: 1, now: 0), as: 1)
            #expect(sendOff(&forwards, to: a) == [1])
            forwards.takeBack(from: a, now: 7)
            #expect(forwards[1]?.outcome(of: .unreachable) == .failed(told))
        }
    }

    @Test func `what a failed commit did not keep may be with other owners`() {
        var forwards = Forwards()
        forwards.add(forward(), as: 1)
        #expect(sendOff(&forwards, to: a) == [1])
        forwards.takeBack(1, isUndone: false)
        #expect(forwards[1]?.mayBeDone == true)
    }

    @Test func `each time something is taken back a round begins, for that shard`() {
        var forwards = Forwards()
        for number in 1...2 { forwards.add(forward(), as: UInt64(number)) }
        forwards.add(forward(of: ShardID(2)), as: 3)
        #expect(sendOff(&forwards, to: a) == [1, 2])
        let first = forwards.round(of: shard)
        #expect(forwards[1]?.round == first && forwards[2]?.round == first)
        forwards.takeBack(1, isUndone: true)
        let second = forwards.round(of: shard)
        #expect(second > first && forwards.round(of: ShardID(2)) < second)
        #expect(sendOff(&forwards, to: b) == [1, 2])
        #expect(forwards[1]?.round == second && forwards[2]?.round == second)
    }

    @Test func `a session's first waiting reply is known`() {
        var forwards = Forwards()
        for number in UInt64(1)...3 {
            let slot = ReplySlot(session: 7, number: number)
            forwards.add(
                Forward(
                    .read(AnyQuery(UnreadQuery()), alice), of: shard, for: slot, size: 1, now: 0),
                as: number)
        }
        #expect(forwards.firstSlot(of: 7) == 1 && forwards.firstSlot(of: 8) == nil)
        #expect(forwards.remove(1) != nil)
        #expect(forwards.firstSlot(of: 7) == 2)
        #expect(forwards.removeHopeless(now: 5_000).count == 2)
        #expect(forwards.firstSlot(of: 7) == nil && forwards.isIdle(shard) && forwards.isEmpty)
    }

    @Test func `with nobody to ask it is given up after a second, in any case after three`() {
        var forwards = Forwards()
        for number in 1...2 { forwards.add(forward(at: 100), as: UInt64(number)) }
        #expect(forwards.removeHopeless(now: 1_099).isEmpty)
        var left = forwards
        #expect(left.removeHopeless(now: 1_100).count == 2)
        #expect(sendOff(&forwards, to: a, now: 1_050) == [1, 2])
        #expect(forwards.removeHopeless(now: 1_100).isEmpty)
        forwards.takeBack(from: a, now: 1_200)
        #expect(forwards.removeHopeless(now: 2_199).isEmpty)
        #expect(sendOff(&forwards, to: b, now: 2_199) == [1, 2])
        #expect(forwards.removeHopeless(now: 3_099).isEmpty)
        #expect(forwards.removeHopeless(now: 3_100).count == 2)
        #expect(forwards.isEmpty)
    }

    @Test func `who says at once that it cannot does not make anybody wait longer`() {
        var forwards = Forwards()
        forwards.add(forward(), as: 1)
        #expect(sendOff(&forwards, to: a, now: 900) == [1])
        forwards.takeBack(1, isUndone: true)
        #expect(forwards[1]?.mayBeDone == false)
        #expect(forwards.removeHopeless(now: 999).isEmpty)
        #expect(forwards.removeHopeless(now: 1_000).count == 1)
    }

    @Test func `what stood behind a refusal may have been done all the same`() {
        var forwards = Forwards()
        for number in 1...3 { forwards.add(forward(), as: UInt64(number)) }
        #expect(sendOff(&forwards, to: a) == [1, 2, 3])
        forwards.update(3) { $0.isTaken = true }
        forwards.takeBack(1, isUndone: true)
        #expect(forwards[1]?.mayBeDone == false && forwards[2]?.mayBeDone == true)
        #expect(forwards[3]?.target == a)
        // A member that had executed one and lost it again keeps the others.
        forwards.takeBack(3, isUndone: false)
        #expect(sendOff(&forwards, to: b) == [1, 2, 3])
    }

    @Test func `what stood behind a refusal of all that follows was not done`() {
        var forwards = Forwards()
        for number in 1...3 { forwards.add(forward(), as: UInt64(number)) }
        #expect(sendOff(&forwards, to: a) == [1, 2, 3])
        forwards.takeBack(2, isUndone: true, deniesLater: true)
        #expect(forwards[1]?.mayBeDone == true)
        #expect(forwards[2]?.mayBeDone == false && forwards[3]?.mayBeDone == false)
        // What may have been executed before may still have been.
        #expect(sendOff(&forwards, to: b) == [1, 2, 3])
        forwards.takeBack(1, isUndone: true, deniesLater: true)
        #expect(forwards[1]?.mayBeDone == true && forwards[2]?.mayBeDone == false)
    }

    @Test func `what could not be sent keeps its place`() {
        var forwards = Forwards()
        for number in 1...3 { forwards.add(forward(), as: UInt64(number)) }
        let numbers = forwards.takeWaiting(of: shard, for: a)
        forwards.noteSent(numbers[0], to: a, now: 0)
        forwards.add(forward(), as: 4)
        forwards.putBack(Array(numbers[1...]), of: shard)
        #expect(forwards.takeWaiting(of: shard, for: a) == [2, 3, 4])
    }

    @Test func `they are bounded by number and by bytes`() {
        var forwards = Forwards()
        for number in 0..<Forwards.countHigh { forwards.add(forward(), as: UInt64(number)) }
        #expect(forwards.isHigh && !forwards.isFull && !forwards.isLow)
        for number in 0..<Forwards.countHigh { _ = forwards.remove(UInt64(number)) }
        #expect(forwards.isLow && forwards.isEmpty)
        forwards.add(forward(size: Forwards.bytesHigh), as: 1)
        #expect(forwards.isHigh && !forwards.isFull)
        forwards.add(forward(size: Forwards.bytesMax - Forwards.bytesHigh), as: 2)
        #expect(forwards.isFull)
        _ = forwards.remove(2)
        #expect(!forwards.isFull)
    }
}

@Suite struct RoutesTests {
    private let a = NodeName(checked: "a")
    private let shard = ShardID(1)

    @Test func `who could not is not asked again for a while, for that shard`() {
        var routes = Routes()
        routes.noteRefused(a, shard, now: 1_000)
        #expect(!routes.mayAsk(a, for: shard, heardAt: 1_100, now: 1_199))
        #expect(routes.mayAsk(a, for: ShardID(2), heardAt: 1_000, now: 1_001))
        #expect(routes.mayAsk(a, for: shard, heardAt: 1_000, now: 1_200))
        routes.onTick(now: 1_100)
        #expect(!routes.mayAsk(a, for: shard, heardAt: 1_100, now: 1_199))
    }

    @Test func `who did not answer is not asked before something was heard of it`() {
        var routes = Routes()
        routes.noteMute(a, now: 1_000)
        #expect(!routes.mayAsk(a, for: shard, heardAt: 1_000, now: 9_000))
        #expect(!routes.mayAsk(a, for: shard, heardAt: 1_001, now: 1_199))
        #expect(routes.mayAsk(a, for: shard, heardAt: 1_001, now: 1_200))
        routes.noteMute(a, now: 2_000)
        routes.unmute(a)
        #expect(routes.mayAsk(a, for: shard, heardAt: 0, now: 2_000))
    }
}
