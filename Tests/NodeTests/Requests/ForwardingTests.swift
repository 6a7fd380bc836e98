import CRDT
import Chat
import Placement
import StorePort
import Testing
import Wire

@testable import Node
@testable import Replication

private let shardCount: UInt16 = 8
private let bob = UserID(checked: "bob")

func rooms(_ count: Int) -> [ConversationID] {
    (1...count).map { ConversationID(checked: "c\($0)") }
}

func found(_ room: ConversationID = lobby) -> Mutation {
    Mutation(
        CreateConversation(participants: [alice, bob], title: nil), in: room,
        by: alice)
}

/// Five nodes, two replicas of each shard: most requests at a node concern shards of others.
struct Five {
    let world = NodeWorld()
    let nodes: [WorldNode]

    init(
        restRangesMax: Int = VectorBase.restRangesMax, peerLimits: PeerLimits = .standard
    ) {
        var nodes = [
            world.add(
                "n1", shards: shardCount, replicas: .count(2), mayBlock: true,
                restRangesMax: restRangesMax, peerLimits: peerLimits)
        ]
        for number in 2...5 {
            nodes.append(
                world.add(
                    "n\(number)", join: ["n1"], shards: nil, replicas: nil, mayBlock: true,
                    restRangesMax: restRangesMax, peerLimits: peerLimits))
        }
        self.nodes = nodes
        world.run(milliseconds: 5_000)
    }

    /// Returns the owners of a conversation's shard, in order.
    func owners(of room: ConversationID) -> [WorldNode] {
        let shard = ShardID(of: room.text, count: shardCount)
        return nodes[0].owners(of: shard.number).compactMap { name in
            nodes.first { $0.name == name }
        }
    }

    /// Returns a node that does not hold the conversation.
    func stranger(to room: ConversationID) -> WorldNode {
        let owners = owners(of: room).map(\.name)
        return nodes.first { !owners.contains($0.name) } ?? nodes[0]
    }

    /// Has as much wait for an owner as may, and nothing of it arrive; the owner was asked last.
    func fillQueue(of node: WorldNode, to owner: WorldNode) {
        let channel = world.channels.last {
            $0.owner == node.name && $0.other?.owner == owner.name && !$0.isClosed
        }
        channel?.queuedBytes =
            PeerLimits.standard.queueBytesMax + PeerLimits.standard.controlBytesMax
    }

    /// Submits a mutation, and lets everything happen that needs no time.
    func handle(
        _ mutation: Mutation, at node: WorldNode, number: UInt64,
        level: AckLevel = .local
    ) -> ReplyResult? {
        node.handle(mutation, number: number, level: level)
        world.endTurn(of: node)
        world.settle()
        return node.sink.outcomes[number]
    }

    func handle(_ query: some Query, of user: String, at node: WorldNode, number: UInt64)
        -> ReplyResult?
    {
        node.handle(query, of: user, number: number)
        world.endTurn(of: node)
        world.settle()
        return node.sink.outcomes[number]
    }
}

extension PeerLimits {
    /// The usual limits, with another one for the parts of lists that come unasked.
    static func ofLists(_ bytes: Int) -> PeerLimits {
        PeerLimits(
            queueBytesMax: standard.queueBytesMax, queueBytesShort: standard.queueBytesShort,
            controlBytesMax: standard.controlBytesMax, answerBytesMax: standard.answerBytesMax,
            vectorBytesMax: standard.vectorBytesMax, listBytesMax: bytes)
    }
}

extension ReplyResult? {
    var isWritten: Bool {
        switch self {
        case .stored, .answered(.written, .some): true
        default: false
        }
    }

    /// The findings as those of a type; nil for other results.
    ///
    /// - Parameter isPartial: whether parts have to be missing; nil for either.
    func findings<Value: Findings>(
        isPartial: Bool? = nil, as _: Value.Type = Value.self
    ) -> Value? {
        guard case .answered(.found(let findings, let isCut), _) = self,
            isPartial.map({ $0 == isCut }) ?? true
        else { return nil }
        return findings.value()
    }

    var messages: [String]? {
        guard let views: [MessageView] = findings(isPartial: false) else {
            return nil
        }
        return views.map(\.id.text)
    }
}

@Suite struct ForwardingTests {
    private let history = HistoryQuery(lobby, place: .newest, limit: 10)

    @Test func `a node that does not hold a shard answers all the same`() {
        let five = Five()
        let stranger = five.stranger(to: lobby)
        #expect(five.handle(found(), at: stranger, number: 1).isWritten)
        #expect(five.handle(send("m1"), at: stranger, number: 2, level: .all).isWritten)
        #expect(five.handle(history, of: "bob", at: stranger, number: 3).messages == ["m1"])
        let refusal = five.handle(history, of: "eve", at: stranger, number: 4)
        #expect(refusal == .answered(.failed(.refused(.notParticipant)), nil))
        #expect(stranger.run { $0.shard(of: lobby) } == nil)
    }

    /// The connection to an owner that lost its power stays open: only what waits for it grows.
    @Test func `a token is judged by another owner where too much waits for the first`() throws {
        let five = Five()
        let stranger = five.stranger(to: lobby)
        let owners = five.owners(of: lobby)
        #expect(five.handle(found(), at: stranger, number: 1, level: .all).isWritten)
        let vectors = owners[1].run { $0.storedVectors }
        let token = try #require(stranger.run { $0.token(of: vectors, first: []) })
        five.fillQueue(of: stranger, to: owners[0])
        #expect(five.world.since(token, on: stranger) == .level)
    }

    @Test func `a list is asked of another owner where too much waits for the first`() {
        let five = Five()
        let stranger = five.stranger(to: lobby)
        #expect(five.handle(found(), at: stranger, number: 1, level: .all).isWritten)
        five.fillQueue(of: stranger, to: five.owners(of: lobby)[0])
        stranger.handle(ChatsQuery(.active), of: "bob", number: 2)
        five.world.endTurn(of: stranger)
        five.world.run(milliseconds: 1_500)
        guard
            let chats: [ChatView] = stranger.sink.outcomes[2].findings(isPartial: false)
        else {
            Issue.record("\(String(describing: stranger.sink.outcomes[2]))")
            return
        }
        #expect(chats.map(\.id) == [lobby])
    }

    @Test func `what a node shows builds on what it showed, or is asked for again`() {
        let five = Five(restRangesMax: 1)
        let stranger = five.stranger(to: lobby)
        let owners = five.owners(of: lobby)
        #expect(five.handle(found(), at: stranger, number: 1, level: .all).isWritten)
        // By the other owner, so that the vector has more than one range.
        #expect(five.handle(send("m1"), at: owners[1], number: 1, level: .all).isWritten)
        for number in UInt64(2)...5 {
            let mutation = send("m\(number)")
            #expect(five.handle(mutation, at: stranger, number: number, level: .all).isWritten)
            let page = five.handle(history, of: "bob", at: stranger, number: 10 + number)
            #expect(page.messages?.count == Int(number))
            let held = owners[0].run { $0.shard(of: lobby)?.assumeIsolated { $0.vector } }
            #expect(stranger.sink.shown?.vector == held)
        }
        // The stranger knows another vector than the one that the owner takes for known.
        let name = NodeName(checked: owners[0].name)
        stranger.run { node in
            var vector = Vector()
            vector.insert(Dot(replica: RandomID(high: 1, low: 1), seq: 1))
            let seen = ObservedShard(
                shard: ShardID(of: lobby.text, count: shardCount), vector: vector)
            var said = SaidVectors(restRangesMax: 0)
            var told = PeerResponse(number: .max, round: 0, outcome: .level, seen: [seen])
            said.say(in: &told)
            var twice = PeerFrame.response(
                PeerResponse(number: .max, round: 0, outcome: .level, seen: told.seen + told.seen))
            var once = PeerFrame.response(told)
            #expect(node.links[name]?.hear(&once) == [])
            #expect(node.links[name]?.hear(&twice) == [seen.shard])
        }
        for number in UInt64(20)...22 {
            _ = five.handle(history, of: "bob", at: stranger, number: number)
            five.world.run(milliseconds: 1_500)
            #expect(stranger.sink.outcomes[number].messages?.count == 5)
        }
        let held = owners[0].run { $0.shard(of: lobby)?.assumeIsolated { $0.vector } }
        #expect(stranger.sink.shown?.vector == held)
    }

    @Test func `all requests for a shard go to the same owner`() {
        let five = Five()
        let stranger = five.stranger(to: lobby)
        let owners = five.owners(of: lobby)
        five.world.stalled = [owners[1].name]
        #expect(five.handle(found(), at: stranger, number: 1).isWritten)
        for number in UInt64(2)..<6 {
            #expect(five.handle(send("m\(number)"), at: stranger, number: number).isWritten)
        }
        let seen = five.handle(history, of: "alice", at: stranger, number: 9).messages
        #expect(seen == ["m2", "m3", "m4", "m5"])
    }

    @Test func `when the owner that is asked is killed, the next has the request at once, once`() {
        let five = Five()
        let stranger = five.stranger(to: lobby)
        let owners = five.owners(of: lobby)
        #expect(five.handle(found(), at: stranger, number: 1, level: .all).isWritten)
        five.world.stalled = [owners[0].name]
        #expect(five.handle(send("m1"), at: stranger, number: 2) == nil)
        five.world.kill(owners[0].name)
        five.world.settle()
        #expect(stranger.sink.outcomes[2].isWritten)
        #expect(five.handle(history, of: "bob", at: stranger, number: 3).messages == ["m1"])
    }

    @Test func `when the owner that is asked stands still, the next is asked after 500 ms`() {
        let five = Five()
        let stranger = five.stranger(to: lobby)
        let owners = five.owners(of: lobby)
        #expect(five.handle(found(), at: stranger, number: 1, level: .all).isWritten)
        five.world.paused = [owners[0].name]
        #expect(five.handle(send("m1"), at: stranger, number: 2) == nil)
        five.world.run(milliseconds: 400)
        #expect(stranger.sink.outcomes[2] == nil)
        five.world.run(milliseconds: 200)
        #expect(stranger.sink.outcomes[2].isWritten)
    }

    @Test func `a request that arrives too late is not carried out`() {
        let five = Five()
        let stranger = five.stranger(to: lobby)
        let owners = five.owners(of: lobby)
        #expect(five.handle(found(), at: stranger, number: 1, level: .all).isWritten)
        #expect(five.handle(send("m1"), at: stranger, number: 2, level: .all).isWritten)
        five.world.paused = [owners[0].name]
        let pin = Mutation(PinMessage(), of: MessageID(checked: "m1"), in: lobby, by: alice)
        let unpin = Mutation(
            UnpinMessage(), of: MessageID(checked: "m1"), in: lobby, by: alice)
        #expect(five.handle(pin, at: stranger, number: 3) == nil)
        five.world.run(milliseconds: 700)
        #expect(stranger.sink.outcomes[3].isWritten)
        #expect(five.handle(unpin, at: stranger, number: 4).isWritten)
        five.world.paused = []
        five.world.run(milliseconds: 2_000)
        for (node, number) in zip(owners, 5...) {
            let pinned = five.handle(
                PinsQuery(lobby), of: "bob", at: node, number: UInt64(number))
            #expect(pinned.messages == [], "at \(node.name)")
        }
    }

    @Test func `nobody who holds a shard can be reached: the answer says so after a second`() {
        let five = Five()
        let stranger = five.stranger(to: lobby)
        #expect(five.handle(found(), at: stranger, number: 1, level: .all).isWritten)
        for owner in five.owners(of: lobby) { five.world.kill(owner.name) }
        five.world.settle()
        #expect(five.handle(send("m1"), at: stranger, number: 2) == nil)
        five.world.run(milliseconds: 900)
        #expect(stranger.sink.outcomes[2] == nil)
        five.world.run(milliseconds: 300)
        #expect(stranger.sink.outcomes[2] == .answered(.failed(.unreachable), nil))
    }

    @Test func `who has left by the first attempt is told so by the second owner`() {
        let five = Five()
        let stranger = five.stranger(to: lobby)
        let owners = five.owners(of: lobby)
        #expect(five.handle(found(), at: stranger, number: 1, level: .all).isWritten)
        let leave = Mutation(LeaveConversation(), in: lobby, by: bob)
        // The write is executed and replicated, but its response never leaves the owner.
        five.world.stalled = [owners[0].name]
        #expect(five.handle(leave, at: stranger, number: 2) == nil)
        five.world.kill(owners[0].name)
        five.world.settle()
        #expect(stranger.sink.outcomes[2].isWritten)
        // A new operation is refused: unlike the first one, no other owner may have executed it.
        let again = five.handle(leave, at: stranger, number: 3)
        #expect(again == .answered(.failed(.refused(.notParticipant)), nil))
    }

    @Test func `an owner whose disk is full leaves the request to the next`() throws {
        let five = Five()
        let stranger = five.stranger(to: lobby)
        let owners = five.owners(of: lobby)
        #expect(five.handle(found(), at: stranger, number: 1, level: .all).isWritten)
        five.world.stalled = [owners[0].name]
        #expect(five.handle(send("m1"), at: stranger, number: 2) == nil)
        let commit = try #require(owners[0].store.takeFirst())
        owners[0].run { $0.onCommitted(commit.ticket, failure: .full) }
        five.world.endTurn(of: owners[0])
        five.world.settle()
        #expect(stranger.sink.outcomes[2].isWritten)
    }

    @Test func `what an owner pushed before its disk failed is not stored twice`() throws {
        let five = Five()
        let stranger = five.stranger(to: lobby)
        let owners = five.owners(of: lobby)
        #expect(five.handle(found(), at: stranger, number: 1, level: .all).isWritten)
        five.world.stalled = [owners[0].name]
        stranger.handle(send("m1"), number: 2, isMinted: true)
        five.world.endTurn(of: stranger)
        five.world.settle()
        let commit = try #require(owners[0].store.takeFirst())
        owners[0].run { $0.onCommitted(commit.ticket, failure: .full) }
        five.world.stalled = []
        five.world.endTurn(of: owners[0])
        five.world.settle()
        #expect(stranger.sink.outcomes[2].isWritten)
        five.world.run(milliseconds: 2_000)
        let shard = ShardID(of: lobby.text, count: shardCount).number
        #expect(owners[0].stored(of: shard) == owners[1].stored(of: shard))
        #expect(owners[0].digest(of: shard) == owners[1].digest(of: shard))
        #expect(owners.allSatisfy { $0.store.lies.isEmpty })
        #expect(five.handle(history, of: "bob", at: stranger, number: 3).messages == ["m1"])
    }

    @Test func `who denies a request denies what was sent behind it, and not what comes again`() {
        let five = Five()
        let stranger = five.stranger(to: lobby)
        let owner = five.owners(of: lobby)[0]
        #expect(five.handle(found(), at: stranger, number: 1, level: .all).isWritten)
        let now = five.world.clock.milliseconds
        // A request that comes too late, and requests after it that do not.
        let asks = [(100, now - 1, 7), (101, now + 400, 7), (102, now + 400, 8)].map {
            (number, deadline, round) in
            PeerRequest(
                number: UInt64(number), round: UInt64(round), deadline: deadline,
                request: .write(operation(send("m\(number)")), .local, .first))
        }
        owner.run { node in
            for link in node.links.ascending where link.name == stranger.node.options.name {
                for ask in asks { node.onRequest(ask, from: link) }
            }
        }
        five.world.endTurn(of: owner)
        five.world.settle()
        #expect(five.handle(history, of: "bob", at: stranger, number: 3).messages == ["m102"])
    }

    @Test func `who takes the clocks of others to be behind is told, and asks in time`() {
        let five = Five()
        let stranger = five.stranger(to: lobby)
        let owners = five.owners(of: lobby).map { $0.node.options.name }
        let now = five.world.clock.milliseconds
        // As if two readings had been made before a process stood still for five seconds.
        stranger.run { node in
            for owner in owners {
                for _ in 1...2 { node.links[owner]?.noteClock(now - 5_000, now: now) }
            }
        }
        _ = five.handle(found(), at: stranger, number: 1)
        five.world.run(milliseconds: 900)
        #expect(stranger.sink.outcomes[1].isWritten)
    }

    @Test(arguments: [(5_950, 200), (3_000, 4_000)] as [(UInt64, UInt64)])
    func `who takes the clocks of others to be behind has its typing shown in full`(
        behind: UInt64, after: UInt64
    ) {
        let five = Five()
        let (owner, stranger) = (five.owners(of: lobby)[0], five.stranger(to: lobby))
        #expect(five.handle(found(), at: owner, number: 1).isWritten)
        let name = stranger.node.options.name
        let now = five.world.clock.milliseconds
        // As if the owner's machine had been suspended since the stranger's last two reports.
        owner.run { node in
            for _ in 1...2 { node.links[name]?.noteClock(now - behind, now: now) }
            let slot = ReplySlot(session: 1, number: 2)
            _ = node.type(true, in: lobby, by: alice, on: nil, for: slot)
        }
        five.world.endTurn(of: owner)
        five.world.run(milliseconds: after)
        #expect(stranger.run { $0.typing.shown.count } == 1)
        five.world.run(milliseconds: 6_000)
        #expect(stranger.run { $0.typing.shown.isEmpty })
    }

    // MARK: Lists

    @Test func `a list is gathered from all who hold a part of it`() {
        let five = Five()
        for (index, room) in rooms(20).enumerated() {
            let number = UInt64(index + 1)
            #expect(
                five.handle(found(room), at: five.nodes[0], number: number).isWritten)
        }
        for (index, node) in five.nodes.enumerated() {
            let list = five.handle(
                ChatsQuery(.active), of: "bob", at: node, number: UInt64(100 + index))
            guard let chats: [ChatView] = list.findings(isPartial: false) else {
                Issue.record("\(node.name) says \(String(describing: list))")
                continue
            }
            #expect(chats.count == 20, "at \(node.name)")
        }
    }

    @Test func `a list of which the vectors fit no frame is answered all the same`() {
        let standard = PeerLimits.standard
        let five = Five(
            peerLimits: PeerLimits(
                queueBytesMax: standard.queueBytesMax, queueBytesShort: standard.queueBytesShort,
                controlBytesMax: standard.controlBytesMax,
                answerBytesMax: standard.answerBytesMax, vectorBytesMax: 1))
        for (index, room) in rooms(20).enumerated() {
            let number = UInt64(index + 1)
            #expect(
                five.handle(found(room), at: five.nodes[0], number: number).isWritten)
        }
        let node = five.stranger(to: rooms(1)[0])
        let list = five.handle(ChatsQuery(.active), of: "bob", at: node, number: 100)
        guard let chats: [ChatView] = list.findings(isPartial: false) else {
            Issue.record("it says \(String(describing: list))")
            return
        }
        #expect(chats.count == 20)
        // The vector of each shard came, too.
        let shown = Dictionary(
            uniqueKeysWithValues: node.sink.allShown.map { ($0.shard, $0) })
        #expect(Set(shown.keys) == Set((0..<shardCount).map { ShardID($0) }))
        for room in rooms(20) {
            let shard = ShardID(of: room.text, count: shardCount)
            let held = five.owners(of: room)[0].run {
                $0.shard(of: room)?.assumeIsolated { $0.vector }
            }
            #expect(shown[shard]?.vector == held)
        }
    }

    @Test func `a large list comes once there is memory for it, and is whole`() throws {
        let five = Five(peerLimits: .ofLists(64))
        for (index, room) in rooms(20).enumerated() {
            let number = UInt64(index + 1)
            #expect(
                five.handle(found(room), at: five.nodes[0], number: number).isWritten)
        }
        let asked = five.stranger(to: rooms(1)[0])
        asked.sink.memory = 0
        #expect(five.handle(ChatsQuery(.active), of: "bob", at: asked, number: 100) == nil)
        // Several members have large parts; what was estimated at first is dropped once.
        #expect(asked.sink.delayed == [100])
        // The first part takes it; the others come all the same.
        asked.sink.memory = 1
        five.world.run(milliseconds: 200)
        let list = asked.sink.outcomes[100]
        guard let chats: [ChatView] = list.findings(isPartial: false) else {
            Issue.record("it says \(String(describing: list))")
            return
        }
        #expect(chats.count == 20)
    }

    @Test func `a list without the shards that nobody holds any more says that it is partial`() {
        let five = Five()
        for (index, room) in rooms(20).enumerated() {
            let number = UInt64(index + 1)
            #expect(
                five.handle(found(room), at: five.nodes[0], number: number, level: .all)
                    .isWritten)
        }
        let lost = Set(five.owners(of: rooms(1)[0]).map(\.name))
        for name in lost.sorted() { five.world.kill(name) }
        five.world.settle()
        let left =
            five.nodes.first { !lost.contains($0.name) } ?? five.nodes[0]
        let list = five.handle(ChatsQuery(.active), of: "bob", at: left, number: 100)
        guard let chats: [ChatView] = list.findings(isPartial: true) else {
            Issue.record("it says \(String(describing: list))")
            return
        }
        let there = rooms(20).filter { !five.owners(of: $0).allSatisfy { lost.contains($0.name) } }
        #expect(Set(chats.map(\.id)) == Set(there))
        #expect(there.count < 20)
    }

    @Test func `who stands still is left out of a list after 500 ms, and others asked instead`() {
        let five = Five()
        for (index, room) in rooms(20).enumerated() {
            let number = UInt64(index + 1)
            #expect(
                five.handle(found(room), at: five.nodes[0], number: number, level: .all)
                    .isWritten)
        }
        five.world.paused = ["n2"]
        #expect(five.handle(UnreadQuery(), of: "bob", at: five.nodes[2], number: 100) == nil)
        five.world.run(milliseconds: 700)
        let list = five.nodes[2].sink.outcomes[100]
        guard list.findings(isPartial: false, as: [UnreadCount].self) != nil else {
            Issue.record("it says \(String(describing: list))")
            return
        }
    }

    @Test func `a list shows what its connection wrote before it, at whichever node that is`() {
        let five = Five()
        let stranger = five.stranger(to: lobby)
        // Sessions let nothing follow before it is known that nobody has blocked the founder.
        stranger.handle(found(), number: 1)
        five.world.endTurn(of: stranger)
        five.world.settle()
        stranger.handle(send("m1"), number: 2)
        stranger.handle(UnreadQuery(), of: "bob", number: 3)
        stranger.handle(UnreadQuery(), of: "bob", number: 4)
        five.world.endTurn(of: stranger)
        five.world.settle()
        let expected = AnyFindings([UnreadCount(conversation: lobby, count: 1)])
        for number in UInt64(3)...4 {
            #expect(
                stranger.sink.outcomes[number] == .answered(.found(expected, isPartial: false), nil)
            )
        }
    }

    @Test func `while owners are being filled a list asks one after the other, and is whole`() {
        let five = Five()
        for (index, room) in rooms(20).enumerated() {
            let number = UInt64(index + 1)
            #expect(
                five.handle(found(room), at: five.nodes[0], number: number, level: .all)
                    .isWritten)
        }
        // Three more nodes, which own shards before they hold them.
        for number in 6...8 {
            five.world.add("n\(number)", join: ["n1"], shards: nil, replicas: nil)
        }
        for round in UInt64(1)...20 {
            for node in five.nodes {
                node.handle(ChatsQuery(.active), of: "bob", number: 100 * round)
                five.world.endTurn(of: node)
            }
            five.world.run(milliseconds: 100)
        }
        five.world.run(milliseconds: 1_000)
        for node in five.nodes {
            for round in UInt64(1)...20 {
                guard
                    let chats: [ChatView] = node.sink.outcomes[100 * round].findings(
                        isPartial: false)
                else {
                    Issue.record("\(node.name) has no whole list in round \(round)")
                    continue
                }
                #expect(chats.count == 20, "at \(node.name)")
            }
        }
        #expect(five.nodes[0].members.count == 8)
    }

    // MARK: Replicas

    @Test func `a wait for copies asks the owners of what is not held here`() {
        let five = Five()
        let stranger = five.stranger(to: lobby)
        let outcome = five.handle(found(), at: stranger, number: 1)
        guard case .answered(.written(let receipt, let shard), _) = outcome else {
            Issue.record("it says \(String(describing: outcome))")
            return
        }
        var vector = Vector()
        vector.insert(receipt.context)
        let writes = [shard: vector]
        let deadline = five.world.clock.milliseconds + 2_000
        stranger.run {
            $0.wait(
                ReplySlot(session: 1, number: 2), for: writes, copies: 2, until: deadline)
        }
        five.world.endTurn(of: stranger)
        five.world.run(milliseconds: 300)
        #expect(stranger.sink.outcomes[2] == .copies(2, isEnough: true))
    }
}
