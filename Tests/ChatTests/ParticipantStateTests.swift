import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

struct ParticipantStateTests {
    static let key = DocumentKey.participantState(People.bob, in: People.conversation)

    /// Returns a mark that some participation of bob's may have made.
    static func someMark(_ writer: inout Writer, _ random: inout SplitMix64) -> Mark {
        let invitation = random.chance(50) ? nil : writer.nextStamp()
        return Mark(invitation: invitation, position: position(1 + UInt64(random.below(4))))
    }

    static func position(_ number: UInt64) -> HistoryPosition {
        HistoryPosition(
            time: HybridTimestamp(milliseconds: number), id: MessageID(checked: "m\(number)"))
    }

    static let laws = DocumentTests.laws(of: key) { document, writer, random in
        let mark = someMark(&writer, &random)
        let action = random.pick(
            [.archive, .archive, .unarchive, .read(nil), .deliver(nil), .hideChat]
                as [ChatAction])
        var vector = Vector()
        vector.insert(People.dot(UInt64(random.below(3)), 1 + UInt64(random.below(6))))
        let hidden = Hidden(invitation: mark.invitation, vector: vector)
        let author = writer.nextAuthorship()
        return Mutation(action, in: People.conversation, by: People.bob)
            .applied(
                to: document, with: ParticipantFindings(mark: mark, hidden: hidden), by: author)
    }

    @Test func `merging is a join, and any order gives the same bytes`() throws {
        try ParticipantStateTests.laws.check(seeds: 0..<800)
    }

    @Test func `an archiving wins over a concurrent unarchiving, on both sides`() throws {
        var (one, other) = (Author(1), Author(2))
        let archived = one.apply(.archive, by: People.bob, to: nil)
        let again = one.apply(.archive, by: People.bob, to: archived)
        let unarchived = other.apply(.unarchive, by: People.bob, to: archived)
        #expect(unarchived.participantState?.isArchived == false)
        #expect(archived.merged(with: unarchived).participantState?.isArchived == false)
        #expect(again.merged(with: unarchived).participantState?.isArchived == true)
        #expect(again.merged(with: unarchived) == unarchived.merged(with: again))
    }

    @Test func `marks never go back, but for a later invitation`() throws {
        let first = Stamp(
            time: HybridTimestamp(milliseconds: 9), process: People.replica(1), counter: 1)
        let marks = [
            Mark(invitation: nil, position: ParticipantStateTests.position(1)),
            Mark(invitation: nil, position: ParticipantStateTests.position(2)),
            Mark(invitation: first, position: ParticipantStateTests.position(1)),
            Mark(invitation: first, position: ParticipantStateTests.position(3)),
        ]
        #expect(marks == marks.reversed().sorted())
        var participantState = ParticipantState()
        for mark in marks.reversed() { participantState.raiseRead(to: mark) }
        #expect(participantState.read?.value == marks.last)
    }

    @Test func `of two marks that reach equally far the one that was set first stays`() {
        func mark(_ number: UInt64, at milliseconds: UInt64) -> Mark {
            Mark(
                invitation: nil, position: ParticipantStateTests.position(number),
                at: HybridTimestamp(milliseconds: milliseconds))
        }
        let (early, late, far) = (mark(1, at: 5), mark(1, at: 9), mark(2, at: 7))
        for marks in [[early, late], [late, early]] {
            var participantState = ParticipantState()
            for mark in marks { participantState.raiseRead(to: mark) }
            #expect(participantState.read?.value.at == early.at)
            participantState.raiseRead(to: far)
            #expect(participantState.read?.value == far)
        }
        #expect(!early.isBehind(late) && !late.isBehind(early) && late.isBehind(far))
    }

    @Test func `a mark counts for the participation under which it was made`() throws {
        var author = Author(1)
        var conversation = Conversation.among()
        let mark = conversation.mark(of: People.bob, at: ParticipantStateTests.position(2))
        var participantState = ParticipantState()
        participantState.raiseRead(to: mark)
        #expect(conversation.readPosition(of: People.bob, in: participantState) == mark.position)
        conversation.leave(People.bob, by: author.writer.nextAuthorship())
        conversation.invite(People.bob, of: People.alice, by: author.writer.nextStamp())
        #expect(conversation.readPosition(of: People.bob, in: participantState) == nil)
        let again = conversation.mark(of: People.bob, at: ParticipantStateTests.position(1))
        participantState.raiseRead(to: again)
        #expect(conversation.readPosition(of: People.bob, in: participantState) == again.position)
        #expect(mark < again)
    }

    @Test func `who has read it received it, the sender is left out, and so is who left`() {
        var conversation = Conversation.among()
        func participantState(read: UInt64? = nil, delivered: UInt64? = nil) -> ParticipantState {
            var participantState = ParticipantState()
            if let read {
                participantState.raiseRead(to: Mark(invitation: nil, position: position(read)))
            }
            if let delivered {
                participantState.raiseDelivered(
                    to: Mark(invitation: nil, position: position(delivered)))
            }
            return participantState
        }
        func position(_ number: UInt64) -> HistoryPosition {
            ParticipantStateTests.position(number)
        }
        let participantStates = [
            (user: People.carol, participantState: participantState(read: 1, delivered: 3)),
            (user: People.bob, participantState: participantState(read: 2)),
            (user: People.alice, participantState: participantState(read: 9)),
        ]
        let progress = Progress(of: participantStates, in: conversation)
        #expect(progress.readers(of: position(2), from: People.alice) == [People.bob])
        #expect(
            progress.receivers(of: position(2), from: People.alice) == [People.bob, People.carol])
        #expect(
            progress.readers(of: position(1), from: People.bob) == [People.alice, People.carol])
        #expect(progress.receivers(of: position(4), from: People.bob) == [People.alice])
        conversation.leave(
            People.alice, by: Authorship(dot: People.dot(1, 1), stamp: People.stamp(1, at: 1)))
        let later = Progress(of: participantStates, in: conversation)
        #expect(later.readers(of: position(1), from: People.bob) == [People.carol])
    }

    @Test func `an archiver's set that holds nobody is refused`() throws {
        var envelope = Envelope(changedBy: Context(People.dot(1, 1)))
        #expect(
            try Document(ParticipantStateTests.key, decoding: envelope.bytes).participantState
                == ParticipantState())
        envelope.fields.set(1, to: ObservedRemoveSet<UserID>())
        #expect(throws: WireError.self) {
            try Document(ParticipantStateTests.key, decoding: envelope.bytes)
        }
    }

    @Test func `the bytes are those of earlier builds`() throws {
        #expect(try ParticipantStateTests.laws.golden("participant-state") == nil)
    }
}
