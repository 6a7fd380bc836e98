import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

/// The events that each change causes for watchers.
@Suite struct EventTests {
    private var author = Author(1)
    private let room = Conversation.among()

    private var around: EventContext {
        EventContext(chat: room, progress: Progress(), time: HybridTimestamp(milliseconds: 77))
    }

    private func told(_ document: Document, since before: Document?) -> [String] {
        document.addressedEvents(since: before, in: around).map(\.words)
    }

    private mutating func sent() -> Document {
        author.apply(.send("hello"), by: People.alice, to: nil)
    }

    @Test mutating func `a message is told to everybody in its conversation, as it is`() {
        let message = sent()
        let all = message.addressedEvents(since: nil, in: around)
        #expect(all.map(\.words) == ["message m1 hello by alice to alice,bob,carol"])
        guard case .message(let view)? = all.first?.event.kind else {
            Issue.record("no message")
            return
        }
        #expect(view.sentAt == all.first?.event.at && view.from == People.alice)
    }

    @Test mutating func `an edit is told with the text to all who see the message`() {
        let message = author.apply(.hide, by: People.carol, to: sent())
        let edited = author.apply(.edit("hi"), by: People.alice, to: message)
        #expect(told(edited, since: message) == ["edit m1 hi by alice to alice,bob"])
    }

    @Test mutating func `who hides a message or takes it back hears of it alone`() {
        let message = sent()
        let hidden = author.apply(.hide, by: People.bob, to: message)
        #expect(told(hidden, since: message) == ["delete m1 for me by bob to bob"])
        let restored = author.apply(.restore, by: People.bob, to: hidden)
        #expect(told(restored, since: hidden) == ["restore m1 hello by bob to bob"])
    }

    @Test mutating func `a deletion for everyone is told once, without the text`() {
        let pinned = author.apply(.pin, by: People.bob, to: sent())
        let retracted = author.apply(.retract, by: People.alice, to: pinned)
        #expect(
            told(retracted, since: pinned)
                == ["delete m1 for everyone by alice to alice,bob,carol"])
        #expect(
            told(retracted, since: nil) == ["delete m1 for everyone by alice to alice,bob,carol"])
    }

    @Test mutating func `a deletion for everyone that comes with its undoing is told with that`() {
        let message = sent()
        let retracted = author.apply(.retract, by: People.alice, to: message)
        let restored = author.apply(.restore, by: People.alice, to: retracted)
        #expect(
            told(restored, since: message) == [
                "delete m1 for everyone by alice to alice,bob,carol",
                "restore m1 [Message deleted] by alice to alice",
            ])
    }

    @Test mutating func `what was undone elsewhere is told to who may have heard of it there`() {
        let message = sent()
        var other = Author(2)
        let hidden = other.apply(.hide, by: People.bob, to: message)
        let restored = other.apply(.restore, by: People.bob, to: hidden)
        #expect(
            told(message.merged(with: restored), since: message)
                == ["restore m1 hello by bob to bob"])
        let again = other.apply(.hide, by: People.bob, to: restored)
        #expect(
            told(hidden.merged(with: again), since: hidden) == ["delete m1 for me by bob to bob"])
        let retracted = author.apply(.retract, by: People.alice, to: message)
        let twice = author.apply(.retract, by: People.alice, to: retracted)
        #expect(told(twice, since: retracted) == ["delete m1 for everyone by alice to alice"])
    }

    @Test mutating func `an archiving, a participant and an item undone elsewhere are told`() {
        var other = Author(2)
        let archived = author.apply(.archive, by: People.bob, to: nil)
        let back = other.apply(.unarchive, by: People.bob, to: archived)
        let again = other.apply(.archive, by: People.bob, to: back)
        #expect(told(archived.merged(with: again), since: archived) == ["archive by bob to bob"])

        let room = author.apply(
            .create(participants: [People.alice, People.bob], title: nil), by: People.alice,
            to: nil)
        let invited = other.apply(.invite(People.carol), by: People.bob, to: room)
        let left = other.apply(.leave, by: People.carol, to: invited)
        #expect(
            told(room.merged(with: left), since: room)
                == ["left carol by carol to alice,bob,carol"])
        let gone = other.apply(.leave, by: People.bob, to: room)
        let returned = other.apply(.invite(People.bob), by: People.alice, to: gone)
        #expect(
            told(room.merged(with: returned), since: room)
                == ["added bob by alice to alice,bob"])

        let item = author.add("plan", by: People.alice)
        let done = other.handle(FinishItem(true), to: item)
        let open = other.handle(FinishItem(false), to: done)
        #expect(
            told(item.merged(with: open), since: item)
                == ["action \(ItemTests.item) plan by alice to alice"])
    }

    @Test mutating func `a pin is told with who set it, and so is its end`() {
        let message = sent()
        let pinned = author.apply(.pin, by: People.bob, to: message)
        #expect(told(pinned, since: message) == ["pin m1 by bob to alice,bob,carol"])
        let unpinned = author.apply(.unpin, by: People.carol, to: pinned)
        #expect(told(unpinned, since: pinned) == ["unpin m1 by carol to alice,bob,carol"])
    }

    @Test mutating func `of a text what is on disk is told, whatever it was in between`() {
        let message = sent()
        let edited = author.apply(.edit("hi"), by: People.alice, to: message)
        let retracted = author.apply(.retract, by: People.alice, to: edited)
        #expect(
            message.addressedEvents(since: nil, shownAs: edited, in: around).map(\.words)
                == ["message m1 hi by alice to alice,bob,carol"])
        #expect(
            message.addressedEvents(since: nil, shownAs: retracted, in: around).map(\.words)
                == ["message m1 [Message deleted] by alice to bob,carol"])
        #expect(edited.addressedEvents(since: message, shownAs: retracted, in: around).isEmpty)
    }

    @Test mutating func `what changes nothing that shows is not told`() {
        let message = sent()
        #expect(told(message, since: message).isEmpty)
    }

    @Test mutating func `an earlier sending of the same id is told as the message that it is`() {
        var other = Author(2, wallMilliseconds: 5)
        let earlier = other.apply(.send("first"), by: People.bob, to: nil)
        let message = sent()
        #expect(
            told(message.merged(with: earlier), since: message)
                == ["message m1 first by bob to alice,bob,carol"])
    }

    @Test mutating func `a mark is told to everybody and an archiving to its user`() {
        let position = HistoryPosition(time: HybridTimestamp(milliseconds: 9), id: People.message)
        let mark = room.mark(of: People.bob, at: position)
        func participantState(
            _ action: ChatAction, _ old: Document?, _ author: inout Author
        ) -> Document {
            Mutation(action, in: People.conversation, by: People.bob)
                .applied(
                    to: old, with: ParticipantFindings(mark: mark),
                    by: author.writer.nextAuthorship())
        }
        let read = participantState(.read(nil), nil, &author)
        #expect(told(read, since: nil) == ["read m1 by bob to alice,bob,carol"])
        let delivered = participantState(.deliver(nil), read, &author)
        #expect(told(delivered, since: read) == ["delivered m1 by bob to alice,bob,carol"])
        let archived = participantState(.archive, delivered, &author)
        #expect(told(archived, since: delivered) == ["archive by bob to bob"])
        let back = participantState(.unarchive, archived, &author)
        #expect(told(back, since: archived) == ["unarchive by bob to bob"])
        #expect(
            back.addressedEvents(beyond: Vector(), in: around).map(\.words) == [
                "read m1 by bob to alice,bob,carol", "delivered m1 by bob to alice,bob,carol",
                "unarchive by bob to bob",
            ])
    }

    @Test mutating func `everybody hears who comes and goes, who goes too`() {
        let created = author.apply(
            .create(participants: [People.alice, People.bob], title: nil), by: People.alice,
            to: nil)
        #expect(
            told(created, since: nil) == [
                "added alice by alice to alice,bob", "added bob by alice to alice,bob",
            ])
        let invited = author.apply(.invite(People.carol), by: People.bob, to: created)
        #expect(told(invited, since: created) == ["added carol by bob to alice,bob,carol"])
        let left = author.apply(.leave, by: People.bob, to: invited)
        #expect(told(left, since: invited) == ["left bob by bob to alice,bob,carol"])
        #expect(
            left.addressedEvents(beyond: Vector(), in: around).map(\.words) == [
                "added alice by alice to alice,bob,carol", "added carol by bob to alice,bob,carol",
                "left bob by bob to alice,bob,carol",
            ])
    }

    @Test mutating func `who knows a message is told what may have become of it, as it is`() {
        let message = sent()
        let known = message.changedBy.vector
        var other = Author(2)
        let edited = other.apply(.edit("hi"), by: People.alice, to: message)
        let pinned = other.apply(.pin, by: People.bob, to: edited)
        let hidden = other.apply(.hide, by: People.carol, to: pinned)
        #expect(
            hidden.addressedEvents(beyond: known, in: around).map(\.words) == [
                "edit m1 hi by alice to alice,bob", "pin m1 by bob to alice,bob,carol",
                "delete m1 for me by carol to carol",
            ])
        let retracted = other.apply(.retract, by: People.alice, to: hidden)
        #expect(
            retracted.addressedEvents(beyond: known, in: around).map(\.words).first
                == "delete m1 for everyone by alice to alice,bob,carol")
        #expect(
            retracted.addressedEvents(beyond: Vector(), in: around).map(\.words) == [
                "delete m1 for everyone by alice to alice,bob,carol",
                "delete m1 for me by carol to carol",
            ])
        // A watcher that knows the deletion has removed the message, and must learn that it shows
        // again.
        let restored = other.apply(.restore, by: People.alice, to: retracted)
        for known in [known, Vector()] {
            #expect(
                restored.addressedEvents(beyond: known, in: around).map(\.words).last
                    == "restore m1 [Message deleted] by alice to alice")
        }
    }

    @Test mutating func `each change is told with its time, at once and later alike`() {
        var told: [(now: [HybridTimestamp], later: [HybridTimestamp])] = []
        var old = sent()
        var known = Vector()
        // All changes are made long after the time of publication in `around`, which no event may
        // carry.
        for action in [
            .edit("hi"), .hide, .restore, .pin, .unpin, .retract,
        ] as [ChatAction] {
            known.formUnion(old.changedBy.vector)
            let new = author.apply(action, by: People.alice, to: old)
            let live = new.addressedEvents(since: old, in: around).map(\.event)
            let since = new.addressedEvents(beyond: known, in: around).map(\.event)
            for event in live {
                #expect(event.at == new.greatestTime && event.by == People.alice, "\(action)")
                #expect(
                    since.contains { $0.at == event.at && $0.kind == event.kind }, "\(action)")
            }
            told.append((live.map(\.at), since.map(\.at)))
            old = new
        }
        #expect(told.allSatisfy { !$0.now.isEmpty })
    }

    @Test mutating func `a hiding is told to its user once, and not to who knows it`() {
        var vector = Vector()
        vector.insert(People.dot(1, 3))
        func hide(_ old: Document?, _ author: inout Author) -> Document {
            let authorship = author.writer.nextAuthorship()
            return Mutation(HideChat(), in: People.conversation, by: People.bob)
                .applied(
                    to: old,
                    with: ParticipantFindings(hidden: Hidden(invitation: nil, vector: vector)),
                    by: authorship)
        }
        let hidden = hide(nil, &author)
        let live = hidden.addressedEvents(since: nil, in: around)
        #expect(live.map(\.words) == ["hide by bob to bob"])
        #expect(live.map(\.event.at) == [hidden.participantState?.hidden?.at])
        #expect(hidden.addressedEvents(beyond: Vector(), in: around) == live)
        let archived = author.apply(.archive, by: People.bob, to: hidden)
        #expect(told(archived, since: hidden) == ["archive by bob to bob"])
        #expect(
            archived.addressedEvents(beyond: hidden.changedBy.vector, in: around).map(\.words)
                == ["archive by bob to bob"])
    }

    @Test mutating func `an event reads as it was written`() throws {
        let message = sent()
        let retracted = author.apply(.retract, by: People.alice, to: message)
        let events = [message, retracted].flatMap { $0.addressedEvents(since: nil, in: around) }
        let others: [Event.Kind] = [
            .pin(People.message), .unpin(People.message), .read(People.message),
            .delivered(People.message), .typing(isOn: true), .typing(isOn: false),
            .member(People.bob, isIn: true), .member(People.bob, isIn: false), .archive,
            .unarchive, .hide, .delete(People.message, isForEveryone: false),
        ]
        let all =
            events
            + others.map {
                AddressedEvent(
                    Event($0, in: nil, by: nil, at: HybridTimestamp(milliseconds: 3)),
                    to: [People.bob])
            }
        for addressedEvent in all where addressedEvent.event.kind.onlyNamesMessage == false {
            #expect(try AddressedEvent.decode(addressedEvent.encoded) == addressedEvent)
        }
        // When a message was sent that an event only names stands behind the events.
        var writer = ByteWriter()
        all.encode(into: &writer)
        all.encodeRest(into: &writer)
        var reader = ByteReader(writer.bytes)
        var read: [AddressedEvent] = try reader.readList(limit: all.count)
        try read.readRest(from: &reader)
        #expect(read == all && reader.isAtEnd)
        #expect(try GoldenBytes("event", of: all.map(\.encoded)).difference() == nil)
    }
}

extension Context {
    var vector: Vector {
        var vector = Vector()
        vector.insert(self)
        return vector
    }
}

extension AddressedEvent {
    /// The event in words, for comparisons.
    var words: String {
        let what =
            switch event.kind {
            case .message(let view): "message \(view.id) \(view.text)"
            case .edit(let view): "edit \(view.id) \(view.text)"
            case .restore(let view): "restore \(view.id) \(view.text)"
            case .delete(let id, let isForEveryone):
                "delete \(id) for \(isForEveryone ? "everyone" : "me")"
            case .pin(let id): "pin \(id)"
            case .unpin(let id): "unpin \(id)"
            case .read(let id): "read \(id)"
            case .delivered(let id): "delivered \(id)"
            case .typing(let isOn): "typing \(isOn)"
            case .member(let user, let isIn): "\(isIn ? "added" : "left") \(user)"
            case .archive: "archive"
            case .unarchive: "unarchive"
            case .hide: "hide"
            case .action(let item): "action \(item.id) \(item.title)"
            case .actionDeleted(let id): "action \(id) deleted"
            case .profile(let profile): "profile \(profile.user)"
            case .level: "level"
            case .heartbeat: "heartbeat"
            case .blocks(let blocks): "blocks \(blocks.views.map(\.user))"
            }
        return "\(what) by \(event.by?.text ?? "-") to "
            + audience.map(\.text).joined(separator: ",")
    }
}
