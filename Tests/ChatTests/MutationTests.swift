import CRDT
import TestKit
import Testing
import Wire

@testable import Chat

struct MutationTests {
    @Test func `a mutation changes one document, the message's or the conversation's`() {
        let create = Mutation(
            CreateConversation(participants: [People.alice], title: nil),
            in: People.conversation, by: People.alice)
        #expect(create.message == nil)
        #expect(create.key == .conversation(People.conversation))
        for action in [
            .send("a"), .edit("a"), .hide, .retract, .restore, .pin, .unpin,
        ]
            as [ChatAction]
        {
            let mutation = Mutation(action, in: People.conversation, by: People.alice)
            #expect(mutation.message == People.message)
            #expect(mutation.key == .message(People.message, in: People.conversation))
        }
    }

    @Test func `what is a user's own is in their state, who takes part in the conversation`() {
        for action in [.archive, .unarchive, .read(nil), .read(People.message), .deliver(nil)]
            as [ChatAction]
        {
            let mutation = Mutation(action, in: People.conversation, by: People.bob)
            #expect(mutation.key == ParticipantStateTests.key)
            #expect(mutation.message == nil)
        }
        for action in [.invite(People.bob), .leave] as [ChatAction] {
            let mutation = Mutation(action, in: People.conversation, by: People.bob)
            #expect(mutation.key == .conversation(People.conversation))
        }
    }

    @Test func `a creation takes participants, title and the author's stamp`() throws {
        var author = Author(4)
        let document = author.apply(
            .create(participants: People.all, title: "title"), by: People.bob, to: nil)
        let conversation = try #require(document.conversation)
        #expect(conversation.header.creator == People.bob)
        #expect(conversation.header.participants == People.all)
        #expect(conversation.header.title == "title")
        #expect(conversation.participants.elements == People.all)
        #expect(document.greatestTime == conversation.header.created.time)
        #expect(document.historyTime == .zero)
        #expect(document.changedBy == Context(People.dot(4, 1)))
    }

    @Test func `every change is named in what changed the document, and its time is kept`() {
        var author = Author(4)
        var document = author.apply(.send("hello"), by: People.alice, to: nil)
        let sent = document.historyTime
        var seq: UInt64 = 1
        for action in [.edit("a"), .pin, .unpin, .hide, .restore, .retract]
            as [ChatAction]
        {
            document = author.apply(action, by: People.alice, to: document)
            seq += 1
            #expect(document.changedBy == Context(People.dot(4, seq)))
            #expect(document.historyTime == sent)
            #expect(document.greatestTime >= sent)
        }
    }

    @Test func `a later pin replaces an earlier one, and unpinning it undoes both`() throws {
        var (one, other) = (Author(1, wallMilliseconds: 5_000_000), Author(2))
        let sent = one.apply(.send("hello"), by: People.alice, to: nil)
        let pinned = one.apply(.pin, by: People.alice, to: sent)
        // The clock is an hour behind, yet the write is later, since its node has seen the pin.
        let replaced = other.apply(.pin, by: People.bob, to: pinned)
        #expect(pinned.merged(with: replaced).message?.pin?.value.by == People.bob)
        let unpinned = other.apply(.unpin, by: People.carol, to: replaced)
        #expect(pinned.merged(with: unpinned).message?.pin?.value.by == nil)
        #expect(unpinned.message?.pin != nil)
    }
}
