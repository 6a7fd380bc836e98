import CRDT
import Chat
import Testing
import Wire

@testable import Node
@testable import Replication

/// Frames that cannot be read or make no sense: none of them ends a connection.
@Suite struct BadFrameTests {
    private struct Pair {
        let world = NodeWorld()
        let first: WorldNode
        let second: WorldNode

        init() {
            first = world.add("n1")
            world.run(milliseconds: 100)
            second = world.add("n2", join: ["n1"], shards: nil)
            world.run(milliseconds: 1_000)
            _ = first.submit(create(), number: 1)
            world.run(milliseconds: 1_000)
            first.host.lines = []
        }

        /// The first node's end of the connection between the two.
        var channel: FakeChannel? {
            first.run { $0.links[NodeName(checked: "n2")]?.channel.id }.flatMap { id in
                world.channels.first { $0.id == id }
            }
        }

        /// Delivers this payload from the other node.
        func receive(_ payload: [UInt8]) throws {
            var writer = ByteWriter()
            writer.writeEnvelope { $0.write(raw: payload) }
            world.receive(writer.bytes, on: try #require(channel))
        }

        func receive(_ frame: Frame) throws {
            try receive(PeerFrame.replication(frame).encoded)
        }

        /// Whether the connection is the same, and carries writes of both sides.
        func isAlive(since channel: UInt64?) -> Bool {
            let number = 1_000 + world.clock.milliseconds
            guard first.submit(send("m\(number)"), number: number) else { return false }
            world.run(milliseconds: 1_000)
            return self.channel?.id == channel && channel != nil
                && first.digest == second.digest && first.isConverged
        }

        var shard: ShardID { ShardID(of: lobby.text, count: 2) }
    }

    @Test func `a frame that cannot be read is refused in one line, and the connection stays`()
        throws
    {
        let pair = Pair()
        let channel = pair.channel?.id
        let push = PeerFrame.replication(
            .push(pair.shard, [EncodedDocument(key: [1, 2, 3], bytes: [9])], cause: Vector())
        ).encoded
        for _ in 0..<100 {
            try pair.receive(Array(push.dropLast(3)))
            try pair.receive(push)
            try pair.receive([1])
            try pair.receive([1, 2])
            try pair.receive([1, 3, 9, 9, 9, 9])
        }
        #expect(pair.first.host.lines.filter { $0.contains("frame refused") }.count == 1)
        #expect(!pair.first.host.lines.contains { $0.contains("connection closed") })
        #expect(pair.isAlive(since: channel))
    }

    @Test func `a kind of frame that only a later version knows is skipped without a word`() throws
    {
        let pair = Pair()
        let channel = pair.channel?.id
        for payload in [[1, 99, 1, 2, 3], [1, 4, 99, 1], [1, 3, 0, 99], [1, 8, 99]] as [[UInt8]] {
            try pair.receive(payload)
        }
        #expect(pair.first.host.lines.isEmpty)
        #expect(pair.isAlive(since: channel))
    }

    @Test func `what builds on a vector that was not heard is said again, and nothing is lost`()
        throws
    {
        let pair = Pair()
        let (channel, shard) = (pair.channel?.id, pair.shard)
        let known = try #require(pair.first.run { $0.shard(shard)?.assumeIsolated { $0.vector } })
        var said = SaidVectors(restRangesMax: 0)
        func beyond(_ frame: PeerFrame) -> [UInt8] {
            // The base is in a frame that did not arrive.
            var (first, second) = (frame, frame)
            said.say(in: &first)
            said.say(in: &second)
            return second.encoded
        }
        let claim = Frame.VersionClaim(
            vector: known, digest: .zero, isComplete: true, isServing: true)
        let constraint = ReadConstraint(.vector(SaidVector(known)), isStrict: true)
        let ask = PeerRequest(
            number: 7, round: 1, deadline: .max, request: .level(shard, constraint))
        let position = WatchFrame.Position(shard: shard, number: 9, vector: known)
        for frame in [
            .replication(.pull(shard, number: 1, SaidVector(known))),
            .replication(.offer(Frame.Offer(shard: shard, claim: claim, isAnswer: false))),
            .replication(.accept(shard, mark: 1, claim)),
            .watch(.open(shard, number: 9, since: SaidVector(known))),
            .watch(.told(shard, number: 9, [], position: SaidVector(known))),
            .watch(.watched(9, concerns: [], positions: [position])),
            .request(ask),
            .response(
                PeerResponse(
                    number: 9, round: 1, outcome: .level,
                    seen: [ObservedShard(shard: shard, vector: known)])),
        ] as [PeerFrame] {
            try pair.receive(beyond(frame))
        }
        #expect(
            pair.first.run { node in
                node.publisher.subscribers.values.allSatisfy { $0.feeds.isEmpty }
            })
        #expect(pair.first.host.endings.isEmpty)
        #expect(pair.isAlive(since: channel))
    }

    @Test func `one bad document ends the pull that brings it, and nothing else`() throws {
        let pair = Pair()
        let channel = pair.channel?.id
        let good = try #require(pair.first.stored(of: pair.shard.number).first)
        var claimed = Vector()
        claimed.insert(SeqSet(1...5), of: RandomID(high: 77, low: 1))
        let vector = claimed
        let claim = Frame.VersionClaim(
            vector: vector, digest: .zero, isComplete: true, isServing: true)
        try pair.receive(
            .offer(Frame.Offer(shard: pair.shard, claim: claim, isAnswer: true)))
        let shard = pair.shard
        let number = try #require(
            pair.first.run { node in
                node.shard(shard)?.assumeIsolated { $0.tally.pullsBegun }
            })
        let encodedDocuments = [
            EncodedDocument(key: good.key.encoded, bytes: good.value.dropLast()),
            EncodedDocument(key: good.key.encoded, bytes: good.value),
        ]
        try pair.receive(.batch(pair.shard, number: number, index: 0, encodedDocuments))
        try pair.receive(.done(pair.shard, number: number, batches: 1, claim))
        let holds = pair.first.run { node in
            node.shard(shard)?.assumeIsolated { $0.vector.covers(vector) }
        }
        #expect(holds == false)
        let line = pair.first.host.lines.first { $0.contains("frame refused") }
        #expect(line?.contains("shard=\(pair.shard)") == true)
        #expect(line?.contains("pause=300ms") == true)
        #expect(pair.channel?.id == channel)
    }

    @Test func `an impossible time is refused, and what is sent after it is sent`() throws {
        let pair = Pair()
        let channel = pair.channel?.id
        let key = DocumentKey.message(MessageID(checked: "far"), in: lobby)
        let replica = RandomID(high: 77, low: 1)
        let last: UInt64 = HybridTimestamp.millisecondsMax << 16 | 0xFFFF
        for bits in [1 << 63 - 1, .max, last] as [UInt64] {
            let author = Authorship(
                dot: Dot(replica: replica, seq: 1),
                stamp: Stamp(time: HybridTimestamp(bits: bits), process: replica, counter: 1))
            let document = send("far").applied(to: nil, by: author)
            let encodedDocument = EncodedDocument(key: key.encoded, bytes: document.encoded)
            try pair.receive(.push(pair.shard, [encodedDocument], cause: Vector()))
        }
        #expect(pair.first.run { $0.latestTime.isFollowed })
        #expect(pair.first.host.endings.isEmpty)
        let taken = pair.first.submit(send("after"), number: 500)
        pair.world.run(milliseconds: 1_000)
        #expect(taken && pair.first.host.endings.isEmpty && pair.channel?.id == channel)
        let restarted = NodeWorld().add("n1", store: pair.first.store)
        #expect(restarted.submit(send("later"), number: 1) || restarted.host.endings.isEmpty)
    }

    @Test func `confirmations of interleaved ranges are taken in one pass`() throws {
        let pair = Pair()
        let channel = pair.channel?.id
        for start in 1...2 as ClosedRange<UInt64> {
            var vector = Vector()
            var seqs = SeqSet()
            for seq in stride(from: start, to: 60_000, by: 4) { seqs.insert(seq) }
            vector.insert(seqs, of: RandomID(high: 5, low: 5))
            try pair.receive(.confirm(pair.shard, vector))
        }
        #expect(pair.channel?.id == channel)
    }
}

/// Many changes of a large document in one turn cost what one change costs.
@Suite struct RewritingTests {
    private func invite(_ number: Int) -> Mutation {
        let name = String(repeating: "g", count: 58) + "\(100_000 + number)"
        return Mutation(InviteUser(UserID(checked: name)), in: lobby, by: alice)
    }

    @Test func `a hundred changes of one turn are one record, one frame and no pull`() throws {
        let world = NodeWorld()
        let first = world.add("n1")
        world.run(milliseconds: 100)
        let second = world.add("n2", join: ["n1"], shards: nil)
        world.run(milliseconds: 1_000)
        _ = first.submit(create(), number: 1)
        for number in 0..<200 { _ = first.submit(invite(number), number: UInt64(number + 2)) }
        world.run(milliseconds: 2_000)
        #expect(first.digest == second.digest)
        let key = DocumentKey.conversation(lobby)
        let shard = ShardID(of: lobby.text, count: 2)
        let size = try #require(first.stored(of: shard.number)[key]).count
        func sent() -> UInt64 {
            first.run { $0.links.ascending.reduce(0) { $0 + $1.traffic.sentBytes } }
        }
        func pulls() -> UInt64 {
            second.run { node in node.shard(shard)?.assumeIsolated { $0.tally.pullsBegun } ?? 0 }
        }
        let (sentBefore, pullsBefore) = (sent(), pulls())
        for number in 200..<300 {
            #expect(first.submit(invite(number), number: UInt64(number + 2), level: .all))
        }
        let rewritten = first.run { node in
            node.shard(shard)?.assumeIsolated { $0.unsettledBytes } ?? 0
        }
        #expect(rewritten > 100 * size)
        world.endTurn(of: first)
        #expect(sent() - sentBefore < UInt64(2 * size))
        world.settle()
        // All changes are confirmed by that one frame.
        for number in 200..<300 {
            #expect(first.sink.outcomes[UInt64(number + 2)] != nil)
        }
        #expect(first.run { $0.rewriting.bytes } == 0)
        world.run(milliseconds: 2_000)
        #expect(first.digest == second.digest && pulls() == pullsBefore)
        #expect(first.isConverged)
    }
}
