import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

struct ParticipantChangesTests {
    /// Many changes at once, so that lists are cut; few operations, so that several nodes execute
    /// the same one.
    private static let laws = Laws<ParticipantChanges>(
        merge: { $0.merge($1) },
        encode: \.encoded,
        decode: { try ParticipantChanges.decode($0) },
        greatestTime: \.greatestTime,
        mutate: { changes, writer, random in
            var changes = changes ?? ParticipantChanges()
            for _ in 0..<random.below(70) {
                let number = UInt64(random.below(300))
                let stamp =
                    random.chance(70)
                    ? writer.nextStamp() : People.stamp(number + 1, at: 1_000_000_000 + number)
                let user = People.all[Int(number) % People.all.count]
                changes.add(
                    ParticipantChange(
                        stamp: stamp, kind: number % 2 == 0 ? .joined : .left, user: user,
                        by: user))
            }
            return changes.isEmpty ? nil : changes
        })

    @Test func `the union cut to the greatest is a join, and any order gives the same bytes`()
        throws
    {
        try Self.laws.check(seeds: 0..<300)
    }

    private func change(_ number: UInt64) -> ParticipantChange {
        ParticipantChange(
            stamp: People.stamp(number, at: number), kind: .joined, user: People.bob,
            by: People.alice)
    }

    @Test func `the latest hundred are kept, and one that was dropped does not come back`() {
        var changes = ParticipantChanges()
        for number in (1...130 as ClosedRange<UInt64>).shuffled() { changes.add(change(number)) }
        let kept = (31...130 as ClosedRange<UInt64>).reversed().map(change)
        #expect(Array(changes.latest) == kept)
        changes.add(change(30))
        changes.add(change(130))
        #expect(Array(changes.latest) == kept)
    }

    @Test func `what does not ascend, and too many, are refused`() throws {
        func bytes(_ numbers: [UInt64]) -> [UInt8] { numbers.map(change).encoded }
        #expect(throws: WireError.self) { try ParticipantChanges.decode(bytes([2, 1])) }
        #expect(throws: WireError.self) { try ParticipantChanges.decode(bytes([1, 1])) }
        #expect(throws: WireError.self) { try ParticipantChanges.decode(bytes(Array(1...101))) }
        #expect(try ParticipantChanges.decode(bytes(Array(1...100))).latest.count == 100)
    }

    @Test func `an invitation and a departure are listed on both sides of a cut`() throws {
        let users = [People.alice, People.bob]
        var here = Conversation(
            header: Conversation.Header(
                created: People.stamp(1, at: 1), dot: dot(1), creator: People.alice,
                participants: users, title: nil))
        var there = here
        here.invite(People.carol, of: People.alice, by: People.stamp(2, at: 2))
        // Carol is in already: nothing changes.
        here.invite(People.carol, of: People.bob, by: People.stamp(3, at: 3))
        there.leave(People.bob, by: Authorship(dot: dot(2), stamp: People.stamp(4, at: 4)))
        let (left, right) = (here, there)
        here.merge(right)
        there.merge(left)
        #expect(here == there)
        let expected = [
            ParticipantChange(
                stamp: People.stamp(4, at: 4), kind: .left, user: People.bob, by: People.bob),
            ParticipantChange(
                stamp: People.stamp(2, at: 2), kind: .joined, user: People.carol, by: People.alice),
        ]
        #expect(Array(here.changes.latest) == expected)
        var hidden = ParticipantState()
        #expect(here.changes(shownTo: People.alice, in: hidden) == expected)
        hidden.hide(Hidden(invitation: nil, vector: Vector(), at: People.stamp(3, at: 3).time))
        #expect(here.changes(shownTo: People.alice, in: hidden) == Array(expected.prefix(1)))
        // Carol was invited, and has not hidden anything since.
        #expect(here.changes(shownTo: People.carol, in: hidden) == expected)
        try checkReadingEarlierBytes(of: here)
    }

    /// Documents on disks have no changes: the fields of earlier builds are read as they are.
    private func checkReadingEarlierBytes(of conversation: Conversation) throws {
        var fields = Fields()
        conversation.write(to: &fields)
        #expect(fields.removeField(7) != nil)
        let read = try Conversation(from: &fields)
        #expect(read.changes.latest.isEmpty)
        #expect(read.participants == conversation.participants)
    }

    private func dot(_ seq: UInt64) -> Dot {
        Dot(replica: People.stamp(1, at: 1).process, seq: seq)
    }
}
