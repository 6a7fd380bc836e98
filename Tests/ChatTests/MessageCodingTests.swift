import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

/// A message has one byte string; other bytes with the same content are refused.
struct MessageCodingTests {
    private static let key = DocumentKey.message(People.message, in: People.conversation)

    @Test(arguments: [2, 3] as [UInt64])
    func `an empty list in place of none is refused`(number: UInt64) throws {
        var author = Author(1)
        var envelope = try Envelope(
            author.apply(.send("hello"), by: People.alice, to: nil).encoded)
        envelope.fields.set(number, toBytes: [0])
        #expect(throws: WireError.self) {
            try Document(MessageCodingTests.key, decoding: envelope.bytes)
        }
    }

    @Test func `a deleted message that has kept a text, an edit or a pin is refused`() throws {
        var author = Author(1)
        let sent = author.apply(.send(""), by: People.alice, to: nil)
        let edited = author.apply(.edit("edited"), by: People.alice, to: sent)
        let pinned = author.apply(.pin, by: People.alice, to: sent)
        let text = author.apply(.send("hello"), by: People.alice, to: nil)
        for document in [edited, pinned, text] {
            var envelope = try Envelope(document.encoded)
            envelope.fields.set(5, to: HybridTimestamp(milliseconds: 1))
            #expect(throws: WireError.self) {
                try Document(MessageCodingTests.key, decoding: envelope.bytes)
            }
        }
        var envelope = try Envelope(sent.encoded)
        envelope.fields.set(5, toBytes: [1])
        #expect(throws: WireError.self) {
            try Document(MessageCodingTests.key, decoding: envelope.bytes)
        }
    }

    @Test func `a message without a header is refused`() throws {
        let envelope = Envelope(changedBy: Context(People.dot(1, 1)))
        #expect(throws: WireError.self) {
            try Document(MessageCodingTests.key, decoding: envelope.bytes)
        }
        #expect(throws: WireError.self) {
            try Document(.conversation(People.conversation), decoding: envelope.bytes)
        }
    }

    @Test(arguments: MessageType.allCases)
    func `every type and every item comes back`(type: MessageType) throws {
        for item in [nil, ItemID(checked: "item-1")] {
            var author = Author(1)
            let sent = author.apply(
                .send(People.message, type: type, item: item, text: "e\u{301}\n\u{0}👩‍👩‍👧"),
                by: People.alice, to: nil)
            let read = try Document(MessageCodingTests.key, decoding: sent.encoded)
            #expect(read == sent && read.encoded == sent.encoded)
            #expect(read.message?.header.type == type && read.message?.header.item == item)
        }
    }

    /// Bytes on disks cannot change: another format must raise the document's version.
    @Test func `the bytes of a message are these`() {
        var author = Author(1, wallMilliseconds: 1)
        let sent = author.apply(.send("hi"), by: People.alice, to: nil)
        #expect(
            sent.encoded == [1, 1] + [UInt8](repeating: 0, count: 15) + [1, 1]  // changed by
                + [2, 1, 36] + [0, 0, 0, 0, 0, 1, 0, 0]  // field 1: the time
                + [UInt8](repeating: 0, count: 15) + [1, 1]  // the process and its counter
                + [5, 97, 108, 105, 99, 101, 1, 0, 2, 104, 105]  // alice, text, no item, hi
                + [7, 2, 0, 1])  // field 7: the index of its replica, and its seq
    }
}
