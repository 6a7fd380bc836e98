import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

/// Accepted documents can be stored and sent, whatever else other nodes have accepted.
@Suite struct ChatLimitsTests {
    /// A name of 64 characters.
    static func long(_ number: Int) -> UserID {
        let digits = String(number)
        return UserID(
            checked: String(repeating: "u", count: nameBytesMax - digits.utf8.count) + digits)
    }

    private static let key = DocumentKey.conversation(People.conversation)

    /// Returns a conversation that `count` users were in, each invited by a process of its own.
    private static func conversation(_ count: Int) -> Document {
        var author = Author(1)
        var document = author.apply(
            .create(participants: [long(0)], title: nil), by: long(0), to: nil)
        for number in 1..<count {
            document = author.apply(.invite(long(number)), by: long(0), to: document)
        }
        return document
    }

    @Test func `a thousand users with the longest names fit, however many nodes there are`() {
        var author = Author(1)
        let users = (0..<ChatLimits.participantsMax).map(Self.long).sorted()
        let created = author.apply(
            .create(
                participants: users,
                title: String(repeating: "t", count: ChatLimits.titleBytesMax)),
            by: users[0], to: nil)
        let limit = ChatLimits.keptBytesMax(members: 100)
        #expect(created.encoded.count < limit)
        let invited = Self.conversation(ChatLimits.participantsMax)
        #expect(invited.encoded.count - invited.bytesLimitedByCount < limit)
    }

    @Test func `what all members may accept fits a document, and a document fits a frame`() {
        for members in 1...100 {
            let sides = members * (ChatLimits.keptBytesMax(members: members) / 4 * 5)
            let texts = (ChatLimits.editsKeptMax + 1) * (ChatLimits.textBytesMax + 64)
            #expect(sides + texts <= ChatLimits.documentBytesMax)
        }
        #expect(ChatLimits.documentBytesMax <= Document.bytesMax)
        #expect(Document.bytesMax + (1 << 20) <= Wire.Envelope.payloadBytesMax)
    }

    @Test func `a conversation of 22,750 guests that nobody would accept is read all the same`()
        throws
    {
        var conversation = try #require(Self.conversation(1).conversation)
        for number in 1..<22_750 {
            conversation.invite(
                Self.long(number), of: Self.long(0), by: People.stamp(UInt64(number), at: 1))
        }
        let document = Document(.conversation(conversation), at: Self.key, by: People.dot(1, 1))
        let bytes = document.encoded
        #expect(bytes.count > 15 << 18 && bytes.count < Document.bytesMax)
        #expect(try Document(Self.key, decoding: bytes) == document)
    }

    @Test func `who would pass the limit is refused, who leaves is not, and deleting always works`()
        throws
    {
        let conversation = Self.conversation(2)
        let limit = ChatLimits.keptBytesMax(members: 3)
        func refusal(
            _ action: ChatAction, of document: Document, _ size: Int
        ) -> Refusal? {
            do {
                try Mutation(action, in: People.conversation, by: Self.long(0)).judgeSize(
                    of: document, size, hiding: nil, members: 3)
                return nil
            } catch {
                return error
            }
        }
        #expect(refusal(.invite(Self.long(7)), of: conversation, limit - 1_000) == nil)
        #expect(refusal(.invite(Self.long(7)), of: conversation, limit) == .conversationFull)
        #expect(refusal(.leave, of: conversation, limit) == nil)
        #expect(refusal(.leave, of: conversation, limit / 4 * 5) == .conversationFull)
        var author = Author(1)
        let message = author.apply(
            .send(People.message, type: .text, item: nil, text: "hello"), by: Self.long(0),
            to: nil)
        #expect(
            refusal(.message(People.message, HideMessage()), of: message, limit) == .documentFull)
        #expect(refusal(.message(People.message, RestoreMessage()), of: message, limit) == nil)
        #expect(refusal(.message(People.message, RetractMessage()), of: message, 2 * limit) == nil)
    }

    /// The estimate is made before a change has its dot and stamp, so it must not be too small.
    @Test func `no change adds more bytes than it is reckoned for`() {
        var random = SplitMix64(seed: 3)
        var author = Author(1)
        let (me, names) = (Self.long(0), (0..<40).map(Self.long))
        var conversation = author.apply(
            .create(participants: [me], title: nil), by: me, to: nil)
        var message = author.apply(
            .send(People.message, type: .text, item: nil, text: "x"), by: me, to: nil)
        var participantState: Document?
        for number in 2..<400 as Range<UInt64> {
            // Each change comes from another process.
            var author = Author(number)
            let user = random.pick(names)
            func check(_ action: ChatAction, of document: inout Document) {
                let before = document
                // A removal names up to four other processes.
                document = author.apply(
                    action, by: user, to: document,
                    after: (1...4).map {
                        ProcessCounter(process: People.replica(number * 10 + $0), counter: 1 << 60)
                    })
                let added =
                    (document.encoded.count - document.bytesLimitedByCount)
                    - (before.encoded.count - before.bytesLimitedByCount)
                let mutation = Mutation(action, in: People.conversation, by: user)
                #expect(added <= mutation.bytesAdded(hiding: nil), "\(action)")
            }
            check(random.chance(60) ? .invite(random.pick(names)) : .leave, of: &conversation)
            switch random.below(5) {
            case 0: check(.message(People.message, HideMessage()), of: &message)
            case 1: check(.message(People.message, RestoreMessage()), of: &message)
            case 2: check(.message(People.message, PinMessage()), of: &message)
            case 3: check(.message(People.message, UnpinMessage()), of: &message)
            default: check(.edit("text \(number)"), of: &message)
            }
            guard var mine = participantState else {
                participantState = author.apply(.archive, by: me, to: nil)
                continue
            }
            check(random.chance(50) ? .archive : .unarchive, of: &mine)
            participantState = mine
        }
    }

    @Test func `of the edits of all sides the latest are kept, whatever the order of merges`()
        throws
    {
        let sides = (1...12 as ClosedRange<UInt64>).map { side -> Document in
            var author = Author(1)
            var document = author.apply(
                .send(People.message, type: .text, item: nil, text: "x"), by: People.alice,
                to: nil)
            author = Author(side + 1, wallMilliseconds: 2_000_000 + side)
            for number in 0..<ChatLimits.editsMax {
                document = author.apply(
                    .edit("\(side) \(number)"), by: People.alice, to: document)
            }
            return document
        }
        var (one, other) = (sides[0], sides[11])
        for side in sides.dropFirst() { one.merge(side) }
        for side in sides.reversed().dropFirst() { other.merge(side) }
        #expect(one.message?.versions.count == ChatLimits.editsKeptMax)
        #expect(one == other && one.encoded == other.encoded)
        #expect(try Document(one.key, decoding: one.encoded) == one)
    }
}
