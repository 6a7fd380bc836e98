import Testing

@testable import Simulator

/// What is surely known of a device's notifications, and what cannot be told.
@Suite struct PhoneBookTests {
    private var book = PhoneBook()

    private func message(_ id: String = "m", from askedAt: UInt64, to end: UInt64) -> WholeMessage {
        var message = WholeMessage(
            name: WholeMessage.Name(id: id, conversation: "c"), sender: "bob", text: "")
        message.askedAt = askedAt * 1_000
        message.answeredAt = end * 1_000
        return message
    }

    private mutating func say(_ request: WholeRequest.Ringing, _ askedAt: UInt64, _ end: UInt64?) {
        book.ask(request, at: askedAt * 1_000)
        guard let end else { return }
        book.acknowledge(request, askedAt: askedAt * 1_000, at: end * 1_000)
    }

    @Test mutating func `a message is surely viewed between two answers, as far as clocks agree`() {
        say(.view("c"), 1_000, 1_010)
        say(.view(nil), 5_000, 5_010)
        #expect(book.wasViewing(message(from: 500, to: 600)) == false)
        #expect(book.wasViewing(message(from: 900, to: 950)) == nil)
        #expect(book.wasViewing(message(from: 1_100, to: 1_110)) == nil)
        #expect(book.wasViewing(message(from: 2_000, to: 2_010)) == true)
        #expect(book.wasViewing(message(from: 4_700, to: 4_900)) == nil)
        #expect(book.wasViewing(message(from: 5_300, to: 5_400)) == false)
    }

    @Test mutating func `what was not answered may be or not, until long after`() {
        say(.view("c"), 1_000, nil)
        #expect(book.wasViewing(message(from: 2_000, to: 2_010)) == nil)
        say(.view(nil), 9_000, 9_010)
        #expect(book.wasViewing(message(from: 9_500, to: 9_600)) == false)
    }

    @Test mutating func `what is taken off is what was listed up to it`() {
        let (first, second) = (message("a", from: 10, to: 20), message("b", from: 30, to: 40))
        book.take([("1", "a"), ("2", "b")])
        say(.takeOff("1"), 100, 110)
        #expect(book.takenOff == ["a"])
        #expect(book.mayBeTakenOff(first) && !book.mayBeTakenOff(second))
        #expect(!book.mayBeTakenOff(message("c", from: 50, to: 60)))
        say(.list, 120, nil)
        say(.takeOff("2"), 130, nil)
        #expect(book.takenOff == ["a"] && book.mayBeTakenOff(second))
        // It may have been on the list that never came.
        #expect(book.mayBeTakenOff(message("c", from: 50, to: 60)))
    }

    @Test mutating func `what a list took for viewed may go with what is listed behind it`() {
        say(.view("c"), 1_000, 1_010)
        say(.view(nil), 2_000, 2_010)
        let unviewed = message("a", from: 3_000, to: 3_010)
        book.noteBlindList(at: 2_500_000)
        book.take([("2", "b")])
        #expect(!book.mayBePassedOver(unviewed))
        say(.takeOff("2"), 3_500, 3_510)
        // That list was made before it was sent.
        #expect(!book.mayBePassedOver(unviewed))
        book.noteBlindList(at: 3_600_000)
        #expect(!book.mayBePassedOver(unviewed))
        say(.takeOff("2"), 3_700, 3_710)
        #expect(book.mayBePassedOver(unviewed))
        #expect(!book.mayBePassedOver(message("d", from: 3_650, to: 3_660)))
        #expect(!book.mayBePassedOver(message("e", from: 500, to: 600)))
    }

    @Test mutating func `what was lost with a disk counts for nothing`() {
        say(.add, 100, 110)
        book.take([("1", "a")])
        say(.takeOff("1"), 200, 210)
        #expect(book.isSurelyAdded(before: message(from: 900, to: 910)))
        book.lose(at: 300_000)
        #expect(!book.isSurelyAdded(before: message(from: 900, to: 910)) && book.takenOff.isEmpty)
        #expect(book.wasViewing(message(from: 900, to: 910)) == nil)
        book.acknowledge(.add, askedAt: 250_000, at: 400_000)
        #expect(book.addedAt == nil)
    }
}
