import CRDT
import TestKit
import Testing
import Wire

@testable import Chat

struct IndexKeysTests {
    @Test func `a conversation is found under its participants, also after they changed`() {
        var author = Author(1)
        let created = author.apply(
            .create(participants: People.all, title: nil), by: People.alice, to: nil)
        #expect(created.indexKeys == ["alice", "bob", "carol"])
        let left = author.apply(.leave, by: People.bob, to: created)
        #expect(left.indexKeys == [Term.former(People.bob), "alice", "carol"])
        let invited = author.apply(.invite(UserID(checked: "b")), by: People.alice, to: left)
        #expect(invited.indexKeys == [Term.former(People.bob), "alice", "b", "carol"])
        let back = author.apply(.invite(People.bob), by: People.alice, to: left)
        #expect(back.indexKeys == created.indexKeys)
        #expect(
            Record(of: left, bytes: [], previous: .init(of: created)).indexKeys == left.indexKeys)
        #expect(Record.Previous(of: created).indexKeys == created.indexKeys)
    }

    @Test func `a message is found while it is pinned, and a participant state never`() {
        var author = Author(1)
        let sent = author.apply(.send("hello"), by: People.alice, to: nil)
        let pinned = author.apply(.pin, by: People.bob, to: sent)
        #expect(sent.indexKeys.isEmpty)
        #expect(pinned.indexKeys == [Term.pinned])
        #expect(author.apply(.unpin, by: People.bob, to: pinned).indexKeys.isEmpty)
        #expect(author.apply(.retract, by: People.alice, to: pinned).indexKeys.isEmpty)
        #expect(author.apply(.archive, by: People.bob, to: nil).indexKeys.isEmpty)
    }

    /// The invariant by which a shard without such terms need not be read for a watcher that
    /// resumes.
    @Test func `who is told of a conversation, as it is, finds it by a word, in it or not`() throws
    {
        var author = Author(1)
        let created = author.apply(
            .create(participants: People.all, title: nil), by: People.alice, to: nil)
        let left = author.apply(.leave, by: People.bob, to: created)
        let empty = author.apply(
            .leave, by: People.carol, to: author.apply(.leave, by: People.alice, to: left))
        for document in [created, left, empty] {
            let around = EventContext(
                chat: document.conversation, progress: Progress(),
                time: HybridTimestamp(milliseconds: 1))
            let told = document.addressedEvents(beyond: Vector(), in: around)
            for user in People.all + [UserID(checked: "dave")] {
                let words = Term.concerning(user).filter { $0.kind == .conversation }.map(\.term)
                let isTold = told.contains { $0.narrowed { $0 == user } != nil }
                #expect(isTold == document.concerns(user))
                #expect(isTold == words.contains(where: document.indexKeys.contains))
            }
        }
    }

    @Test func `no word is longer than a name, and that of who left is nobody's name`() throws {
        let long = UserID(checked: String(repeating: "x", count: nameBytesMax))
        #expect(Term.former(long).utf8.count <= nameBytesMax)
        #expect(!isName(Term.former(long).utf8))
    }
}
