import Testing
import Wire

@testable import Chat

struct TermsTests {
    @Test func `a conversation is found under its participants, also after they changed`() {
        var author = Author(1)
        let created = author.apply(
            .create(participants: People.all, title: nil), by: People.alice, to: nil)
        #expect(created.terms == ["alice", "bob", "carol"])
        let left = author.apply(.leave, by: People.bob, to: created)
        #expect(left.terms == ["alice", "carol"])
        let invited = author.apply(.invite(UserID(checked: "b")), by: People.alice, to: left)
        #expect(invited.terms == ["alice", "b", "carol"])
        #expect(Record(of: left, bytes: [], previous: .init(of: created)).terms == left.terms)
        #expect(Record.Previous(of: created).terms == created.terms)
    }

    @Test func `a message is found while it is pinned, and a seat never`() {
        var author = Author(1)
        let sent = author.apply(.send("hello"), by: People.alice, to: nil)
        let pinned = author.apply(.pin, by: People.bob, to: sent)
        #expect(sent.terms.isEmpty)
        #expect(pinned.terms == [Term.pinned])
        #expect(author.apply(.unpin, by: People.bob, to: pinned).terms.isEmpty)
        #expect(author.apply(.retract, by: People.alice, to: pinned).terms.isEmpty)
        #expect(author.apply(.archive, by: People.bob, to: nil).terms.isEmpty)
    }
}
