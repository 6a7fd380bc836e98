import Testing

@testable import Simulator

/// What is certain about a device's notifications, and what cannot be decided.
@Suite struct PhoneExpectationsTests {
    private var expectations = PhoneExpectations()

    private func message(_ id: String = "m", from askedAt: UInt64, to end: UInt64) -> ClusterMessage
    {
        var message = ClusterMessage(
            name: ClusterMessage.Name(id: id, conversation: "c"), sender: "bob", text: "")
        message.askedAt = askedAt * 1_000
        message.answeredAt = end * 1_000
        return message
    }

    private mutating func say(_ request: ClusterRequest.Ringing, _ askedAt: UInt64, _ end: UInt64?)
    {
        expectations.ask(request, at: askedAt * 1_000)
        guard let end else { return }
        expectations.acknowledge(request, askedAt: askedAt * 1_000, at: end * 1_000)
    }

    /// Requests a list, and receives it.
    private mutating func list(
        _ lines: [(id: String, message: String)], _ askedAt: UInt64, _ end: UInt64,
        isCaughtUp: Bool = true, knowing known: Set<Int> = []
    ) {
        expectations.ask(.list, at: askedAt * 1_000, isCaughtUp: isCaughtUp)
        expectations.setList(lines, at: end * 1_000, knowing: known)
    }

    @Test mutating func `a message is surely viewed between two answers, as far as clocks agree`() {
        say(.view("c"), 1_000, 1_010)
        say(.view(nil), 5_000, 5_010)
        #expect(expectations.wasViewing(message(from: 500, to: 600)) == false)
        #expect(expectations.wasViewing(message(from: 900, to: 950)) == nil)
        #expect(expectations.wasViewing(message(from: 1_100, to: 1_110)) == nil)
        #expect(expectations.wasViewing(message(from: 2_000, to: 2_010)) == true)
        #expect(expectations.wasViewing(message(from: 4_700, to: 4_900)) == nil)
        #expect(expectations.wasViewing(message(from: 5_300, to: 5_400)) == false)
    }

    @Test mutating func `what was not answered may be or not, until long after`() {
        say(.view("c"), 1_000, nil)
        #expect(expectations.wasViewing(message(from: 2_000, to: 2_010)) == nil)
        say(.view(nil), 9_000, 9_010)
        #expect(expectations.wasViewing(message(from: 9_500, to: 9_600)) == false)
    }

    @Test mutating func `what is taken off is what was listed up to it`() {
        let (first, second) = (message("a", from: 10, to: 20), message("b", from: 30, to: 40))
        list([("1", "a"), ("2", "b")], 80, 90)
        say(.acknowledge("1"), 100, 110)
        #expect(expectations.acknowledged == ["a"])
        #expect(expectations.mayBeAcknowledged(first) && !expectations.mayBeAcknowledged(second))
        #expect(!expectations.mayBeAcknowledged(message("c", from: 50, to: 60)))
        say(.list, 120, nil)
        say(.acknowledge("2"), 130, nil)
        #expect(expectations.acknowledged == ["a"] && expectations.mayBeAcknowledged(second))
        // It may have been on the list that never came, even if it was sent after the request.
        #expect(expectations.mayBeAcknowledged(message("c", from: 50, to: 60)))
        #expect(expectations.mayBeAcknowledged(message("d", from: 125, to: 126)))
        #expect(!expectations.mayBeAcknowledged(message("e", from: 4_200, to: 4_210)))
    }

    @Test mutating func `what a list took for viewed may go with what is listed behind it`() {
        say(.view("c"), 1_000, 1_010)
        say(.view(nil), 2_000, 2_010)
        let unviewed = message("a", from: 3_000, to: 3_010)
        list([("2", "b")], 2_500, 2_510, isCaughtUp: false)
        #expect(!expectations.mayBePassedOver(unviewed))
        say(.acknowledge("2"), 3_500, 3_510)
        // That list was made before the message was sent.
        #expect(!expectations.mayBePassedOver(unviewed))
        list([("2", "b")], 3_600, 3_610, isCaughtUp: false)
        #expect(!expectations.mayBePassedOver(unviewed))
        say(.acknowledge("2"), 3_700, 3_710)
        #expect(expectations.mayBePassedOver(unviewed))
        #expect(!expectations.mayBePassedOver(message("d", from: 3_650, to: 3_660)))
        #expect(!expectations.mayBePassedOver(message("e", from: 500, to: 600)))
    }

    @Test mutating func `who knows the last that was viewed passes nothing over`() {
        say(.view("c"), 1_000, 1_010)
        say(.view(nil), 2_000, 2_010)
        let unviewed = message("a", from: 3_000, to: 3_010)
        list([("2", "b")], 3_100, 3_110, isCaughtUp: false, knowing: [1])
        say(.acknowledge("2"), 3_200, 3_210)
        #expect(!expectations.mayBePassedOver(unviewed))
        list([("2", "b")], 3_300, 3_310, isCaughtUp: false, knowing: [0])
        say(.acknowledge("2"), 3_400, 3_410)
        #expect(expectations.mayBePassedOver(unviewed))
    }

    /// Seed 1795384526694 of whole nodes: both owners of what it viewed were unreachable, one with
    /// an empty disk and one forgotten, and the second came back.
    @Test mutating func `what was listed by who had not heard that it was viewed stays`() {
        say(.view("c"), 1_000, 1_010)
        let viewed = message("a", from: 2_000, to: 2_010)
        #expect(expectations.wasViewing(viewed) == true)
        // No list has contained it yet.
        #expect(!expectations.mayBeListedBlindly(viewed))
        list([("1", "b")], 2_050, 2_060, isCaughtUp: false)
        #expect(!expectations.mayBeListedBlindly(viewed))
        list([("1", "b"), ("2", "a")], 2_100, 2_110, isCaughtUp: false)
        #expect(expectations.mayBeListedBlindly(viewed))
        // The earlier list is the cause, whichever list shows it again.
        list([("1", "b"), ("2", "a")], 2_200, 2_210)
        #expect(expectations.mayBeListedBlindly(viewed))
    }

    @Test mutating func `who has heard that it was viewed has no cause to list it`() {
        say(.view("c"), 1_000, 1_010)
        list([("1", "a")], 2_100, 2_110, isCaughtUp: false, knowing: [0])
        list([("1", "a"), ("2", "b")], 2_200, 2_210)
        list([("1", "a"), ("2", "b")], 2_300, 2_310, isCaughtUp: false)
        #expect(!expectations.mayBeListedBlindly(message("a", from: 2_000, to: 2_010)))
        #expect(!expectations.mayBeListedBlindly(message("b", from: 2_000, to: 2_010)))
    }

    @Test mutating func `a list that never came may be made of anything on its way`() {
        say(.view("c"), 1_000, 1_010)
        expectations.ask(.list, at: 2_000_000, isCaughtUp: false)
        #expect(expectations.mayBeListedBlindly(message("a", from: 5_900, to: 5_910)))
        #expect(!expectations.mayBeListedBlindly(message("a", from: 6_100, to: 6_110)))
        // In sync when the list was requested; since then the device has viewed something, or
        // nothing.
        expectations.ask(.list, at: 10_000_000)
        #expect(!expectations.mayBeListedBlindly(message("a", from: 12_000, to: 12_010)))
        say(.view("c"), 11_000, 11_010)
        #expect(expectations.mayBeListedBlindly(message("a", from: 12_000, to: 12_010)))
    }

    @Test mutating func `what was lost with a disk counts for nothing`() {
        say(.add, 100, 110)
        list([("1", "a")], 150, 160)
        say(.acknowledge("1"), 200, 210)
        #expect(expectations.isSurelyAdded(before: message(from: 900, to: 910)))
        expectations.lose(at: 300_000)
        #expect(
            !expectations.isSurelyAdded(before: message(from: 900, to: 910))
                && expectations.acknowledged.isEmpty)
        #expect(expectations.wasViewing(message(from: 900, to: 910)) == nil)
        expectations.acknowledge(.add, askedAt: 250_000, at: 400_000)
        #expect(expectations.addedAt == nil)
    }

    @Test
    mutating func `a list that was asked before a loss and comes after it counts for nothing`() {
        expectations.ask(.list, at: 100_000)
        expectations.lose(at: 150_000)
        expectations.setList([(id: "1", message: "a")], at: 160_000)
        #expect(expectations.list.isEmpty)
        list([("1", "a")], 200, 210)
        #expect(expectations.list.count == 1)
    }

    @Test mutating func `a list after a loss is made by who may not know what was viewed before`() {
        let viewed = message("a", from: 2_000, to: 2_010)
        say(.view("c"), 1_000, 1_010)
        list([("1", "a")], 2_300, 2_310)
        #expect(expectations.wasViewing(viewed) == true && !expectations.mayBeListedBlindly(viewed))
        let later = message("b", from: 2_320, to: 2_330)
        expectations.lose(at: 3_000_000)
        list([("1", "a"), ("2", "b")], 4_000, 4_010)
        #expect(expectations.wasViewing(later) == true && expectations.mayBeListedBlindly(later))
        #expect(!expectations.mayBeListedBlindly(viewed))
    }
}
