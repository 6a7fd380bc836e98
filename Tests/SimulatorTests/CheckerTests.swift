import CRDT
import Chat
import Node
import Replication
import TestKit
import Testing
import Wire

@testable import Simulator

/// Each checker fails on a world in which the property that it watches was broken by hand.
@Suite struct CheckerTests {
    /// Returns a world whose run has ended well, with everything still in it.
    private func endedWorld() throws -> World {
        let world = World(Plan(seed: 6), tracer: nil)
        try world.run()
        return world
    }

    @Test func `the last writes wait until every connection is whole or gone`() throws {
        let world = try endedWorld()
        #expect(world.isNetworkAtRest)
        // The other process is gone, and the news of that is under way to the node that dialled.
        let connection = Connection([0, 1], [1, 1], now: world.now)
        connection.isOpen = [true, false]
        world.connections.append(connection)
        #expect(!world.isNetworkAtRest)
    }

    @Test func `a stamp is judged by the time at which the node took it in`() {
        var wall = SimWall()
        wall.set(to: 0, now: 0)
        _ = wall.takeEarliest(now: 0)
        wall.noteGiven(now: 1_054_948)
        let taken = wall.takeEarliest(now: 1_055_049)
        #expect(taken?.believes(HybridTimestamp(milliseconds: 1_555)) == false)
        // What is taken in afterwards is judged anew.
        let later = wall.takeEarliest(now: 1_055_050)
        #expect(later?.milliseconds == 1_055)
    }

    /// Returns a message that was not retracted, and its shard, from the first disk.
    private func message(in world: World) throws -> (shard: Int, document: Document) {
        let node = world.nodes[0]
        for (shard, disk) in node.disk.state.shards.enumerated() {
            // A message that no user of that node ever deleted.
            for key in disk.keys where key.kind == .message && node.deletions.hides[key] == nil {
                let stored = try #require(disk.documents[key])
                let document = try Document(key, decoding: stored.bytes)
                guard let message = document.message, !message.isRetracted else { continue }
                if message.deletedBy.isEmpty { return (shard, document) }
            }
        }
        throw Violation(invariant: .kept, explanation: "no message left")
    }

    private func invariant(_ check: () throws -> Void) -> Invariant? {
        do {
            try check()
            return nil
        } catch {
            return (error as? Violation)?.invariant
        }
    }

    private func authorship(_ dot: Dot, at milliseconds: UInt64) -> Authorship {
        Authorship(
            dot: dot,
            stamp: Stamp(
                time: HybridTimestamp(milliseconds: milliseconds), process: dot.replica,
                counter: dot.seq))
    }

    private func entry(
        _ seq: UInt64, _ action: ChatAction, past: [Dot] = [], at time: UInt64? = nil,
        base: Stamp? = nil
    ) throws -> Ledger.Entry {
        let replica = ReplicaID(high: 1, low: 1)
        let dot = Dot(replica: replica, seq: seq)
        var context = Context(dot)
        for dot in past { context.insert(dot) }
        let stamp = time.map {
            Stamp(time: HybridTimestamp(milliseconds: $0), process: replica, counter: seq)
        }
        let mutation = Mutation(
            action, in: ConversationID(checked: "c"), by: UserID(checked: "ann"))
        return Ledger.Entry(
            dot: dot, shard: 0, node: 0, mutation: mutation,
            operation: stamp ?? authorship(dot, at: 11).stamp, past: context, stamp: stamp,
            base: base, bytes: .zero)
    }

    @Test func `I1 an acknowledged write that a disk lacks`() throws {
        let world = try endedWorld()
        let (shard, document) = try message(in: world)
        world.nodes[1].disk.state.shards[shard].remove(document.key)
        let lost = world.ledger.entries(of: document.key)
        #expect(lost.allSatisfy { world.holds($0, world.nodes[0]) })
        #expect(lost.allSatisfy { !world.holds($0, world.nodes[1]) })
        #expect(invariant { try world.checkWhole(world.nodes[1]) } != nil)
    }

    @Test func `I2 a deletion that does not show`() throws {
        let world = try endedWorld()
        let (_, document) = try message(in: world)
        let first = try #require(world.ledger.entries(of: document.key).first)
        let retract = Ledger.Entry(
            dot: Dot(replica: first.dot.replica, seq: first.dot.seq), shard: 99, node: 0,
            mutation: Mutation(
                RetractMessage(), of: try #require(MessageID(document.key.id)),
                in: try #require(first.mutation.conversation), by: first.mutation.user),
            operation: authorship(Dot(replica: ReplicaID(high: 9, low: 9), seq: 9), at: 12).stamp,
            past: first.past, stamp: nil, base: nil, bytes: .zero)
        try world.ledger.add(retract)
        #expect(
            invariant { try Model(of: document, in: world.ledger).check(document) } == .deleted)
    }

    @Test func `I2 a start that is behind all the others`() throws {
        let world = try endedWorld()
        let node = world.nodes[0]
        let shell = try #require(node.shell)
        let (shard, _) = try message(in: world)
        try world.checkNotBehind(node, shard, shell)
        node.minimums[shard].insert(Dot(replica: ReplicaID(high: 9, low: 9), seq: 1))
        #expect(invariant { try world.checkNotBehind(node, shard, shell) } == .deleted)
    }

    @Test func `I3 a digest that is not the documents'`() throws {
        let world = try endedWorld()
        try world.checkWhole(world.nodes[0])
        let (shard, document) = try message(in: world)
        let stored = try #require(world.nodes[0].disk.state.shards[shard].documents[document.key])
        let other = DocumentKey.message(
            MessageID(checked: "other"), in: ConversationID(checked: "c0"))
        world.nodes[0].disk.state.shards[shard].put(stored, at: other)
        #expect(invariant { try world.checkWhole(world.nodes[0]) } != nil)
    }

    @Test func `I4 two changes under one dot`() throws {
        var ledger = Ledger()
        try ledger.add(try entry(1, .message(MessageID(checked: "m"), PinMessage())))
        #expect(
            invariant {
                try ledger.add(try entry(1, .message(MessageID(checked: "m"), UnpinMessage())))
            }
                == .oneDot)
        try ledger.add(try entry(2, .message(MessageID(checked: "m"), UnpinMessage())))
    }

    @Test func `I11 a vector that claims what the documents lack`() throws {
        let world = try endedWorld()
        let (shard, document) = try message(in: world)
        let header = world.nodes[0].disk.state.shards[shard].claim
        let n1 = NodeName(checked: "n1")
        var copy = ShardReplica(
            ShardID(UInt16(shard)), stored: header,
            ownership: Ownership(me: n1, owners: [n1], livingOwners: 1, others: []), life: 0,
            now: 0)
        let stranger = Context(Dot(replica: ReplicaID(high: 5, low: 5), seq: 1))
        copy.noteMerge(nil, naming: stranger, from: NodeName(checked: "n2"))
        let commit = SimDisk.Commit(
            ticket: 1,
            parts: [
                SimDisk.Commit.Part(removing: [], of: shard, header: copy.current.encoded)
            ], wall: world.wall(of: world.nodes[0]))
        #expect(invariant { try world.apply(commit, on: world.nodes[0]) } == .claims)
        #expect(document.message != nil)
    }

    /// Adds a request without a reply to a world that has ended, and returns its index.
    private func request(
        _ kind: Request.Kind, in world: World, shard: Int
    ) throws -> Int {
        let shell = try #require(world.nodes[0].shell)
        world.requests.append(
            Request(
                session: -1, user: UserID(checked: "ann"), address: shell.address, shard: shard,
                kind: kind, askedAt: 0))
        return world.requests.count - 1
    }

    @Test func `I5 a frame that is none`() throws {
        let world = try endedWorld()
        let shell = try #require(world.nodes[0].shell)
        #expect(invariant { try world.receive([0xFF], from: 1, at: shell) } == .badRecord)
    }

    @Test func `I2 and I6 what is shown though it was deleted, or is on no disk`() throws {
        let world = try endedWorld()
        let (shard, document) = try message(in: world)
        let node = world.nodes[0]
        let conversation = ConversationID(checked: document.key.partition)
        let id = try #require(MessageID(document.key.id))
        let view = try #require(
            document.message?.view(
                as: id, for: UserID(checked: "nobody"), among: ObservedRemoveSet()))
        func show(_ views: [MessageView], limit: Int = 10) throws -> Invariant? {
            let number = try request(
                .query(
                    AnyQuery(HistoryQuery(conversation, place: .newest, limit: limit)),
                    AnyFindings(views),
                    deletionsKnown: node.deletions.count), in: world, shard: shard)
            return invariant { try world.onShown(number) }
        }
        #expect(try show([view]) == nil)
        #expect(try show([view, view], limit: 1) == .bounded)
        #expect(try show([view, view]) == .reads)
        node.disk.state.shards[shard].remove(document.key)
        #expect(try show([view]) == .reads)
        // Another user's message under the same id says nothing of this one.
        node.deletions.noteRetracted(document.key, from: UserID(checked: "nobody"))
        #expect(try show([view]) == .reads)
        node.deletions.noteRetracted(document.key, from: view.from)
        #expect(try show([view]) == .deleted)
    }

    /// Returns a conversation on the first disk that has participants.
    private func room(in world: World) throws -> (shard: Int, key: DocumentKey) {
        for (shard, disk) in world.nodes[0].disk.state.shards.enumerated() {
            if let key = disk.keys.first(where: {
                $0.kind == .conversation && disk.indexKeys[$0] != nil
            }) {
                return (shard, key)
            }
        }
        throw Violation(invariant: .kept, explanation: "no conversation left")
    }

    @Test func `I10 an index that does not lead to what it should`() throws {
        let world = try endedWorld()
        let node = world.nodes[0]
        let (shard, key) = try room(in: world)
        try world.checkViews(at: node)
        node.disk.state.shards[shard].indexKeys[key] = nil
        #expect(invariant { try world.checkWhole(node) } == .index)
        // Users may have hidden single conversations, but at least one list lacks something.
        for shard in node.disk.state.shards.indices {
            node.disk.state.shards[shard].indexKeys = [:]
        }
        #expect(invariant { try world.checkViews(at: node) } == .index)
    }

    @Test func `I7 an edit that was accepted and is not in its document`() throws {
        let world = try endedWorld()
        let (_, document) = try message(in: world)
        let first = try #require(world.ledger.entries(of: document.key).first)
        let edit = Ledger.Entry(
            dot: first.dot, shard: 99, node: 0,
            mutation: Mutation(
                EditMessage(text: "lost"), of: try #require(MessageID(document.key.id)),
                in: try #require(first.mutation.conversation), by: first.mutation.user),
            operation: authorship(Dot(replica: ReplicaID(high: 9, low: 9), seq: 9), at: 12).stamp,
            past: first.past, stamp: first.stamp, base: document.message?.header.sent,
            bytes: .zero)
        try world.ledger.add(edit)
        #expect(
            invariant { try Model(of: document, in: world.ledger).check(document) } == .judgedOnce)
    }

    /// Sends a mutation to the first node until a reply waits for it, and returns that request.
    private func asked(_ mutation: Mutation, in world: World) throws -> Request {
        let count = world.requests.count
        for _ in 0..<50 where world.requests.count == count {
            try world.submit(mutation, .local, 0, at: 0, isFresh: false)
        }
        return try #require(world.requests.dropFirst(count).first)
    }

    @Test func `I1 a mark in an empty conversation acknowledges nothing of its user's own`() throws
    {
        let world = try endedWorld()
        let room = ConversationID(checked: "empty")
        let ann = UserID(checked: "ann")
        let create = Mutation(
            CreateConversation(participants: [ann], title: "room"), in: room, by: ann)
        _ = try asked(create, in: world)
        // Of the conversation, and of nothing else, the reply to the mark says that it is stored.
        let mark = Mutation(MarkRead(nil), in: room, by: ann)
        guard case .write(let context, let key, _) = try asked(mark, in: world).kind else {
            throw Violation(invariant: .oneChange, explanation: "a mark is a write")
        }
        #expect(!context.isEmpty)
        #expect(key == .conversation(room))
    }

    @Test func `I9 what travels while all should be silent`() {
        var phase = QuietPhase()
        phase.recordFrame(.hashes([]))
        phase.enter(.silent, now: 0)
        phase.recordFrame(.summary(Frame.Summary(hash: 1, unready: [])))
        #expect(phase.noise.isEmpty)
        phase.recordFrame(.hashes([]))
        #expect(phase.noise == ["hashes"])
    }

    @Test func `the model knows a lost header, a lost edit and a restore`() throws {
        let id = MessageID(checked: "m")
        var ledger = Ledger()
        let send = try entry(
            1, .message(id, SendMessage(type: .text, item: nil, text: "a")), at: 10)
        let hide = try entry(2, .message(id, HideMessage()), past: [send.dot])
        try ledger.add(send)
        try ledger.add(hide)
        let author = authorship(send.dot, at: 10)
        let sent = send.mutation.applied(to: nil, by: author)
        try Model(of: sent, in: ledger).check(sent)
        let hidden = hide.mutation.applied(to: sent, by: authorship(hide.dot, at: 11))
        try Model(of: hidden, in: ledger).check(hidden)
        let model = Model(of: hidden, in: ledger)
        #expect(model.hiddenBy == [UserID(checked: "ann")])
        #expect(Model(of: sent, in: ledger).hiddenBy.isEmpty)
        #expect(invariant { try model.check(sent) } == .deleted)
    }
}
