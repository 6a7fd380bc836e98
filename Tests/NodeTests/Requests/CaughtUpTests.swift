import CRDT
import Chat
import Placement
import Replication
import Testing
import Wire

@testable import Node

private let shardCount: UInt16 = 8
private let bob = UserID(checked: "bob")

/// A connection with session vectors.
private final class SeeingSink: ReplySink {
    nonisolated(unsafe) var sessionVectors = SessionVectors()
    nonisolated(unsafe) var isStrict = false
    nonisolated(unsafe) private(set) var outcomes: [UInt64: ReplyResult] = [:]

    func onSettled(_ number: UInt64, _ outcome: ReplyResult) { outcomes[number] = outcome }
    func sessionVector(of shard: ShardID) -> SessionVector? { sessionVectors[shard] }

    func constraint(on shard: ShardID) -> ReadConstraint? {
        sessionVectors[shard].map {
            ReadConstraint(.vector(SaidVector($0.vector)), isStrict: isStrict)
        }
    }

    func onSeen(_ observations: [Observation]) {
        for observation in observations { sessionVectors.recordObservation(observation) }
    }
    func onCaughtUp(_ observation: Observation) { sessionVectors.replace(observation) }
    func forgetReplica(of shard: ShardID) { sessionVectors.forgetReplica(of: shard) }
    func onEvent(_ event: WatchedEvent, token: String?) -> Bool { false }
    func isStillFull() -> Bool { false }
}

/// Five nodes, three replicas of each shard, and a client of a node that does not hold the lobby.
private struct Moved {
    let world = NodeWorld()
    let owners: [WorldNode]
    let stranger: WorldNode
    let sink = SeeingSink()
    private let history = HistoryQuery(lobby, place: .newest, limit: 10)

    init() {
        var nodes = [
            world.add("n1", shards: shardCount, replicas: .count(3), mayBlock: true)
        ]
        for number in 2...5 {
            nodes.append(
                world.add(
                    "n\(number)", join: ["n1"], shards: nil, replicas: nil, mayBlock: true))
        }
        world.run(milliseconds: 5_000)
        let shard = ShardID(of: lobby.text, count: shardCount)
        let names = nodes[0].owners(of: shard.number)
        owners = names.compactMap { name in nodes.first { $0.name == name } }
        stranger = nodes.first { !names.contains($0.name) } ?? nodes[0]
        stranger.run { [sink] in $0.attach(sink, as: 7) }
    }

    func ask(_ mutation: Mutation, _ number: UInt64, level: AckLevel) -> ReplyResult? {
        let slot = ReplySlot(session: 7, number: number)
        let sessionVectors = sink.sessionVectors
        _ = stranger.run {
            $0.handle(mutation, isMinted: false, level: level, for: slot, having: sessionVectors)
        }
        return settled(number)
    }

    func read(_ number: UInt64) -> ReplyResult? {
        let slot = ReplySlot(session: 7, number: number)
        let sessionVectors = sink.sessionVectors
        _ = stranger.run { [history] in
            $0.handle(history, of: bob, for: slot, having: sessionVectors)
        }
        return settled(number)
    }

    private func settled(_ number: UInt64) -> ReplyResult? {
        world.endTurn(of: stranger)
        world.settle()
        return sink.outcomes[number]
    }

    /// Makes some owners lack a write that the first one alone could send them.
    func found(withoutTelling lagging: [WorldNode]) {
        let create = Mutation(
            CreateConversation(participants: [alice, bob], title: nil), in: lobby,
            by: alice)
        #expect(ask(create, 1, level: .all).isWritten)
        for owner in lagging {
            let name = NodeName(checked: owner.name)
            _ = owners[0].run { $0.block(name, .both) }
        }
        #expect(ask(send("m1"), 2, level: .local).isWritten)
        #expect(read(3).messages == ["m1"])
    }
}

@Suite struct CaughtUpTests {
    @Test func `when the owner dies, the next one fetches what the connection has seen`() {
        let moved = Moved()
        moved.found(withoutTelling: [moved.owners[1]])
        moved.world.kill(moved.owners[0].name)
        moved.world.settle()
        #expect(moved.read(4).messages == ["m1"])
    }

    @Test func `what one dead disk alone holds refuses the strict, and only them`() {
        for isStrict in [false, true] {
            let moved = Moved()
            moved.sink.isStrict = isStrict
            moved.found(withoutTelling: Array(moved.owners.dropFirst()))
            moved.world.kill(moved.owners[0].name)
            moved.world.settle()
            _ = moved.read(4)
            moved.world.run(milliseconds: 1_500)
            let outcome = moved.sink.outcomes[4]
            if isStrict {
                #expect(outcome == .answered(.failed(.behind), nil))
            } else {
                #expect(outcome.messages == [])
            }
        }
    }

    @Test(arguments: [false, true])
    func `what a client that is gone has asked for is not executed without what it saw`(
        isSent: Bool
    ) {
        let moved = Moved()
        moved.found(withoutTelling: [moved.owners[1]])
        let (world, first) = (moved.world, moved.owners[0].name)
        // Before the request it waits for another owner; after it, it is taken back from the first.
        if !isSent {
            world.kill(first)
            world.settle()
        }
        let sessionVectors = moved.sink.sessionVectors
        _ = moved.stranger.run {
            $0.handle(
                send("m2"), isMinted: false, level: .local,
                for: ReplySlot(session: 7, number: 4), having: sessionVectors)
        }
        if isSent {
            world.paused.insert(first)
            world.endTurn(of: moved.stranger)
        }
        moved.stranger.run { $0.detach(7) }
        if isSent { world.kill(first) }
        world.endTurn(of: moved.stranger)
        world.settle()
        let shard = ShardID(of: lobby.text, count: shardCount)
        let key = DocumentKey.message(MessageID(checked: "m2"), in: lobby)
        #expect(moved.owners[1].stored(of: shard.number)[key] == nil)
    }

    @Test func `what a dead owner alone has shown is taken back there too`() {
        let moved = Moved()
        moved.found(withoutTelling: [])
        for other in moved.owners.dropFirst() {
            let name = NodeName(checked: other.name)
            _ = moved.owners[0].run { $0.block(name, .both) }
        }
        let pin = { (action: any MessageAction) in
            Mutation(action, of: MessageID(checked: "m1"), in: lobby, by: bob)
        }
        #expect(moved.ask(pin(PinMessage()), 4, level: .local).isWritten)
        #expect(moved.read(5).messages == ["m1"])
        let store = moved.owners[0].store
        moved.world.kill(moved.owners[0].name)
        moved.world.settle()
        _ = moved.ask(pin(UnpinMessage()), 6, level: .local)
        moved.world.run(milliseconds: 1_500)
        #expect(moved.sink.outcomes[6].isWritten)
        let other = moved.owners[1].name
        moved.world.add(
            moved.owners[0].name, join: [other], store: store, shards: nil, replicas: nil)
        moved.world.run(milliseconds: 5_000)
        let shard = ShardID(of: lobby.text, count: shardCount)
        let key = DocumentKey.message(MessageID(checked: "m1"), in: lobby)
        for owner in moved.owners.map(\.name).compactMap({ moved.world.nodes[$0] }) {
            let bytes = owner.stored(of: shard.number)[key] ?? []
            #expect((try? Document(key, decoding: bytes))?.message?.isPinned == false)
        }
    }

    @Test func `a token is covered by every copy that answers, or refused after a second`() throws {
        let moved = Moved()
        moved.found(withoutTelling: [moved.owners[1]])
        let seen = moved.sink.sessionVectors.shards.map { shard in
            (shard: shard, vector: moved.sink.sessionVectors[shard]?.vector ?? Vector())
        }
        let token = try #require(moved.stranger.run { $0.token(of: seen, first: []) })
        #expect(moved.stranger.run { $0.isOfThisCluster(token) } == true)
        let lagging = moved.owners[1]
        let sink = SeeingSink()
        lagging.run { $0.attach(sink, as: 8) }
        let slot = ReplySlot(session: 8, number: 1)
        lagging.run { $0.since(token, for: slot) }
        moved.world.endTurn(of: lagging)
        // The first owner, which it cannot hear, is asked first and given up.
        moved.world.run(milliseconds: 500)
        #expect(sink.outcomes[1] == .level)
        let history = HistoryQuery(lobby, place: .newest, limit: 10)
        let handling = lagging.run {
            $0.handle(
                history, of: bob, for: ReplySlot(session: 8, number: 2), having: sink.sessionVectors
            )
        }
        guard case .here(let outcome, _) = handling,
            let views: [MessageView] = outcome.findings()
        else {
            Issue.record("\(handling)")
            return
        }
        #expect(views.map(\.id.text) == ["m1"])
    }

    @Test func `a later look at the same copy replaces, one at another unites`() {
        let replica = RandomID(high: 0, low: 1)
        var (one, two) = (Vector(), Vector())
        one.insert(Dot(replica: replica, seq: 1))
        two.insert(Dot(replica: replica, seq: 2))
        var sessionVectors = SessionVectors()
        sessionVectors.recordObservation(Observation(ShardID(1), one, by: .here))
        sessionVectors.recordObservation(Observation(ShardID(1), two, by: .here))
        #expect(sessionVectors[ShardID(1)] == SessionVector(vector: two, replica: .here))
        sessionVectors.recordObservation(Observation(ShardID(1), one, by: .member(channel: 4)))
        #expect(sessionVectors[ShardID(1)] == SessionVector(vector: one.union(two), replica: nil))
        sessionVectors.recordObservation(Observation(ShardID(2), nil, by: .here))
        #expect(sessionVectors.isCaughtUp(ShardID(2), with: .here))
        sessionVectors.forgetReplica(of: ShardID(2))
        #expect(!sessionVectors.isCaughtUp(ShardID(2), with: .here))
        #expect(sessionVectors.isCaughtUp(ShardID(3), with: .here))
    }

    @Test func `each of many shards keeps what was seen of it, whatever came first`() {
        let replica = RandomID(high: 0, low: 1)
        func seen(_ number: UInt16) -> Vector {
            var vector = Vector()
            vector.insert(Dot(replica: replica, seq: UInt64(number) + 1))
            return vector
        }
        var sessionVectors = SessionVectors()
        // 101 is a prime, so each number comes once.
        let numbers = (0..<101 as Range<UInt16>).map { $0 * 37 % 101 }
        for number in numbers {
            #expect(sessionVectors[ShardID(number)] == nil)
            let observation = Observation(ShardID(number), seen(number), by: .here)
            if number.isMultiple(of: 2) {
                sessionVectors.recordObservation(observation)
            } else {
                sessionVectors.replace(observation)
            }
        }
        #expect(sessionVectors.shards == (0..<101).map { ShardID($0) })
        for number in numbers {
            let sessionVector = SessionVector(vector: seen(number), replica: .here)
            #expect(sessionVectors[ShardID(number)] == sessionVector)
        }
    }

    @Test func `what members say of floors is read as it was written`() throws {
        var vector = Vector()
        vector.insert(Dot(replica: RandomID(high: 3, low: 1), seq: 2))
        let token = Token(of: [(ShardID(2), vector)], cluster: RandomID(high: 1, low: 1))
        for minimum in [MinimumVersion.vector(SaidVector(vector)), .token(token)] {
            let request = PeerRequest.Request.level(
                ShardID(2), ReadConstraint(minimum, isStrict: true))
            let ask = PeerRequest(number: 1, round: 0, deadline: 9, request: request)
            #expect(try PeerRequest.decode(ask.encoded) == ask)
        }
        let seen = [ObservedShard(shard: ShardID(2), vector: vector)]
        let told = PeerResponse(number: 1, round: 0, outcome: .level, seen: seen)
        #expect(try PeerResponse.decode(told.encoded) == told)
    }
}
