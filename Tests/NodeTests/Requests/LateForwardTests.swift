import CRDT
import Chat
import Replication
import TestKit
import Testing
import Wire

@testable import Node

/// Operations that two owners execute, or that one executes after its client has gone on.
@Suite struct LateForwardTests {
    private let bob = UserID(checked: "bob")
    private let carol = UserID(checked: "carol")
    private let message = MessageID(checked: "m1")
    private let five = Five()
    private var stranger: WorldNode { five.stranger(to: lobby) }
    private var owners: [WorldNode] { five.owners(of: lobby) }

    private func by(_ user: UserID, _ action: ChatAction) -> Mutation {
        Mutation(action, in: lobby, by: user)
    }

    /// Returns an operation as its node has read it, before it is sent.
    private func operation(_ mutation: Mutation, readBy node: WorldNode) -> Operation {
        Operation(mutation, node.run { $0.nextOperation() })
    }

    /// Has an owner execute an operation; nobody waits for the response.
    private func execute(
        _ operation: Operation, at owner: WorldNode, _ attempt: PeerRequest.Attempt
    ) {
        let name = stranger.node.options.name
        let ask = PeerRequest(
            number: 1 << 40, round: 1 << 40, deadline: .max,
            request: .write(operation, .local, attempt))
        owner.run { node in
            for link in node.links.ascending where link.name == name {
                node.onRequest(ask, from: link)
            }
        }
        five.world.endTurn(of: owner)
    }

    private func heal() {
        for owner in owners { #expect(owner.unblock(nil) == nil) }
        five.world.run(milliseconds: 3_000)
        let shard = ShardID(of: lobby.text, count: 8).number
        #expect(owners[0].digest(of: shard) == owners[1].digest(of: shard))
    }

    private var participants: [String] {
        let found = five.handle(ParticipantsQuery(lobby), of: "alice", at: owners[1], number: 99)
        guard let users: [UserID] = found.findings() else { return [] }
        return users.map(\.text)
    }

    @Test func `an invitation that two owners executed is ended by one departure`() {
        #expect(five.handle(found(), at: stranger, number: 1, level: .all).isWritten)
        #expect(owners[0].block(owners[1].name) == nil)
        let invitation = operation(by(alice, .conversation(InviteUser(carol))), readBy: stranger)
        execute(invitation, at: owners[1], .first)
        execute(invitation, at: owners[0], .again)
        #expect(
            five.handle(by(carol, .conversation(LeaveConversation())), at: stranger, number: 2)
                .isWritten)
        heal()
        #expect(participants == ["alice", "bob"])
    }

    @Test func `an invitation and an archiving that come late undo nothing`() {
        #expect(five.handle(found(), at: stranger, number: 1, level: .all).isWritten)
        let invitation = operation(by(alice, .conversation(InviteUser(carol))), readBy: stranger)
        let archiving = operation(by(bob, .participant(ArchiveChat())), readBy: stranger)
        #expect(
            five.handle(by(alice, .conversation(InviteUser(carol))), at: stranger, number: 2)
                .isWritten
        )
        #expect(
            five.handle(by(carol, .conversation(LeaveConversation())), at: stranger, number: 3)
                .isWritten)
        #expect(
            five.handle(by(bob, .participant(UnarchiveChat())), at: stranger, number: 4).isWritten)
        execute(invitation, at: owners[0], .first)
        execute(archiving, at: owners[0], .first)
        heal()
        #expect(participants == ["alice", "bob"])
        let archived = five.handle(ChatsQuery(.archived), of: "bob", at: stranger, number: 5)
        #expect(archived == .answered(.found(AnyFindings([ChatView]()), isPartial: false), nil))
    }

    @Test func `an edit and a pin that come late show nothing that is older`() {
        #expect(five.handle(found(), at: stranger, number: 1, level: .all).isWritten)
        #expect(five.handle(send("m1"), at: stranger, number: 2).isWritten)
        let edit = operation(
            by(alice, .message(message, EditMessage(text: "old"))), readBy: stranger)
        let pin = operation(by(bob, .message(message, PinMessage())), readBy: stranger)
        let newer = by(alice, .message(message, EditMessage(text: "new")))
        #expect(five.handle(newer, at: stranger, number: 3).isWritten)
        #expect(
            five.handle(by(alice, .message(message, PinMessage())), at: stranger, number: 4)
                .isWritten)
        #expect(
            five.handle(by(alice, .message(message, UnpinMessage())), at: stranger, number: 5)
                .isWritten)
        for owner in owners {
            execute(edit, at: owner, .again)
            execute(pin, at: owner, .again)
        }
        heal()
        let history = HistoryQuery(lobby, place: .newest, limit: 10)
        let shown = five.handle(history, of: "bob", at: stranger, number: 6)
        guard let views: [MessageView] = shown.findings() else {
            Issue.record("it says \(String(describing: shown))")
            return
        }
        #expect(views.map(\.text) == ["new"] && views.map(\.pinnedBy) == [nil])
    }

    /// Returns the number of messages that a user has not read, as an owner counts them.
    private func unread(of user: String, number: UInt64) -> Int? {
        let found = five.handle(UnreadQuery(), of: user, at: owners[0], number: number)
        guard let counts: [UnreadCount] = found.findings() else { return nil }
        return counts.reduce(0) { $0 + $1.count }
    }

    @Test func `marks and a hiding that come late reach no further than their time`() {
        #expect(five.handle(found(), at: stranger, number: 1, level: .all).isWritten)
        #expect(five.handle(send("m1"), at: stranger, number: 2, level: .all).isWritten)
        let reading = operation(by(bob, .participant(MarkRead(nil))), readBy: stranger)
        let hiding = operation(by(bob, .participant(HideChat())), readBy: stranger)
        #expect(five.handle(send("m2"), at: stranger, number: 3, level: .all).isWritten)
        execute(reading, at: owners[0], .first)
        execute(hiding, at: owners[0], .first)
        execute(hiding, at: owners[1], .again)
        heal()
        #expect(unread(of: "bob", number: 4) == 2)
        execute(reading, at: owners[0], .again)
        #expect(unread(of: "bob", number: 5) == 1)
    }

    @Test func `a mark that comes late says nothing under a later invitation`() {
        #expect(five.handle(found(), at: stranger, number: 1, level: .all).isWritten)
        #expect(five.handle(send("m1"), at: stranger, number: 2, level: .all).isWritten)
        let readings = [
            by(bob, .participant(MarkRead(message))), by(bob, .participant(MarkRead(nil))),
        ]
        .map {
            operation($0, readBy: stranger)
        }
        #expect(
            five.handle(by(bob, .conversation(LeaveConversation())), at: stranger, number: 3)
                .isWritten)
        #expect(
            five.handle(by(alice, .conversation(InviteUser(bob))), at: stranger, number: 4)
                .isWritten)
        for reading in readings {
            execute(reading, at: owners[0], .first)
            execute(reading, at: owners[1], .again)
        }
        heal()
        #expect(unread(of: "bob", number: 5) == 1)
    }

    @Test func `a write of what is there is recorded where an earlier one may come yet`() {
        #expect(five.handle(found(), at: stranger, number: 1, level: .all).isWritten)
        #expect(five.handle(send("m1"), at: stranger, number: 2, level: .all).isWritten)
        let late = [
            by(alice, .message(message, PinMessage())),
            by(alice, .message(message, EditMessage(text: "old"))),
            by(bob, .conversation(LeaveConversation())),
        ].map { operation($0, readBy: stranger) }
        stranger.run { node in
            guard let last = node.operations.source.last else { return }
            node.operations.noteUnsettled(last.time, on: ShardID(of: lobby.text, count: 8))
        }
        let same = [
            by(alice, .message(message, UnpinMessage())),
            by(alice, .message(message, EditMessage(text: "hello"))),
            by(alice, .conversation(InviteUser(bob))),
        ]
        for (index, mutation) in same.enumerated() {
            let number = 3 + UInt64(index)
            #expect(five.handle(mutation, at: stranger, number: number, level: .all).isWritten)
        }
        for operation in late { for owner in owners { execute(operation, at: owner, .first) } }
        heal()
        #expect(participants == ["alice", "bob"])
        let shown = five.handle(
            HistoryQuery(lobby, place: .newest, limit: 10), of: "bob", at: stranger, number: 7)
        guard let views: [MessageView] = shown.findings() else {
            Issue.record("it says \(String(describing: shown))")
            return
        }
        #expect(views.map(\.text) == ["hello"] && views.map(\.pinnedBy) == [nil])
        // Recording it once is enough: the record is later than everything that may still arrive.
        let before = owners[0].digest(of: ShardID(of: lobby.text, count: 8).number)
        #expect(five.handle(same[1], at: stranger, number: 8, level: .all).isWritten)
        #expect(owners[0].digest(of: ShardID(of: lobby.text, count: 8).number) == before)
    }

    @Test func `what was written by a clock that is ahead is written over with a greater time`() {
        #expect(five.handle(found(), at: stranger, number: 1, level: .all).isWritten)
        #expect(five.handle(send("m1"), at: stranger, number: 2).isWritten)
        var pin = operation(by(bob, .message(message, PinMessage())), readBy: stranger)
        pin.stamp = Stamp(
            time: HybridTimestamp(milliseconds: pin.stamp.time.milliseconds + 60_000),
            process: RandomID(high: 7, low: 7), counter: 1)
        execute(pin, at: owners[0], .first)
        #expect(
            five.handle(by(alice, .message(message, UnpinMessage())), at: stranger, number: 3)
                .isWritten)
        #expect(
            five.handle(by(bob, .participant(ArchiveChat())), at: stranger, number: 4).isWritten)
        let pinned = five.handle(PinsQuery(lobby), of: "bob", at: stranger, number: 5)
        #expect(pinned.messages == [])
    }

    @Test func `what may be done is named at the next node, and does not come late there`() {
        #expect(five.handle(found(), at: stranger, number: 1, level: .all).isWritten)
        let archiving = operation(by(bob, .participant(ArchiveChat())), readBy: stranger)
        var unsettled = Unsettled()
        unsettled.insertOperation(archiving.stamp)
        let slot = ReplySlot(session: 1, number: 2)
        let unarchiving = by(bob, .participant(UnarchiveChat()))
        _ = owners[0].run { [unsettled] in
            $0.handle(
                unarchiving, isMinted: false, level: .local, for: slot, after: unsettled)
        }
        five.world.endTurn(of: owners[0])
        execute(archiving, at: owners[1], .first)
        heal()
        let archived = five.handle(ChatsQuery(.archived), of: "bob", at: stranger, number: 3)
        #expect(archived == .answered(.found(AnyFindings([ChatView]()), isPartial: false), nil))
    }

    @Test func `who is told that it may be done hears which operation that is`() {
        #expect(five.handle(found(), at: stranger, number: 1, level: .all).isWritten)
        five.world.paused = Set(owners.map(\.name))
        stranger.handle(by(bob, .participant(ArchiveChat())), number: 2)
        five.world.endTurn(of: stranger)
        five.world.run(milliseconds: 4_000)
        #expect(stranger.sink.outcomes[2] == .answered(.failed(.unanswered), nil))
        let process = stranger.run { $0.process }
        #expect(stranger.sink.unsettled.counters.map(\.process) == [process])
    }
}
