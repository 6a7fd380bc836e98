import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

struct DocumentTests {
    static let messageKey = DocumentKey.message(People.message, in: People.conversation)
    static let conversationKey = DocumentKey.conversation(People.conversation)
    static let unknownKey = DocumentKey(
        checked: DocumentKey.Kind(number: 99), partition: "c1", id: "later")

    static func laws(of key: DocumentKey, _ mutate: @escaping Laws<Document>.Mutate) -> Laws<
        Document
    > {
        Laws(
            merge: { $0.merge($1) }, encode: \.encoded,
            decode: { try Document(key, decoding: $0) }, greatestTime: \.greatestTime,
            mutate: mutate)
    }

    static let messages = laws(of: messageKey) { document, writer, random in
        var author = Author(0)
        author.writer = writer
        defer { writer = author.writer }
        let action = someAction(document == nil, &random)
        let user = random.pick(People.all)
        return author.request(action, by: user, of: document, in: .among())
    }

    static let later = laws(of: messageKey) { document, writer, random in
        guard let document, random.chance(40) else {
            var author = Author(0)
            author.writer = writer
            defer { writer = author.writer }
            let action = someAction(document == nil, &random)
            return author.request(action, by: People.alice, of: document, in: .among())
        }
        return try withUnknownField(document, &writer, &random)
    }

    static let unknown = laws(of: unknownKey) { document, writer, random in
        try withUnknownField(document, &writer, &random)
    }

    /// Adds a field as a later version would write it: a stamp, then a value.
    private static func withUnknownField(
        _ document: Document?, _ writer: inout Writer, _ random: inout SplitMix64
    ) throws -> Document {
        let dot = writer.nextDot()
        var envelope =
            try document.map { try Envelope($0.encoded) } ?? Envelope(changedBy: Context())
        envelope.changedBy.insert(dot)
        let number = UInt64(100 + random.below(3))
        envelope.fields.set(
            number, toBytes: writer.nextStamp().encoded + random.bytes(random.below(3)))
        return try Document(document?.key ?? unknownKey, decoding: envelope.bytes)
    }

    static func someAction(_ isFirst: Bool, _ random: inout SplitMix64) -> ChatAction {
        if isFirst { return .send(random.pick(["first", "other"])) }
        switch random.below(12) {
        case 0...4:
            return .edit("text \(random.below(3))")
        case 5, 6: return .hide
        case 7, 8: return .restore
        case 9: return .pin
        case 10: return .unpin
        default: return random.chance(30) ? .retract : .pin
        }
    }

    @Test func `a message's document merges as a join, any order gives the same bytes`() throws {
        try DocumentTests.messages.check(seeds: 0..<800)
    }

    @Test func `so does one with fields of a later version`() throws {
        try DocumentTests.later.check(seeds: 0..<300)
    }

    @Test func `so does one of an unknown kind`() throws {
        try DocumentTests.unknown.check(seeds: 0..<300)
    }

    @Test func `what a later version wrote is kept, sent on and digested`() throws {
        var author = Author(1)
        let sent = author.apply(.send("hello"), by: People.alice, to: nil)
        var envelope = try Envelope(sent.encoded)
        envelope.fields.set(200, toBytes: Array("of version 2".utf8))
        let later = try Document(DocumentTests.messageKey, decoding: envelope.bytes)
        #expect(later.encoded == envelope.bytes)
        #expect(later.message == sent.message)
        #expect(digest(later) != digest(sent))
        let edited = author.apply(.edit("edited"), by: People.alice, to: sent)
        #expect(edited.merged(with: later).encoded == later.merged(with: edited).encoded)
        #expect(edited.merged(with: later).encoded.holds("of version 2"))
        #expect(
            author.apply(.edit("again"), by: People.alice, to: later)
                .encoded.holds("of version 2"))
    }

    @Test func `who changed it is part of its bytes and of its digest`() throws {
        var (one, other) = (Author(1), Author(2))
        let sent = one.apply(.send("hello"), by: People.alice, to: nil)
        #expect(sent.changedBy == Context(People.dot(1, 1)))
        // Nothing was hidden, so nothing visible changes.
        let restored = other.apply(.restore, by: People.bob, to: sent)
        #expect(restored.message?.deletedBy.isEmpty == true)
        #expect(restored.changedBy.covers(Context(People.dot(2, 1))))
        #expect(digest(restored) != digest(sent))
        #expect(
            Document.digest(of: DocumentTests.unknownKey, bytes: sent.encoded) != digest(sent))
    }

    @Test func `a merge that brings only seqs records them`() {
        var (one, other) = (Author(1), Author(2))
        let sent = one.apply(.send("hello"), by: People.alice, to: nil)
        let gone = one.apply(.retract, by: People.alice, to: sent)
        let edited = other.apply(.edit("edited"), by: People.alice, to: sent)
        let merged = gone.merged(with: edited)
        #expect(merged.message == gone.message)
        #expect(merged.changedBy.contains(People.dot(2, 1)))
    }

    @Test func `an empty document is refused, and one of a later format is kept`() throws {
        var envelope = Envelope(changedBy: Context(People.dot(1, 1)))
        envelope.version = 2
        let later = try Document(DocumentTests.unknownKey, decoding: envelope.bytes)
        #expect(later.encoded == envelope.bytes && later.isUnreadable)
        #expect(throws: WireError.self) {
            try Document(
                DocumentTests.unknownKey, decoding: Envelope(changedBy: Context()).bytes)
        }
        #expect(throws: WireError.truncated) {
            try Document(DocumentTests.unknownKey, decoding: [])
        }
    }

    @Test func `every truncation is refused, and what flipped bytes still mean is canonical`()
        throws
    {
        var random = SplitMix64(seed: 8)
        let states = try DocumentTests.messages.states(seeds: 0..<12)
        for document in states {
            let bytes = document.encoded
            for count in 0..<bytes.count {
                let read = try? Document(document.key, decoding: Array(bytes[..<count]))
                try #require(read == nil, "\(bytes) up to \(count)")
            }
            for _ in 0..<60 {
                var flipped = bytes
                flipped[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
                if random.chance(30) { flipped.remove(at: random.below(flipped.count)) }
                for key in [document.key, DocumentTests.conversationKey, DocumentTests.unknownKey] {
                    guard let read = try? Document(key, decoding: flipped) else { continue }
                    try #require(read.encoded == flipped)
                }
            }
        }
    }

    private func digest(_ document: Document) -> Hash128 {
        Document.digest(of: document.key, bytes: document.encoded)
    }

    @Test func `the bytes are those of earlier builds`() throws {
        #expect(try DocumentTests.messages.golden("message") == nil)
        #expect(try DocumentTests.later.golden("message-of-a-later-version") == nil)
        #expect(try DocumentTests.unknown.golden("unknown-document") == nil)
    }
}
