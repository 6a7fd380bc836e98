import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

/// The messages of which a device is notified: bob's phone, in a conversation with alice and carol.
struct NotificationRuleTests {
    private let room = Conversation.among()
    /// Its clock advances by a second with each step, so that writes are in order.
    private var author = Author(1)
    private var device: Document

    init() { device = author.device(AddDevice(FieldText("t")), nil) }

    private mutating func pass() { author.writer.wallMilliseconds += 1_000 }

    private mutating func view(_ conversation: ConversationID?) {
        pass()
        device = author.device(ViewConversation(conversation), device)
    }

    private mutating func sent(by user: UserID = People.alice) -> Document {
        pass()
        return author.apply(.send("hello"), by: user, to: nil)
    }

    private func rule(of other: Document? = nil) throws -> NotificationRule {
        let device = try #require((other ?? device).device)
        return try #require(NotificationRule(for: device, of: People.bob))
    }

    private func isNotified(
        of document: Document, in conversation: ConversationID = People.conversation,
        among room: Conversation? = nil, by other: Document? = nil
    ) throws -> Bool {
        let message = try #require(document.message)
        return try rule(of: other).notifies(
            of: message, sentBy: document.sendings, in: conversation,
            room ?? self.room)
    }

    @Test mutating func `every message of another's, none of one's own`() throws {
        let (theirs, own) = (sent(), sent(by: People.bob))
        #expect(try isNotified(of: theirs))
        #expect(try !isNotified(of: own))
    }

    @Test mutating func `only what was sent since the device was added`() throws {
        let before = sent()
        pass()
        let late = author.device(AddDevice(FieldText("t")), nil)
        #expect(try !isNotified(of: before, by: late))
        let after = sent()
        #expect(try isNotified(of: after, by: late))
    }

    /// Foreground or background, viewing the conversation or not: one of the four cases is silent.
    ///
    /// A device in the background views nothing.
    @Test mutating func `a device that shows the conversation is not notified, any other is`()
        throws
    {
        let other = ConversationID(checked: "c2")
        #expect(try isNotified(of: sent()))
        view(nil)
        #expect(try isNotified(of: sent()))
        view(other)
        let elsewhere = sent()
        #expect(try isNotified(of: elsewhere))
        #expect(try !isNotified(of: elsewhere, in: other))
        view(People.conversation)
        let viewed = sent()
        #expect(try !isNotified(of: viewed))
        view(nil)
        #expect(try isNotified(of: sent()))
        #expect(try !isNotified(of: viewed))
    }

    @Test mutating func `what one device shows is nothing to another`() throws {
        let tablet = device
        view(People.conversation)
        let message = sent()
        #expect(try !isNotified(of: message))
        #expect(try isNotified(of: message, by: tablet))
    }

    @Test mutating func `none of what its user may not see`() throws {
        let message = sent()
        let retracted = author.apply(.retract, by: People.alice, to: message)
        let hidden = author.apply(.hide, by: People.bob, to: message)
        let hiddenByAnother = author.apply(.hide, by: People.carol, to: message)
        #expect(try !isNotified(of: retracted))
        #expect(try !isNotified(of: hidden))
        #expect(try isNotified(of: hiddenByAnother))
        let all = [People.alice, People.bob, People.carol].reduce(message) {
            author.apply(.hide, by: $1, to: $0)
        }
        #expect(try !isNotified(of: all))
        #expect(try isNotified(of: author.apply(.restore, by: People.bob, to: all)))
    }

    @Test mutating func `who is invited again is notified of what is sent since`() throws {
        let before = sent()
        pass()
        var room = room
        room.leave(People.bob, by: author.writer.nextAuthorship())
        room.invite(People.bob, of: People.alice, by: author.writer.nextStamp())
        #expect(try !isNotified(of: before, among: room))
        #expect(try isNotified(of: sent(), among: room))
    }

    @Test mutating func `none a second time`() throws {
        let message = sent()
        let position = try #require(message.message?.header.sent.time)
        let entry = ListedNotification(
            dot: message.sendings[0], conversation: People.conversation, message: People.message,
            at: position, among: SeqSet(1...99))
        device = author.list([entry], device)
        #expect(try isNotified(of: message))
        device = author.device(AcknowledgeThrough(entry.place.id), device)
        #expect(try !isNotified(of: message))
        #expect(try isNotified(of: sent()))
    }

    @Test mutating func `a message sent on two sides of a cut is one, whichever was listed`()
        throws
    {
        var far = Author(2)
        far.writer.wallMilliseconds = author.writer.wallMilliseconds + 500
        let (here, there) = (sent(), far.apply(.send("hello"), by: People.alice, to: nil))
        let both = here.merged(with: there)
        #expect(both == there.merged(with: here) && both.sendings.count == 2)
        for listed in [here, there] {
            let entry = ListedNotification(
                dot: listed.sendings[0], conversation: People.conversation,
                message: People.message, at: try #require(listed.message?.header.sent.time),
                among: SeqSet(1...9))
            var device = author.list([entry], device)
            #expect(try isNotified(of: both, by: device))
            device = author.device(AcknowledgeThrough(entry.place.id), device)
            #expect(try !isNotified(of: both, by: device))
        }
        let edited = author.apply(.edit("ho"), by: People.alice, to: here)
        #expect(edited.sendings == here.sendings)
    }

    /// The device is added again, on a side that does not know the first sending and removes the
    /// second.
    @Test mutating func `a message sent before an addition and after it stays taken off`() throws {
        var far = Author(2)
        far.writer.wallMilliseconds = author.writer.wallMilliseconds + 5_000
        let early = sent()
        let added = far.device(AddDevice(FieldText("t")), nil)
        far.writer.wallMilliseconds += 1
        let late = far.apply(.send("hello"), by: People.alice, to: nil)
        let both = early.merged(with: late)
        try #require(both.sendings.first == early.sendings[0] && both.sendings.count == 2)
        let entry = ListedNotification(
            dot: late.sendings[0], conversation: People.conversation, message: People.message,
            at: try #require(late.message?.header.sent.time), among: SeqSet(1...9))
        let done = far.device(AcknowledgeThrough(entry.place.id), far.list([entry], added))
        for device in [done, done.merged(with: device)] {
            #expect(try !isNotified(of: both, by: device) && !isNotified(of: late, by: device))
        }
        #expect(try isNotified(of: early, by: done.merged(with: device)))
    }

    /// Both sendings are earlier than the addition; the second is passed over with what follows it.
    @Test mutating func `a message sent twice before an addition is not passed over`() throws {
        var far = Author(2)
        far.writer.wallMilliseconds = author.writer.wallMilliseconds + 5_000
        let early = sent()
        let both = early.merged(with: far.apply(.send("hello"), by: People.alice, to: nil))
        far.writer.wallMilliseconds += 1
        let added = far.device(AddDevice(FieldText("t")), nil)
        far.writer.wallMilliseconds += 1
        let next = far.apply(.send("next"), by: People.alice, to: nil)
        let entry = ListedNotification(
            dot: next.sendings[0], conversation: People.conversation,
            message: MessageID(checked: "next"),
            at: try #require(next.message?.header.sent.time),
            among: SeqSet(1...next.sendings[0].seq))
        let done = far.device(AcknowledgeThrough(entry.place.id), far.list([entry], added))
        #expect(try !isNotified(of: both, by: done))
        #expect(try isNotified(of: both, by: done.merged(with: device)))
        #expect(try !isNotified(of: next, by: done.merged(with: device)))
    }

    /// Both sendings follow the addition, and the entry of the message states the first.
    @Test mutating func `a message sent twice is not passed over with what follows the second`()
        throws
    {
        var far = Author(2)
        far.writer.wallMilliseconds = author.writer.wallMilliseconds + 5_000
        let early = sent()
        let both = early.merged(with: far.apply(.send("hello"), by: People.alice, to: nil))
        try #require(both.sendings.first == early.sendings[0] && both.sendings.count == 2)
        far.writer.wallMilliseconds += 1
        let next = far.apply(.send("next"), by: People.alice, to: nil)
        let first = ListedNotification(
            dot: both.sendings[0], conversation: People.conversation, message: People.message,
            at: try #require(both.message?.header.sent.time), among: SeqSet())
        let second = ListedNotification(
            dot: next.sendings[0], conversation: People.conversation,
            message: MessageID(checked: "next"),
            at: try #require(next.message?.header.sent.time),
            among: SeqSet(1...next.sendings[0].seq))
        var sendings = Vector()
        for dot in both.sendings { sendings.insert(dot) }
        for (entry, isLeft) in [(second, false), (second.sparing(sendings), true)] {
            let listed = author.list([first, entry], device)
            let done = author.device(AcknowledgeAlone(entry.place.id), listed)
            #expect(try isNotified(of: both, by: done) == isLeft)
            #expect(try !isNotified(of: next, by: done))
        }
    }

    @Test mutating func `what comes within a day after a later one is still notified`() throws {
        var far = Author(2)
        far.writer.wallMilliseconds = author.writer.wallMilliseconds + 5_000
        let behind = far.apply(.send("from the other side"), by: People.carol, to: nil)
        for (milliseconds, isDue) in [(86_000_000 as UInt64, true), (87_000_000, false)] {
            var author = author
            author.writer.wallMilliseconds += milliseconds
            let later = author.apply(.send("later"), by: People.alice, to: nil)
            let entry = ListedNotification(
                dot: later.sendings[0], conversation: People.conversation,
                message: People.message, at: try #require(later.message?.header.sent.time),
                among: SeqSet(1...later.sendings[0].seq))
            var device = author.list([entry], device)
            device = author.device(AcknowledgeThrough(entry.place.id), device)
            #expect(try isNotified(of: behind, by: device) == isDue)
        }
    }
}
