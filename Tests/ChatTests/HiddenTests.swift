import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

struct HiddenTests {
    private func vector(_ dots: Dot...) -> Vector {
        var vector = Vector()
        for dot in dots { vector.insert(dot) }
        return vector
    }

    @Test func `under one invitation two unite, a later invitation's counts alone`() {
        let (one, two) = (People.dot(1, 1), People.dot(2, 1))
        let stamp = Stamp(
            time: HybridTimestamp(milliseconds: 9), process: People.replica(1), counter: 1)
        let first = Hidden(invitation: nil, vector: vector(one))
        let second = Hidden(invitation: nil, vector: vector(two))
        let later = Hidden(invitation: stamp, vector: vector(two))
        for order in [[first, second, later], [later, first, second], [second, later, first]] {
            var merged = order[0]
            for hidden in order.dropFirst() { merged.merge(hidden) }
            #expect(merged == later)
        }
        var united = first
        united.merge(second)
        #expect(united.vector == vector(one, two))
    }

    @Test func `a message is hidden by the mutation that sent it, not by what changed it since`() {
        var (one, other) = (Author(1), Author(2))
        let sent = one.apply(.send("hello"), by: People.alice, to: nil)
        let dot = Dot(replica: one.writer.replica, seq: sent.changedBy.seq(of: one.writer.replica))
        let hidden = vector(dot)
        let edited = one.apply(.edit("edited"), by: People.alice, to: sent)
        let pinned = other.apply(.pin, by: People.bob, to: edited)
        #expect([sent, edited, pinned].allSatisfy { $0.isSent(within: hidden) })
        #expect(!sent.isSent(within: nil) && !sent.isSent(within: Vector()))
        let elsewhere = other.apply(.send("other"), by: People.bob, to: nil)
        #expect(!elsewhere.isSent(within: hidden))
    }

    @Test func `a message that was sent twice is hidden by either sending`() throws {
        var (one, other) = (Author(1), Author(2))
        let first = one.apply(.send("hello"), by: People.alice, to: nil)
        let second = other.apply(.send("hello"), by: People.alice, to: nil)
        let merged = first.merged(with: second)
        let dots = merged.sendings
        #expect(dots.count == 2)
        var counts = MessageCounts()
        counts.add(merged)
        for dot in dots {
            #expect(merged.isSent(within: vector(dot)))
            #expect(counts.areSent(within: vector(dot)) == nil, "to be looked at one by one")
        }
        #expect(!merged.isSent(within: Vector()) && counts.areSent(within: Vector()) == false)
        #expect(counts.areSent(within: vector(dots[0], dots[1])) == true)
    }

    @Test func `a header names the dot that sent it, by a replica that changed the document`()
        throws
    {
        var (one, other) = (Author(1), Author(2))
        let sent = one.apply(.send("hello"), by: People.alice, to: nil)
        let pinned = other.apply(.pin, by: People.bob, to: sent)
        let read = try Document(pinned.key, decoding: pinned.encoded)
        #expect(read == pinned && read.message?.header.dot == People.dot(1, 1))
        for bytes: [UInt8] in [[2, 1], [0, 2], [0, 0], [0]] {
            var envelope = try Envelope(pinned.encoded)
            envelope.fields.set(7, toBytes: bytes)
            #expect(throws: WireError.self) {
                try Document(pinned.key, decoding: envelope.bytes)
            }
        }
    }

    @Test func `sample data is silent, and nothing else`() {
        var one = Author(1)
        let seeded = one.apply(.seed(People.message, text: "hello"), by: People.alice, to: nil)
        let sent = one.apply(.send("hello"), by: People.alice, to: nil)
        #expect(seeded.message?.header.isSilent == true)
        #expect(sent.message?.header.isSilent == false)
    }
}
