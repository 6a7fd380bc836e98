import Foundation
import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

struct FileTests {
    static let file = FileID(checked: "f1")
    static let part = PartID(checked: "LPJNul-wow4m6Dsqxbning")
    static let key = DocumentKey.file(file, in: People.conversation)
    private static let never = HybridTimestamp(milliseconds: HybridTimestamp.millisecondsMax)
    static let actions: [any FileAction] = [
        BeginUpload(type: FieldText("image/png")), EndUpload(size: 9, parts: [part, part]),
        CloseFile(),
        AttachFile(People.message), PurgeFile(), DetachFile(People.message),
        ExpireUpload(before: HybridTimestamp(milliseconds: 7)),
    ]

    private static func changed(
        _ document: Document?, by action: ChatAction, of user: UserID,
        _ writer: inout Writer
    ) -> Document {
        var author = Author(0)
        author.writer = writer
        defer { writer = author.writer }
        return author.apply(
            Mutation(action, in: People.conversation, by: user), to: document)
    }

    private static let laws = DocumentTests.laws(of: key) { document, writer, random in
        let file = document?.file
        let user = random.pick(People.all)
        let state = file?.open(of: user)
        let messages = [People.message, MessageID(checked: "m9")]
        let action: any FileAction
        switch file == nil ? 0 : random.below(8) {
        case 0 where state == nil: action = BeginUpload(type: FieldText("t\(random.below(3))"))
        case 1...2:
            guard state != nil, state?.parts == nil else { return document }
            let count = random.below(4)
            action = EndUpload(size: UInt64(count), parts: [PartID](repeating: part, count: count))
        case 3...4:
            guard state?.parts != nil else { return document }
            action = AttachFile(random.pick(messages))
        case 5: action = DetachFile(random.pick(messages))
        case 6: action = random.chance(30) ? CloseFile() : ExpireUpload(before: FileTests.never)
        case 7 where random.chance(30): action = PurgeFile()
        default: return document
        }
        guard file.map(action.changes) ?? true else { return document }
        return changed(document, by: .file(Self.file, action), of: user, &writer)
    }

    private static let parts = DocumentTests.laws(
        of: .part(part, of: file, in: People.conversation)
    ) { document, writer, random in
        let bytes = random.bytes(random.below(5))
        let isPurged = document?.part?.isPurged ?? true
        guard document == nil || random.chance(30) else { return document }
        return changed(
            document, by: .part(part, of: file, isPurged ? PutFilePart(bytes) : PurgeFilePart()),
            of: People.alice, &writer)
    }

    @Test func `files and parts merge as joins, any order gives the same bytes`() throws {
        try Self.laws.check(seeds: 0..<1_000)
        try Self.parts.check(seeds: 0..<1_000)
    }

    @Test func `the bytes on disk are those of the first version`() throws {
        #expect(try Self.laws.golden("file") == nil)
        #expect(try Self.parts.golden("file-part") == nil)
    }

    @Test func `files that one message names are read as an earlier version wrote them`() throws {
        let text = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "Golden/file-of-one-message.txt"), encoding: .utf8)
        let lines = text.split(separator: "\n").filter { !$0.contains(" ") }
        #expect(lines.count > 10)
        for line in lines {
            let digits = Array(line)
            let bytes = try stride(from: 0, to: digits.count, by: 2).map { place in
                try #require(UInt8(String(digits[place...(place + 1)]), radix: 16))
            }
            #expect(try Document(Self.key, decoding: bytes).encoded == bytes)
        }
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

    private func after(_ actions: any FileAction..., by user: UserID = People.alice) -> Document? {
        var author = Author(1)
        var document: Document?
        for action in actions {
            document = author.apply(
                Mutation(action, of: Self.file, in: People.conversation, by: user), to: document)
        }
        return document
    }

    private func refusal(
        of action: ChatAction, by user: UserID = People.alice, target: Document? = nil,
        file: Document? = nil, preview: Document? = nil
    ) -> Refusal? {
        let mutation = Mutation(action, in: People.conversation, by: user)
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

    private let begin = BeginUpload(type: FieldText("image/png"))
    private let end = EndUpload(size: 1, parts: [part])
    private let otherEnd = EndUpload(
        size: 1, parts: [PartID(checked: "AAAAAAAAAAAAAAAAAAAAAA")])
    private let stranger = UserID(checked: "mallory")

    @Test func `only its user goes on with an upload, and only a participant begins one`() {
        let begun = after(begin)
        #expect(refusal(of: .file(Self.file, begin), by: stranger) == .notParticipant)
        let put = ChatAction.part(Self.part, of: Self.file, PutFilePart([1]))
        #expect(refusal(of: put, file: begun) == nil)
        #expect(refusal(of: put, by: People.bob, file: begun) == .notOwner)
        #expect(refusal(of: put, by: stranger, file: begun) == .notParticipant)
        #expect(refusal(of: put, file: nil) == .fileNotFound)
        #expect(refusal(of: put, file: after(begin, end)) == .fileExists)
        #expect(refusal(of: put, file: after(begin, CloseFile())) == .fileNotFound)
        #expect(
            refusal(of: .file(Self.file, otherEnd), target: after(begin, end))
                == .fileExists)
    }

    @Test func `a file is sent whole, by its user, with one message`() {
        let other = MessageID(checked: "m9")
        func send(_ message: MessageID) -> ChatAction {
            .message(message, SendMessage(type: .image, item: nil, text: "", Attachment(Self.file)))
        }
        let whole = after(begin, end)
        #expect(refusal(of: send(other), file: whole) == nil)
        #expect(refusal(of: send(other), file: after(begin)) == .fileNotFound)
        #expect(refusal(of: send(other), by: People.bob, file: whole) == .notOwner)
        let sent = after(begin, end, AttachFile(other))
        #expect(refusal(of: send(other), file: sent) == nil)
        #expect(refusal(of: send(People.message), file: sent) == .fileExists)
        #expect(
            refusal(of: send(other), file: after(begin, end, CloseFile())) == .fileNotFound)
    }

    @Test func `a preview is a small file of the same user`() {
        let send = ChatAction.message(
            People.message,
            SendMessage(
                type: .image, item: nil, text: "",
                Attachment(Self.file, preview: FileID(checked: "f2"))))
        let most = UInt64(Attachment.previewBytesMax)
        let (whole, small) = (
            after(begin, end), after(begin, EndUpload(size: most, parts: [Self.part]))
        )
        let large = after(begin, EndUpload(size: most + 1, parts: [Self.part]))
        #expect(refusal(of: send, file: whole, preview: small) == nil)
        #expect(refusal(of: send, file: whole, preview: large) == .previewTooLarge)
        #expect(refusal(of: send, file: large, preview: small) == nil)
        #expect(refusal(of: send, file: whole, preview: after(begin)) == .fileNotFound)
    }

    @Test func `a file is due until it is sent, and from its closing until it is purged`() {
        #expect(
            after(begin, end)?.indexKeys == [Term.unsent, Term.unsent(by: People.alice)])
        #expect(after(begin, AttachFile(People.message))?.indexKeys == [])
        #expect(
            after(begin, AttachFile(People.message), DetachFile(People.message))?.indexKeys
                == [Term.closed])
        #expect(after(begin, end, CloseFile())?.indexKeys == [Term.closed])
        #expect(
            after(begin, end, ExpireUpload(before: FileTests.never))?.indexKeys == [Term.closed])
        let purged = after(
            begin, AttachFile(People.message), DetachFile(People.message), PurgeFile())
        #expect(purged?.indexKeys == [] && purged?.purges == true)
        #expect(purged?.file?.view(as: Self.file) == nil && purged?.file?.states[0].type == "")
    }

    /// Returns what the file becomes where other changes are made to it on another side.
    private func beside(
        _ document: Document?, _ process: UInt64, _ actions: any FileAction..., by user: UserID
    ) -> Document? {
        var author = Author(process)
        return actions.reduce(document) { document, action in
            author.apply(
                Mutation(action, of: Self.file, in: People.conversation, by: user), to: document)
        }
    }

    @Test func `of two uploads one counts as a whole, and one that has ended before another`()
        throws
    {
        let early = try #require(after(begin, end))
        let begun = try #require(
            beside(nil, 9, BeginUpload(type: FieldText("image/gif")), by: People.alice))
        let late = try #require(beside(begun, 8, otherEnd, by: People.alice))
        for (one, other, winner) in [
            (early, late, early), (early, begun, early), (after(begin)!, late, late),
            (after(begin)!, begun, after(begin)!),
        ] {
            let merged = one.merged(with: other)
            #expect(merged.file == other.merged(with: one).file)
            #expect(merged.file?.view(as: Self.file) == winner.file?.view(as: Self.file))
        }
    }

    @Test func `an end that ran twice ends both beginnings, in any order`() throws {
        let (one, other) = (
            try #require(beside(nil, 2, begin, by: People.alice)),
            try #require(beside(nil, 3, begin, by: People.alice))
        )
        var asker = Author(5, wallMilliseconds: 9_000_000)
        let stamp = asker.writer.nextStamp()
        func ended(_ document: Document, by number: UInt64) -> Document {
            var author = Author(number, wallMilliseconds: 8_000_000)
            let mutation = Mutation(end, of: Self.file, in: People.conversation, by: People.alice)
            return mutation.applied(
                to: document,
                by: Authorship(dot: author.writer.nextDot(), stamp: stamp, unsettled: []))
        }
        let documents = [ended(one, by: 7), ended(other, by: 8), one, other]
        let first = documents[3].merged(with: documents[1]).merged(with: documents[0])
        let second = documents[0].merged(with: documents[1]).merged(with: documents[3])
        let third = documents[2].merged(with: documents[3]).merged(with: documents[1])
            .merged(with: documents[0])
        #expect(first.file == second.file && second.file == third.file)
        #expect(first.file?.states.count == 2)
        #expect(try Document(Self.key, decoding: first.encoded) == first)
    }

    @Test func `a file that was uploaded again elsewhere is deleted with its message`() throws {
        let left = try #require(beside(nil, 2, begin, by: People.alice))
        let again = try #require(beside(nil, 5, begin, end, by: People.alice))
        let deleted = try #require(
            beside(nil, 3, begin, end, AttachFile(first), DetachFile(first), by: People.alice))
        for other in [left, again] {
            #expect(other.file?.needs(Self.part) == true)
            for merged in [other.merged(with: deleted), deleted.merged(with: other)] {
                #expect(merged.file?.needs(Self.part) == false && merged.file?.isClosed == true)
            }
        }
        // Others go on with theirs.
        let others = try #require(beside(nil, 4, begin, by: People.bob))
        #expect(deleted.merged(with: others).file?.needs(Self.part) == true)
    }

    @Test func `a deletion closes the upload that was sent, and no other of its user`() throws {
        let begun = after(begin)
        for there in [nil, begun] {
            // The earlier upload is sent and deleted here, the later one is sent there.
            let start = there == nil ? beside(nil, 2, begin, by: People.alice) : begun
            let here = try #require(
                beside(start, 2, end, AttachFile(first), DetachFile(first), by: People.alice))
            let begunThere = there ?? beside(nil, 3, begin, by: People.alice)
            let away = try #require(
                beside(begunThere, 3, otherEnd, AttachFile(second), by: People.alice))
            let otherPart = PartID(checked: "AAAAAAAAAAAAAAAAAAAAAA")
            for merged in [here.merged(with: away), away.merged(with: here)] {
                #expect(merged.file?.parts(tagged: nil) == [otherPart])
                #expect(merged.file?.needs(otherPart) == true)
                #expect(merged.file?.needs(Self.part) == false)
                #expect(merged.indexKeys == [Term.closed])
                #expect(try Document(Self.key, decoding: merged.encoded) == merged)
                let deleted = beside(merged, 4, DetachFile(second), by: Mutation.cluster)
                #expect(deleted?.file?.isClosed == true)
            }
        }
    }

    private let first = MessageID(checked: "m1")
    private let second = MessageID(checked: "m2")

    @Test func `a file that two messages name stays until both are deleted`() throws {
        let whole = after(begin, end)
        let here = try #require(
            beside(whole, 2, AttachFile(first), DetachFile(first), by: People.alice))
        let there = try #require(beside(whole, 3, AttachFile(second), by: People.alice))
        #expect(here.file?.isClosed == true)
        for merged in [here.merged(with: there), there.merged(with: here)] {
            #expect(merged.file?.isClosed == false && merged.file?.needs(Self.part) == true)
            let deleted = beside(merged, 4, DetachFile(second), by: Mutation.cluster)
            #expect(deleted?.file?.isClosed == true && deleted?.file?.needs(Self.part) == false)
        }
    }

    @Test func `a stranger's upload under the same id neither replaces nor closes a file`() throws {
        let mine = try #require(beside(nil, 2, begin, end, AttachFile(first), by: People.alice))
        // The clock of the other side is behind: the stranger's upload is the earlier one.
        let unsent = try #require(beside(nil, 1, begin, otherEnd, by: People.bob))
        let sent = try #require(beside(unsent, 1, AttachFile(second), by: People.bob))
        let deleted = try #require(beside(sent, 1, DetachFile(second), by: People.bob))
        for theirs in [unsent, deleted] {
            let merged = mine.merged(with: theirs)
            #expect(merged.file == theirs.merged(with: mine).file)
            #expect(merged.file?.view(as: Self.file) == mine.file?.view(as: Self.file))
            #expect(merged.file?.needs(Self.part) == true)
        }
        // And the owner's deletion leaves what the stranger has sent.
        let gone = beside(mine.merged(with: sent), 3, DetachFile(first), by: People.alice)
        #expect(gone?.file?.view(as: Self.file)?.owner == People.bob)
        #expect(gone?.indexKeys == [Term.closed] && gone?.file?.needs(Self.part) == false)
    }

    @Test func `a tag stands for the bytes`() throws {
        let tag = try #require(after(begin, end)?.file?.view(as: Self.file)?.tag)
        #expect(beside(nil, 7, begin, end, by: People.bob)?.file?.view(as: Self.file)?.tag == tag)
        #expect(after(begin, otherEnd)?.file?.view(as: Self.file)?.tag != tag)
        #expect(after(begin)?.file?.view(as: Self.file)?.tag == nil)
        #expect(after(begin, end)?.file?.parts(tagged: tag) == [Self.part])
        #expect(after(begin, otherEnd)?.file?.parts(tagged: tag) == nil)
    }

    @Test func `a message keeps the files of all its sends`() throws {
        var (one, other) = (Author(1), Author(2))
        func send(_ author: inout Author, _ file: String) -> Document {
            author.apply(
                Mutation(
                    SendMessage(
                        type: .image, item: nil, text: "", Attachment(FileID(checked: file))),
                    of: People.message, in: People.conversation, by: People.alice), to: nil)
        }
        let (fa, fb) = (send(&one, "fa"), send(&other, "fb"))
        let deleted = one.apply(
            Mutation(
                RetractMessage(), of: People.message, in: People.conversation, by: People.alice),
            to: fa)
        for merged in [deleted.merged(with: fb), fb.merged(with: deleted)] {
            #expect(merged.message?.files.sorted().map(\.text) == ["fa", "fb"])
            #expect(try Document(merged.key, decoding: merged.encoded) == merged)
            #expect(merged.merged(with: fb) == merged)
        }
    }

    @Test func `a part that was purged and put again has its bytes`() throws {
        var author = Author(1)
        func change(_ document: Document?, _ action: any FilePartAction) -> Document {
            author.apply(
                Mutation(
                    action, on: Self.part, of: Self.file, in: People.conversation,
                    by: People.alice), to: document)
        }
        let part = change(nil, PutFilePart([1, 2, 3]))
        let purged = change(part, PurgeFilePart())
        let again = change(purged, PutFilePart([1, 2, 3]))
        #expect(again.part?.bytes == [1, 2, 3] && again.indexKeys == ["f1"])
        #expect(purged.merged(with: again) == again && part.merged(with: again) == again)
        #expect(change(again, PurgeFilePart()).merged(with: again).part?.bytes == [])
        #expect(try Document(again.key, decoding: again.encoded) == again)
    }

    @Test func `a purged part has no bytes, and none come back`() throws {
        var author = Author(1)
        let put = Mutation(
            PutFilePart([1, 2, 3]), on: Self.part, of: Self.file, in: People.conversation,
            by: People.alice
        )
        let purge = Mutation(
            PurgeFilePart(), on: Self.part, of: Self.file, in: People.conversation,
            by: People.alice)
        let part = author.apply(put, to: nil)
        #expect(part.indexKeys == ["f1"])
        let purged = author.apply(purge, to: part)
        #expect(purged.indexKeys == [] && purged.purges)
        #expect(part.merged(with: purged) == purged && purged.part?.bytes == [])
    }
}
