import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

/// Documents of a later version: kept unchanged, sent on, and shown as far as they can be read.
@Suite struct LaterStateTests {
    /// Returns the same state as a later version writes it, with a field of its own.
    static func later(_ document: Document, version: UInt8 = 2, news: UInt8 = 7) -> Document {
        var bytes = document.encoded
        bytes[0] = version
        var reader = ByteReader(bytes.dropFirst())
        guard let context = try? Context(from: &reader), var fields = try? Fields(from: &reader),
            fields.removeField(200) == nil
        else { preconditionFailure("a document of this version") }
        fields.set(200, toBytes: [news])
        var writer = ByteWriter()
        writer.write(version)
        context.encode(into: &writer)
        fields.encode(into: &writer)
        guard let later = try? Document(document.key, decoding: writer.bytes) else {
            preconditionFailure("a later document is read")
        }
        return later
    }

    private static func message(_ text: String, by author: inout Author) -> Document {
        author.apply(
            .send(People.message, type: .text, item: nil, text: text), by: People.alice, to: nil)
    }

    @Test func `its bytes stay as they are, and what is understood shows`() throws {
        var author = Author(1)
        let later = Self.later(Self.message("hello", by: &author))
        #expect(later.message?.text == "hello" && !later.isUnreadable)
        #expect(try Document(later.key, decoding: later.encoded) == later)
        #expect(later.encoded[0] == 2)
        var merged = later
        merged.merge(later)
        #expect(merged.encoded == later.encoded)
    }

    @Test func `a change of this version goes beside it, and the later version merges both`() throws
    {
        var (one, two) = (Author(1), Author(2))
        let later = Self.later(Self.message("hello", by: &one))
        let edited = two.apply(.edit("hello!"), by: People.alice, to: later)
        #expect(edited.message?.text == "hello!")
        let read = try Document(edited.key, decoding: edited.encoded)
        #expect(read == edited && read.message?.text == "hello!")
        // Nothing that the later version wrote is lost.
        #expect(String(describing: edited.encoded).contains("200, 1, 1, 7"))
        var again = later
        again.merge(edited)
        #expect(again.encoded == edited.encoded)
        // A state in which the later version has merged both replaces them.
        let joined = Self.later(try #require(try own(edited)))
        again.merge(joined)
        #expect(again.encoded == joined.encoded && again.message?.text == "hello!")
    }

    /// Returns the state of this version alone.
    private func own(_ document: Document) throws -> Document? {
        guard case .message(let message) = document.content else { return nil }
        var own = Document(.message(message), at: document.key, by: People.dot(1, 1))
        for dot in document.changedBy.dots {
            own = own.changed(to: .message(message), by: dot)
        }
        return own
    }

    @Test func `states of this version and of later ones merge in any order to the same bytes`()
        throws
    {
        for seed in 0..<300 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            var first = Author(1)
            let sent = Self.message("hello", by: &first)
            var states = [sent]
            for number in 2..<(4 + UInt64(random.below(4))) {
                var author = Author(number)
                var document = random.pick(states)
                document.merge(random.pick(states))
                switch random.below(4) {
                case 0:
                    document = author.apply(
                        .message(People.message, HideMessage()), by: People.bob, to: document)
                case 1:
                    document = author.apply(
                        .message(People.message, PinMessage()), by: People.bob, to: document)
                default:
                    document = author.apply(
                        .edit("text \(number)"), by: People.alice, to: document)
                }
                if random.chance(40), let own = try own(document) {
                    document = Self.later(own, version: 2 + UInt8(random.below(2)))
                }
                states.append(document)
            }
            func merged(_ states: [Document]) -> Document {
                states.dropFirst().reduce(into: states[0]) { $0.merge($1) }
            }
            let expected = merged(states)
            let bytes = expected.encoded
            for _ in 0..<4 {
                let shuffled = (states + [random.pick(states)]).shuffled(using: &random)
                let half = shuffled.count / 2
                var other = merged(Array(shuffled[..<half]))
                other.merge(merged(Array(shuffled[half...])))
                try #require(other.encoded == bytes, "seed \(seed)")
            }
            let read = try Document(expected.key, decoding: bytes)
            try #require(read.encoded == bytes && read == expected, "seed \(seed)")
        }
    }

    @Test func `what cannot be understood at all is kept and not touched`() throws {
        let context = Context(People.dot(1, 1))
        var writer = ByteWriter()
        writer.write(9 as UInt8)
        context.encode(into: &writer)
        for byte in [250, 251, 252] as [UInt8] { writer.write(byte) }
        let key = DocumentKey.conversation(People.conversation)
        var document = try Document(key, decoding: writer.bytes)
        #expect(document.isUnreadable && document.changedBy == context)
        #expect(document.encoded == writer.bytes)
        var author = Author(2)
        let mine = author.apply(
            .create(participants: [People.alice], title: nil), by: People.alice, to: nil)
        document.merge(mine)
        #expect(!document.isUnreadable && document.conversation != nil)
        #expect(try Document(key, decoding: document.encoded) == document)
    }

    @Test func `bytes that nobody meant never trap`() {
        var random = SplitMix64(seed: 17)
        var author = Author(1)
        var two = Author(2)
        let later = Self.later(Self.message("hello", by: &author))
        let several = two.apply(.edit("x"), by: People.alice, to: later)
        for round in 0..<50_000 {
            var bytes = round % 2 == 0 ? later.encoded : several.encoded
            for _ in 0...random.below(3) {
                bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
            }
            if let read = try? Document(later.key, decoding: bytes) {
                guard read.encoded == bytes else {
                    Issue.record("\(bytes)")
                    return
                }
            }
        }
    }
}
