import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

struct ConversationTests {
    private static let laws = laws(haveAccounts: false)

    private static func laws(haveAccounts: Bool) -> Laws<Conversation> {
        Laws<Conversation>(
            merge: { $0.merge($1) },
            encode: {
                var fields = Fields()
                $0.write(to: &fields)
                return fields.encoded
            },
            decode: {
                var fields = try Fields.decode($0)
                return try Conversation(from: &fields)
            },
            greatestTime: \.greatestTime,
            mutate: { conversation, writer, random in
                let user = random.pick(People.all)
                guard let conversation else {
                    let users = Array(Set([user, random.pick(People.all)])).sorted()
                    let title = random.pick([nil, "", "title", "caf\u{E9}", "cafe\u{301}"])
                    var header = Conversation.Header(
                        created: writer.nextStamp(), dot: writer.nextDot(), creator: user,
                        participants: users, title: title)
                    header.isByAccount = haveAccounts && random.chance(80)
                    return Conversation(header: header)
                }
                var changed = conversation
                let operation = writer.nextStamp()
                if random.chance(60) {
                    changed.invite(user, of: random.pick(People.all), by: operation)
                } else {
                    changed.leave(
                        user, by: Authorship(dot: writer.nextDot(), stamp: operation))
                }
                return changed
            })
    }

    @Test(arguments: [false, true])
    func `merging is a join, and any order gives the same bytes`(haveAccounts: Bool) throws {
        try ConversationTests.laws(haveAccounts: haveAccounts).check(seeds: 0..<800)
    }

    @Test func `of creations by two accounts the earlier one decides who is in`() throws {
        var early = conversation(
            at: 1, by: People.bob, [People.bob], title: "early", isByAccount: true)
        var late = conversation(
            at: 2, by: People.alice, [People.alice, People.carol], title: "late", isByAccount: true)
        let dave = UserID(checked: "dave")
        late.invite(dave, of: People.alice, by: People.stamp(3, at: 3))
        early.invite(People.carol, of: People.bob, by: People.stamp(4, at: 4))
        for merged in [merged(early, late), merged(late, early)] {
            #expect(merged.header == early.header)
            #expect(merged.participants.elements == [People.bob, People.carol])
            #expect(merged.invitation(of: dave) == nil)
            // What was created without an account is a creation like another.
            let first = conversation(at: 0, by: People.alice, [People.alice], title: nil)
            #expect(self.merged(merged, first).participants.elements == [People.alice])
            #expect(self.merged(first, merged) == self.merged(merged, first))
        }
    }

    @Test func `created on two sides of a cut, participants unite and the earlier gives the rest`()
    {
        let early = conversation(at: 1, by: People.bob, [People.bob], title: "early")
        let late = conversation(at: 2, by: People.alice, [People.alice], title: "late")
        for merged in [merged(early, late), merged(late, early)] {
            #expect(merged.header == early.header)
            #expect(merged.participants.elements == [People.alice, People.bob])
        }
    }

    @Test func `an invitation survives a concurrent departure`() throws {
        let start = Conversation.among()
        let left = try start.changed { $0.remove(People.bob, by: People.stamp(2, at: 1)) }
        let invited = try start.changed { $0.insert(People.bob, by: People.stamp(3, at: 2)) }
        #expect(!merged(start, left).participants.contains(People.bob))
        #expect(merged(invited, left).participants.contains(People.bob))
        #expect(merged(left, invited) == merged(invited, left))
    }

    @Test func `of two invitations the later counts, and who was never invited has none`() {
        var one = Conversation.among([People.alice])
        var other = one
        let (early, late) = (People.stamp(1, at: 1), People.stamp(2, at: 2))
        one.invite(People.bob, of: People.alice, by: late)
        other.invite(People.bob, of: People.alice, by: early)
        for both in [merged(one, other), merged(other, one)] {
            #expect(both.invitation(of: People.bob) == late)
            #expect(both.invitation(of: People.alice) == nil)
            #expect(both.greatestTime == late.time)
        }
        one.leave(
            People.bob, by: Authorship(dot: People.dot(3, 1), stamp: People.stamp(3, at: 3)))
        #expect(one.invitation(of: People.bob) == late)
    }

    /// No node makes two headers with one stamp, but bytes from outside may contain them.
    @Test func `the order of headers is total, over any bytes`() {
        let titles = [nil, "", "a", "caf\u{E9}", "cafe\u{301}"]
        let headers = titles.flatMap { title in
            [[People.alice], [People.alice, People.bob]].map { users in
                conversation(at: 1, by: People.alice, users, title: title).header
            }
        }
        for (index, left) in headers.enumerated() {
            for (other, right) in headers.enumerated() where index != other {
                #expect((left < right) != (right < left), "\(left) \(right)")
                #expect(left != right)
            }
            #expect(!(left < left))
        }
    }

    @Test func `a conversation without its set of participants is refused`() throws {
        var envelope = Envelope(changedBy: Context(People.dot(1, 1)))
        envelope.fields.set(1, to: Conversation.among().header)
        #expect(throws: WireError.self) {
            try Document(.conversation(People.conversation), decoding: envelope.bytes)
        }
    }

    @Test func `a header whose users do not ascend is refused`() throws {
        let header = conversation(at: 1, by: People.alice, [People.bob, People.alice], title: nil)
            .header
        #expect(throws: WireError.self) { try Conversation.Header.decode(header.encoded) }
    }

    private func conversation(
        at milliseconds: UInt64, by creator: UserID, _ users: [UserID], title: String?,
        isByAccount: Bool = false
    ) -> Conversation {
        let replica = People.replica(milliseconds)
        var header = Conversation.Header(
            created: People.stamp(milliseconds, at: milliseconds),
            dot: Dot(replica: replica, seq: 1), creator: creator, participants: users,
            title: title)
        header.isByAccount = isByAccount
        return Conversation(header: header)
    }

    private func merged(_ left: Conversation, _ right: Conversation) -> Conversation {
        var merged = left
        merged.merge(right)
        return merged
    }

    @Test func `the bytes are those of earlier builds`() throws {
        #expect(try ConversationTests.laws.golden("conversation") == nil)
    }
}
