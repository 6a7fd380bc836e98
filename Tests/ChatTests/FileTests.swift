import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

struct FileTests {
    static let file = FileID(checked: "f1")
    static let part = PartID(checked: "LPJNul-wow4m6Dsqxbning")
    static let key = DocumentKey.file(file, in: People.conversation)
    static let actions: [File.Action] = [
        .begin(type: FieldText("image/png")), .end(size: 9, parts: [part, part]), .close,
        .attach(People.message),
        .purge,
    ]

    private static func changed(
        _ document: Document?, by action: Mutation.Action, of user: UserID,
        _ writer: inout Writer
    ) -> Document {
        var author = Author(0)
        author.writer = writer
        defer { writer = author.writer }
        return author.apply(
            Mutation(action, of: .conversation(People.conversation), by: user), to: document)
    }

    private static let laws = DocumentTests.laws(of: key) { document, writer, random in
        let user = random.pick(People.all)
        let first = File.Action.begin(type: FieldText("t\(random.below(3))"))
        let action: File.Action
        switch document == nil ? 0 : random.below(8) {
        case 0: action = random.chance(80) ? first : .close
        case 1: action = first
        case 2, 3:
            let count = random.below(4)
            action = .end(
                size: UInt64(count), parts: [PartID](repeating: part, count: count))
        case 4, 5: action = .attach(random.pick([People.message, MessageID(checked: "m9")]))
        case 6: action = .close
        default: action = .purge
        }
        switch action {
        case .begin where document != nil: return document
        case .end where document?.file?.ended != nil || document?.file?.isClosed == true:
            return document
        default: break
        }
        return changed(document, by: .file(file, action), of: user, &writer)
    }

    private static let parts = DocumentTests.laws(
        of: .part(part, of: file, in: People.conversation)
    ) { document, writer, random in
        let bytes = random.bytes(random.below(5))
        let action: FilePart.Action = document == nil ? .put(bytes) : .purge
        guard document == nil || random.chance(30) else { return document }
        return changed(document, by: .part(part, of: file, action), of: People.alice, &writer)
    }

    @Test func `files and parts merge as joins, any order gives the same bytes`() throws {
        try Self.laws.check(seeds: 0..<1_000)
        try Self.parts.check(seeds: 0..<1_000)
    }

    @Test func `the bytes on disk are those of the first version`() throws {
        #expect(try Self.laws.golden("file") == nil)
        #expect(try Self.parts.golden("file-part") == nil)
    }

    @Test func `damaged bytes never trap, and what is read is canonical`() throws {
        let good = try Self.laws.states(seeds: 0..<20).map(\.encoded)
        var random = SplitMix64(seed: 5)
        var accepted = 0
        for round in 0..<20_000 {
            var bytes = good[round % good.count]
            bytes[random.below(bytes.count)] = UInt8(random.below(256))
            guard let read = try? Document(Self.key, decoding: bytes) else { continue }
            try #require(read.encoded == bytes)
            accepted += 1
        }
        #expect(accepted > 100)
    }

    // MARK: Rules

    private let chat = Conversation.among()

    private func after(_ actions: File.Action..., by user: UserID = People.alice) -> Document? {
        var author = Author(1)
        var document: Document?
        for action in actions {
            document = author.apply(
                Mutation(action, of: Self.file, in: People.conversation, by: user), to: document)
        }
        return document
    }

    private func refusal(
        of action: Mutation.Action, by user: UserID = People.alice, target: Document? = nil,
        file: Document? = nil, preview: Document? = nil
    ) -> Refusal? {
        let mutation = Mutation(action, of: .conversation(People.conversation), by: user)
        do throws(Refusal) {
            _ = try mutation.judge(
                conversation: chat, target: target,
                files: [file?.file] + (preview.map { [$0.file] } ?? []),
                by: Judge(wallMilliseconds: 0, editWindowMilliseconds: 0))
            return nil
        } catch {
            return error
        }
    }

    private let begin = File.Action.begin(type: FieldText("image/png"))
    private let end = File.Action.end(size: 1, parts: [part])
    private let otherEnd = File.Action.end(
        size: 1, parts: [PartID(checked: "AAAAAAAAAAAAAAAAAAAAAA")])
    private let stranger = UserID(checked: "mallory")

    @Test func `only its user goes on with an upload, and only a participant begins one`() {
        let begun = after(begin)
        #expect(refusal(of: .file(Self.file, begin), by: stranger) == .notParticipant)
        let put = Mutation.Action.part(Self.part, of: Self.file, .put([1]))
        #expect(refusal(of: put, file: begun) == nil)
        #expect(refusal(of: put, by: People.bob, file: begun) == .notOwner)
        #expect(refusal(of: put, by: stranger, file: begun) == .notParticipant)
        #expect(refusal(of: put, file: nil) == .fileNotFound)
        #expect(refusal(of: put, file: after(begin, end)) == .fileExists)
        #expect(refusal(of: put, file: after(begin, .close)) == .fileNotFound)
        #expect(
            refusal(of: .file(Self.file, otherEnd), target: after(begin, end))
                == .fileExists)
    }

    @Test func `a file is sent whole, by its user, with one message`() {
        let other = MessageID(checked: "m9")
        func send(_ message: MessageID) -> Mutation.Action {
            .message(message, .send(type: .image, item: nil, text: "", Attachment(Self.file)))
        }
        let whole = after(begin, end)
        #expect(refusal(of: send(other), file: whole) == nil)
        #expect(refusal(of: send(other), file: after(begin)) == .fileNotFound)
        #expect(refusal(of: send(other), by: People.bob, file: whole) == .notOwner)
        let sent = after(begin, end, .attach(other))
        #expect(refusal(of: send(other), file: sent) == nil)
        #expect(refusal(of: send(People.message), file: sent) == .fileExists)
        #expect(
            refusal(of: send(other), file: after(begin, end, .close)) == .fileNotFound)
    }

    @Test func `a preview is a small file of the same user`() {
        let send = Mutation.Action.message(
            People.message,
            .send(
                type: .image, item: nil, text: "",
                Attachment(Self.file, preview: FileID(checked: "f2"))))
        let most = UInt64(Attachment.previewBytesMax)
        let (whole, small) = (after(begin, end), after(begin, .end(size: most, parts: [Self.part])))
        let large = after(begin, .end(size: most + 1, parts: [Self.part]))
        #expect(refusal(of: send, file: whole, preview: small) == nil)
        #expect(refusal(of: send, file: whole, preview: large) == .previewTooLarge)
        #expect(refusal(of: send, file: large, preview: small) == nil)
        #expect(refusal(of: send, file: whole, preview: after(begin)) == .fileNotFound)
    }

    @Test func `a file is due until it is sent, and from its closing until it is purged`() {
        #expect(after(begin, end)?.indexKeys == [Term.unsent])
        #expect(after(begin, .attach(People.message))?.indexKeys == [])
        #expect(after(begin, .attach(People.message), .close)?.indexKeys == [Term.closed])
        let purged = after(begin, .attach(People.message), .close, .purge)
        #expect(purged?.indexKeys == [] && purged?.purges == true)
        #expect(purged?.file?.view(as: Self.file) == nil && purged?.file?.type == "")
    }

    @Test func `of two uploads one counts as a whole, and one that has ended before another`()
        throws
    {
        let early = try #require(after(begin, end))
        var author = Author(9)
        func change(_ document: Document?, _ action: File.Action) -> Document {
            author.apply(
                Mutation(action, of: Self.file, in: People.conversation, by: People.bob),
                to: document)
        }
        let begun = change(nil, .begin(type: FieldText("image/gif")))
        let late = change(begun, otherEnd)
        for (one, other, winner) in [
            (early, late, early), (early, begun, early), (after(begin)!, late, late),
            (after(begin)!, begun, after(begin)!),
        ] {
            let merged = one.merged(with: other)
            #expect(merged.file == winner.file && other.merged(with: one).file == winner.file)
        }
    }

    @Test func `a file that is closed before it arrives stays closed`() throws {
        let closed = try #require(after(.close))
        let whole = try #require(after(begin, end, .attach(People.message)))
        #expect(whole.merged(with: closed).file?.isClosed == true)
        #expect(closed.merged(with: whole).file?.isClosed == true)
    }

    @Test func `a purged part has no bytes, and none come back`() throws {
        var author = Author(1)
        let put = Mutation(
            .put([1, 2, 3]), on: Self.part, of: Self.file, in: People.conversation, by: People.alice
        )
        let purge = Mutation(
            FilePart.Action.purge, on: Self.part, of: Self.file, in: People.conversation,
            by: People.alice)
        let part = author.apply(put, to: nil)
        #expect(part.indexKeys == ["f1"])
        let purged = author.apply(purge, to: part)
        #expect(purged.indexKeys == [] && purged.purges)
        #expect(part.merged(with: purged) == purged && purged.part?.bytes == [])
    }
}
