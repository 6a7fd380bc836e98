import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

struct MessageTests {
    /// Every change that the type has, without judging it.
    private static let laws = Laws<Message>(
        merge: { $0.merge($1) },
        encode: {
            var fields = Fields()
            var context = Context($0.header.dot)
            for send in $0.others { context.insert(send.header.dot) }
            $0.write(to: &fields, changedBy: context)
            return context.encoded + fields.encoded
        },
        decode: {
            var reader = ByteReader($0)
            let context = try Context(from: &reader)
            var fields = try Fields(from: &reader)
            return try Message(from: &fields, changedBy: context)
        },
        greatestTime: \.greatestTime,
        mutate: { message, writer, random in
            let user = random.pick(People.all)
            guard var message else {
                return Message(
                    Message.Header(
                        sent: writer.nextStamp(), dot: writer.nextDot(), sender: user,
                        type: random.pick(MessageType.allCases), item: nil,
                        text: random.pick(["first", "other", ""])))
            }
            switch random.below(14) {
            case 0...5:
                // Few operations, so that several nodes execute the same one.
                let number = UInt64(random.below(10))
                let stamp =
                    random.chance(50)
                    ? writer.nextStamp() : People.stamp(800 + number, at: 1_000_000_000)
                let version = Message.Version(stamp: stamp, text: "text \(number % 3)")
                let isKnown = message.versions.contains { $0.stamp == version.stamp }
                if !isKnown, !message.isRetracted { message.edit(version) }
            case 6, 7: message.hide(for: user, by: writer.nextStamp())
            case 8, 9: message.restore(for: user, by: writer.nextAuthorship())
            case 10...12 where !message.isRetracted:
                let pin = Pin(user: user, isOn: random.chance(50))
                message.setPin(pin, at: writer.nextStamp())
            default: if random.chance(20) { message.retract(at: writer.nextTime()) }
            }
            return message
        })

    @Test func `merging is a join, and any order gives the same bytes`() throws {
        try MessageTests.laws.check(seeds: 0..<1_000)
    }

    @Test func `of two sendings of one id the earlier stays, with its own edits only`() {
        var (one, other) = (Author(1, wallMilliseconds: 10), Author(2, wallMilliseconds: 20))
        let early = one.apply(.send("early"), by: People.alice, to: nil)
        let late = other.apply(.send("late"), by: People.bob, to: nil)
        let lateEdited = other.apply(.edit("late edit"), by: People.bob, to: late)
        let earlyEdited = one.apply(.edit("early edit"), by: People.alice, to: early)
        for merged in [
            early.merged(with: lateEdited), lateEdited.merged(with: early),
            lateEdited.merged(with: early).merged(with: late),
        ] {
            #expect(merged.message?.header == early.message?.header)
            #expect(merged.message?.versions == [])
        }
        for merged in [earlyEdited.merged(with: lateEdited), lateEdited.merged(with: earlyEdited)] {
            #expect(texts(merged) == ["early", "early edit"])
            let retracted = one.apply(.retract, by: People.alice, to: merged)
            #expect(!retracted.encoded.holds("early"))
        }
        #expect(!early.merged(with: late).encoded.holds("late"))
    }

    @Test func `nobody deletes, pins or edits what another sent under the same id`() throws {
        var (one, other) = (Author(1, wallMilliseconds: 10), Author(2, wallMilliseconds: 20))
        let early = one.apply(.send("early"), by: People.alice, to: nil)
        let late = other.apply(.send("late"), by: People.bob, to: nil)
        let pinned = other.apply(.pin, by: People.bob, to: late)
        let retracted = other.apply(.retract, by: People.bob, to: late)
        for merged in [
            early.merged(with: retracted), retracted.merged(with: early),
            pinned.merged(with: early).merged(with: retracted),
            retracted.merged(with: early.merged(with: pinned)),
        ] {
            #expect(merged.message?.isRetracted == false && merged.message?.text == "early")
            #expect(merged.message?.isPinned == false)
            let read = try Document(merged.key, decoding: merged.encoded)
            #expect(read == merged)
            // A send of the stranger's that is earlier than the other was is deleted with it.
            var third = Author(3, wallMilliseconds: 5)
            let first = third.apply(.send("first"), by: People.bob, to: nil)
            #expect(merged.merged(with: first).message?.isRetracted == true)
            #expect(first.merged(with: merged) == merged.merged(with: first))
        }
    }

    @Test func `of two sendings that say the same the edits of both are kept`() {
        var (one, other) = (Author(1, wallMilliseconds: 10), Author(2, wallMilliseconds: 20))
        let early = one.apply(.send("hello"), by: People.alice, to: nil)
        let late = other.apply(.send("hello"), by: People.alice, to: nil)
        let earlyEdited = one.apply(.edit("one"), by: People.alice, to: early)
        let lateEdited = other.apply(.edit("two"), by: People.alice, to: late)
        for merged in [early.merged(with: lateEdited), lateEdited.merged(with: early)] {
            #expect(merged.message?.header == early.message?.header)
            #expect(texts(merged) == ["hello", "two"])
        }
        for merged in [earlyEdited.merged(with: lateEdited), lateEdited.merged(with: earlyEdited)] {
            #expect(texts(merged) == ["hello", "one", "two"])
        }
    }

    /// A repetition of the sending that is executed late gives the message a later time on its node
    /// alone.
    @Test func `an edit that is earlier than the message on its node is accepted`() throws {
        var (one, other) = (Author(1, wallMilliseconds: 10), Author(2, wallMilliseconds: 40))
        let early = one.apply(.send("hello"), by: People.alice, to: nil)
        let late = other.apply(.send("hello"), by: People.alice, to: nil)
        let edit = People.stamp(7, at: 30)
        let action = Mutation(.edit("edit"), in: People.conversation, by: People.alice)
        #expect(action.standing(of: edit, in: late) == .new)
        #expect(try action.isRecorded(over: late, after: edit.time))
        #expect(action.isAppliedLate(edit, to: late))
        let edited = other.apply(.edit("edit"), by: People.alice, to: late, as: edit)
        #expect(action.standing(of: edit, in: edited) == .done)
        for merged in [early.merged(with: edited), edited.merged(with: early)] {
            #expect(texts(merged) == ["hello", "edit"])
            #expect(merged.message?.header == early.message?.header)
        }
    }

    @Test func `an edit shows again when an earlier sending says what its own said`() throws {
        var first = Author(1, wallMilliseconds: 10)
        var (second, third) = (Author(2, wallMilliseconds: 20), Author(3, wallMilliseconds: 30))
        let earliest = first.apply(.send("hello"), by: People.alice, to: nil)
        let other = second.apply(.send("else"), by: People.alice, to: nil)
        let latest = third.apply(.send("hello"), by: People.alice, to: nil)
        let edited = third.apply(.edit("edit"), by: People.alice, to: latest)
        let two = other.merged(with: edited)
        #expect(texts(two) == ["else"])
        #expect(try Document(two.key, decoding: two.encoded) == two)
        let (left, right) = (two.merged(with: earliest), earliest.merged(with: edited))
        #expect(texts(left) == ["hello", "edit"])
        #expect(left.encoded == right.merged(with: other).encoded)
    }

    @Test func `an edit asked again of the sending that goes shows in the one that stays`() throws {
        var (one, other) = (Author(1, wallMilliseconds: 10), Author(2, wallMilliseconds: 20))
        let early = one.apply(.send("early"), by: People.alice, to: nil)
        let late = other.apply(.send("late"), by: People.alice, to: nil)
        let edit = People.stamp(7, at: 30)
        let earlyEdited = one.apply(.edit("edit"), by: People.alice, to: early, as: edit)
        let lateEdited = other.apply(.edit("edit"), by: People.alice, to: late, as: edit)
        for merged in [earlyEdited.merged(with: lateEdited), lateEdited.merged(with: earlyEdited)] {
            #expect(texts(merged) == ["early", "edit"])
            #expect(try Document(merged.key, decoding: merged.encoded) == merged)
        }
    }

    @Test func `an edit asked again of another sending is one edit`() throws {
        var (one, other) = (Author(1, wallMilliseconds: 10), Author(2, wallMilliseconds: 20))
        let early = one.apply(.send("early"), by: People.alice, to: nil)
        let late = other.apply(.send("late"), by: People.alice, to: nil)
        let edit = People.stamp(7, at: 30)
        let lateEdited = other.apply(.edit("edit"), by: People.alice, to: late, as: edit)
        let merged = early.merged(with: lateEdited)
        let again = one.apply(.edit("edit"), by: People.alice, to: merged, as: edit)
        #expect(texts(again) == ["early", "edit"])
        #expect(again.encoded == again.merged(with: lateEdited).encoded)
        #expect(try Document(again.key, decoding: again.encoded) == again)
    }

    @Test func `there and back again is four texts`() {
        var author = Author(1)
        var document = author.apply(.send("A"), by: People.alice, to: nil)
        let start = document
        for text in ["B", "A", "B"] {
            document = author.apply(.edit(text), by: People.alice, to: document)
        }
        #expect(texts(document) == ["A", "B", "A", "B"])
        #expect(texts(start.merged(with: document)) == ["A", "B", "A", "B"])
        let times = document.message?.edits(among: People.participants()).map(\.at) ?? []
        #expect(times.sorted() == times && Set(times).count == 4)
    }

    /// A forward that is not answered goes to the next owner as the same operation.
    @Test func `one edit executed by two nodes is one change`() {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 1_000_500))
        let sent = one.apply(.send("A"), by: People.alice, to: nil)
        let edit = People.stamp(7, at: 1_000_400)
        let first = one.apply(.edit("B"), by: People.alice, to: sent, as: edit)
        let again = other.apply(.edit("B"), by: People.alice, to: sent, as: edit)
        let later = other.apply(.edit("C"), by: People.alice, to: again)
        #expect(texts(first.merged(with: again)) == ["A", "B"])
        #expect(first.merged(with: again).encoded == again.merged(with: first).encoded)
        #expect(first.merged(with: again).message?.editedAt == again.message?.editedAt)
        #expect(texts(later.merged(with: first)) == ["A", "B", "C"])
        #expect(later.merged(with: first).encoded == first.merged(with: later).encoded)
    }

    @Test func `hidden for me stays hidden after merges, and restore undoes only one's own`() {
        var (one, other) = (Author(1), Author(2))
        let sent = one.apply(.send("hello"), by: People.alice, to: nil)
        let hidden = other.apply(.hide, by: People.bob, to: sent)
        let edited = one.apply(.edit("edited"), by: People.alice, to: sent)
        for merged in [hidden.merged(with: edited), edited.merged(with: hidden)] {
            #expect(view(merged, People.bob) == nil)
            #expect(view(merged, People.alice)?.text == "edited")
            #expect(view(merged.merged(with: sent), People.bob) == nil)
            let aliceRestored = one.apply(.restore, by: People.alice, to: merged)
            #expect(view(aliceRestored, People.bob) == nil)
            let bobRestored = one.apply(.restore, by: People.bob, to: merged)
            #expect(view(bobRestored, People.bob)?.text == "edited")
            #expect(view(bobRestored.merged(with: hidden), People.bob)?.text == "edited")
        }
    }

    /// The node that receives the second request has not seen the restore.
    @Test func `a deletion asked for again wins over a restore that it did not see`() throws {
        var (one, other) = (Author(1), Author(2))
        let sent = one.apply(.send("hello"), by: People.alice, to: nil)
        let hidden = one.apply(.hide, by: People.bob, to: sent)
        let restored = other.apply(.restore, by: People.bob, to: hidden)
        let asked = one.request(.hide, by: People.bob, of: hidden, in: Conversation.among())
        let again = try #require(asked)
        #expect(view(restored, People.bob)?.text == "hello")
        #expect(view(restored.merged(with: again), People.bob) == nil)
        #expect(view(again.merged(with: restored), People.bob) == nil)
    }

    @Test func `hidden by every participant it counts as deleted while that holds`() throws {
        var author = Author(1)
        var document = author.apply(.send("hello"), by: People.alice, to: nil)
        for user in People.all.dropLast() { document = author.apply(.hide, by: user, to: document) }
        let pair = People.participants([People.alice, People.bob])
        let message = try #require(document.message)
        #expect(message.isDeletedForEveryone(among: pair))
        #expect(message.edits(among: pair).isEmpty)
        #expect(message.text == "hello" && document.encoded.holds("hello"))
        // A participant who joins sees the text again.
        #expect(!message.isDeletedForEveryone(among: People.participants()))
        #expect(view(document, People.carol)?.text == "hello")
        // When that participant has left, it counts as deleted again.
        var left = People.participants()
        left.remove(People.carol, by: People.stamp(901, at: 1))
        #expect(message.isDeletedForEveryone(among: left))
        // Without participants the rule does not apply.
        #expect(!message.isDeletedForEveryone(among: ObservedRemoveSet()))
        let restored = author.apply(.restore, by: People.bob, to: document)
        #expect(restored.message?.isDeletedForEveryone(among: pair) == false)
        #expect(view(restored, People.bob)?.text == "hello")
    }

    @Test func `deleted for everyone shows as a placeholder, and not to who deleted it`() throws {
        var author = Author(1)
        let sent = author.apply(.send("hello"), by: People.alice, to: nil)
        let pinned = author.apply(.pin, by: People.bob, to: sent)
        #expect(view(pinned, People.carol)?.pinnedBy == People.bob)
        let gone = author.apply(.retract, by: People.alice, to: pinned)
        #expect(view(gone, People.alice) == nil)
        let seen = try #require(view(gone, People.bob))
        #expect(seen.text == "[Message deleted]" && seen.isDeletedForEveryone)
        #expect(seen.pinnedBy == nil && seen.pinnedAt == nil && seen.editedAt == nil)
        let restored = author.apply(.restore, by: People.alice, to: gone)
        #expect(view(restored, People.alice)?.text == "[Message deleted]")
        #expect(restored.message?.edits(among: People.participants()).isEmpty == true)
    }

    @Test func `a merge never refuses: two sides of a cut may make more edits than the limit`() {
        var (one, other) = (Author(1), Author(2))
        let sent = one.apply(.send("A"), by: People.alice, to: nil)
        var (left, right) = (sent, sent)
        for number in 0..<UInt64(ChatLimits.editsMax) {
            left = one.apply(.edit("l\(number)"), by: People.alice, to: left)
            right = other.apply(.edit("r\(number)"), by: People.alice, to: right)
        }
        #expect(left.merged(with: right).message?.versions.count == 2 * ChatLimits.editsMax)
        #expect(left.merged(with: right).encoded == right.merged(with: left).encoded)
    }

    /// No node makes two headers with one stamp, but bytes from outside may contain them.
    @Test func `the order of headers is total, over any bytes`() {
        let texts = ["", "a", "caf\u{E9}", "cafe\u{301}"]
        let items = [nil, ItemID(checked: "i")]
        let stamp = Stamp(time: .zero, process: People.replica(1), counter: 1)
        let headers = texts.flatMap { text in
            items.flatMap { item in
                [MessageType.text, .image].map { type in
                    Message.Header(
                        sent: stamp, dot: People.dot(1, 1), sender: People.alice, type: type,
                        item: item, text: text)
                }
            }
        }
        for (index, left) in headers.enumerated() {
            for (other, right) in headers.enumerated() where index != other {
                #expect((left < right) != (right < left) && left != right, "\(left) \(right)")
            }
        }
    }

    private func texts(_ document: Document) -> [String] {
        document.message?.edits(among: People.participants()).map(\.text) ?? []
    }

    private func view(_ document: Document, _ user: UserID) -> MessageView? {
        document.message?.view(as: People.message, for: user, among: People.participants())
    }
}
