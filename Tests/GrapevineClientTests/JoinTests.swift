import Glibc
import TestKit
import Testing

@testable import GrapevineClient

/// The laws of the confirmed state: what nodes tell may be merged in any order, and twice.
@Suite struct JoinTests {
    @Test(arguments: 0..<50) func `kept seeds`(_ seed: UInt64) { check(seed) }

    @Test func `fresh seeds`() {
        let first = UInt64(time(nil)) * 1_000
        for seed in first..<(first + 400) { check(seed) }
    }

    private func check(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        check(seed, (0..<8).map { _ in messagePart(&random) }, &random) { $0.merge($1) }
        check(seed, (0..<8).map { _ in markPart(&random) }, &random) { $0.merge($1) }
        check(seed, (0..<8).map { _ in itemPart(&random) }, &random) { $0.merge($1) }
        check(seed, (0..<8).map { _ in profilePart(&random) }, &random) { $0.merge($1) }
    }

    /// Merges the parts in two orders, some of them twice, alone and as two halves.
    private func check<Part: Equatable>(
        _ seed: UInt64, _ parts: [Part], _ random: inout SplitMix64,
        merge: (inout Part, Part) -> Void
    ) {
        func merged(_ parts: [Part]) -> Part {
            parts.dropFirst().reduce(into: parts[0], merge)
        }
        let whole = merged(parts)
        let shuffled = (parts + parts.prefix(Int.random(in: 0...8, using: &random)))
            .shuffled(using: &random)
        #expect(merged(shuffled) == whole, "seed \(seed)")
        var halves = merged(Array(parts.prefix(4)))
        merge(&halves, merged(Array(parts.suffix(4))))
        #expect(halves == whole, "seed \(seed)")
        for part in parts {
            var again = whole
            merge(&again, part)
            #expect(again == whole, "seed \(seed): what is known already changes nothing")
        }
    }

    private func someTime(_ random: inout SplitMix64) -> ExactTime {
        // Few times: many are equal.
        ExactTime(
            milliseconds: Int64.random(in: 1...4, using: &random),
            counter: UInt16.random(in: 0...1, using: &random))
    }

    private func someUser(_ random: inout SplitMix64) -> String {
        ["alice", "bob", "carol"][Int.random(in: 0..<3, using: &random)]
    }

    private func messagePart(_ random: inout SplitMix64) -> MessageRecord {
        var part = MessageRecord(id: "m", sent: ExactTime(milliseconds: 2))
        let time = someTime(&random)
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1:
            part.content = MessageRecord.Content(sender: "alice", kind: .image, blob: "f")
            part.text = Register("first", at: .zero)
            part.epoch = Int.random(in: 0...2, using: &random)
        case 2:
            part.content = MessageRecord.Content(sender: "alice", kind: .image, blob: "f")
            part.text = Register("text \(Int.random(in: 0..<3, using: &random))", at: time)
        case 3: part.pin = Register(Maybe(someUser(&random)), at: time)
        case 4: part.pin = Register(Maybe(), at: time)
        case 5: part.hidden = Register(.yes, at: time)
        case 6: part.hidden = Register(.no, at: time)
        default:
            part.content = MessageRecord.Content(sender: "alice")
            part.delete(at: time)
        }
        return part
    }

    private func markPart(_ random: inout SplitMix64) -> MarkRecord {
        let position = MarkRecord.Position(
            message: "m", sent: someTime(&random), at: someTime(&random))
        return Bool.random(using: &random)
            ? MarkRecord(user: "bob", read: position) : MarkRecord(user: "bob", delivered: position)
    }

    private func itemPart(_ random: inout SplitMix64) -> ItemRecord {
        var part = ItemRecord(id: "i")
        part.title = Register(
            "milk \(Int.random(in: 0..<3, using: &random))", at: someTime(&random))
        if Bool.random(using: &random) { part.due = Register(Maybe(), at: someTime(&random)) }
        if Bool.random(using: &random) { part.done = Register(.yes, at: someTime(&random)) }
        if Int.random(in: 0..<20, using: &random) == 0 { part.delete() }
        return part
    }

    private func profilePart(_ random: inout SplitMix64) -> ProfileRecord {
        var part = ProfileRecord(user: "alice")
        if Bool.random(using: &random) {
            part.name = Register(Maybe(someUser(&random)), at: someTime(&random))
        } else {
            part.photo = Register(Maybe(), at: someTime(&random))
        }
        return part
    }
}

@Suite struct MessageRecordTests {
    private func time(_ milliseconds: Int64) -> ExactTime { ExactTime(milliseconds: milliseconds) }

    private func message(sent: Int64, _ text: String, edited: Int64? = nil) -> MessageRecord {
        var record = MessageRecord(id: "m", sent: time(sent))
        record.content = MessageRecord.Content(sender: "alice")
        record.text = Register(text, at: edited.map(time) ?? .zero)
        return record
    }

    @Test func `an edit counts over the first text, also where it is earlier`() {
        var record = message(sent: 5, "first")
        var early = MessageRecord(id: "m")
        early.text = Register("early", at: time(4))
        record.merge(early)
        #expect(record.text.value == "early" && record.editedAt == time(4))
        // Another node has accepted the message earlier.
        record.merge(message(sent: 2, "first"))
        #expect(record.text.value == "early" && record.sent == time(2))
    }
}

@Suite struct ConversationRecordTests {
    @Test func `a hiding hides what is earlier, and an earlier one nothing`() {
        var conversation = ConversationRecord(id: "c")
        conversation.completeFrom = ExactTime(milliseconds: 3)
        let hidings: [(Int64, Bool)] = [(5, false), (5, false), (4, true)]
        let noted = hidings.map { milliseconds, hasLeft in
            conversation.clear(at: ExactTime(milliseconds: milliseconds), hasLeft: hasLeft)
        }
        #expect(noted == [true, true, false])
        #expect(conversation.epoch == 2)
        #expect(conversation.isCleared(ExactTime(milliseconds: 5)))
        #expect(!conversation.isCleared(ExactTime(milliseconds: 6)))
        // No message from before is left: all that follow are known.
        #expect(conversation.completeFrom == .zero)
        let hasLeft = conversation.clear(at: ExactTime(milliseconds: 6), hasLeft: true)
        #expect(hasLeft)
        #expect(conversation.completeFrom == nil)
    }
}
