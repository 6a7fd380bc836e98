import CRDT
import Chat
import Replication
import Testing
import Wire

@testable import Node

/// Lists that take several turns at a node that holds parts of them and has no memory for them.
@Suite struct LargeListTests {
    private let five = Five(peerLimits: .ofLists(64))
    private let asked: WorldNode

    init() {
        let five = five
        asked = five.nodes[0]
        for (index, room) in rooms(20).enumerated() {
            #expect(five.handle(found(room), at: asked, number: UInt64(index + 1)).isWritten)
        }
        five.world.run(milliseconds: 1_000)
        five.world.clock.microsecondsOfLook = 1_000
    }

    private func list(_ number: UInt64) -> Set<String>? {
        guard
            let chats: [ChatView] = asked.sink.outcomes[number].findings(isPartial: false)
        else { return nil }
        return Set(chats.map(\.id.text))
    }

    @Test func `a list without memory is dropped, and read anew as a whole`() {
        asked.sink.memory = 0
        #expect(five.handle(ChatsQuery(.active), of: "bob", at: asked, number: 100) == nil)
        five.world.run(milliseconds: 2_000)
        #expect(list(100) == nil)
        #expect(asked.sink.delayed == [100])
        let (parts, calls) = asked.run { ($0.scatterGathers.values.map(\.findings), $0.shardCalls) }
        #expect(parts == [nil])
        #expect(calls.isEmpty)
        // What the connection asks next waits.
        #expect(asked.run { $0.isGathering(ReplySlot(session: 1, number: 100)) })
        asked.sink.memory = 1
        five.world.run(milliseconds: 500)
        #expect(list(100) == Set(rooms(20).map(\.text)))
        #expect(asked.run { $0.load.isIdle })
    }

    @Test func `lists that have memory for a part end without more`() {
        asked.sink.memory = 2
        for number in 100..<104 as Range<UInt64> {
            _ = five.handle(ChatsQuery(.active), of: "bob", at: asked, number: number)
        }
        five.world.run(milliseconds: 2_000)
        let ended = (100..<104 as Range<UInt64>).filter { list($0) != nil }
        #expect(ended.count == 2)
        asked.sink.memory = 2
        five.world.run(milliseconds: 500)
        for number in 100..<104 as Range<UInt64> {
            #expect(list(number) == Set(rooms(20).map(\.text)))
        }
    }

    @Test func `a list shows what its connection wrote while it waited`() {
        asked.sink.memory = 0
        #expect(five.handle(ChatsQuery(.active), of: "bob", at: asked, number: 100) == nil)
        let room = ConversationID(checked: "late")
        #expect(five.handle(found(room), at: asked, number: 101).isWritten)
        asked.sink.memory = 1
        five.world.run(milliseconds: 500)
        #expect(list(100) == Set(rooms(20).map(\.text) + ["late"]))
    }

    @Test func `a list for which there is no memory for long is refused`() {
        asked.sink.memory = 0
        #expect(five.handle(ChatsQuery(.active), of: "bob", at: asked, number: 100) == nil)
        five.world.run(milliseconds: LargeLists.patienceMilliseconds + 1_000)
        #expect(asked.sink.outcomes[100] == .answered(.failed(.overloaded), nil))
        #expect(asked.run { $0.load.isIdle })
    }

    @Test func `a list whose client has gone leaves nothing`() {
        asked.sink.memory = 0
        #expect(five.handle(ChatsQuery(.active), of: "bob", at: asked, number: 100) == nil)
        asked.run { $0.detach(1) }
        five.world.run(milliseconds: 500)
        #expect(asked.run { $0.load.isIdle })
    }
}
