import CRDT
import Chat
import Membership
import Placement
import Replication
import StorePort
import Testing
import Wire

@testable import Node

/// An end of a connection in memory.
final class FakeChannel: Channel {
    let id: UInt64
    let owner: String
    /// Frames that were sent to this end and have not arrived.
    nonisolated(unsafe) var inbox: [[UInt8]] = []
    nonisolated(unsafe) var isClosed = false
    nonisolated(unsafe) var isEndTold = false
    nonisolated(unsafe) var isPaused = false
    /// Whether nothing leaves this end, not even its closing: a cut in this direction.
    nonisolated(unsafe) var isCut = false
    nonisolated(unsafe) var queuedBytes = 0
    nonisolated(unsafe) weak var other: FakeChannel?
    /// Changes the bytes that are sent.
    nonisolated(unsafe) var encoder: (([UInt8]) -> [UInt8])?

    init(_ id: UInt64, of owner: String) {
        self.id = id
        self.owner = owner
    }

    func send(_ bytes: [UInt8]) {
        guard !isClosed, !isCut else { return }
        other?.inbox.append(encoder?(bytes) ?? bytes)
    }

    func setPaused(_ isPaused: Bool) { self.isPaused = isPaused }

    func close() {
        guard !isClosed else { return }
        isClosed = true
    }
}

/// A node on fake ports.
final class WorldNode: Sendable {
    let name: String
    let store: MemoryStore
    let host = FakeHost()
    let sink = RecordingSink()
    let clock: WrongClock
    let node: Node

    init(
        _ name: String, join: [String] = [], store: MemoryStore = MemoryStore(),
        clock: FakeClock, seed: UInt64, shards: UInt16? = nil, cluster: String? = nil,
        replicas: Replicas? = .all,
        evictAfterMilliseconds: UInt64? = NodeOptions.evictAfterMillisecondsDefault,
        mayBlock: Bool = false, address: String? = nil, isBootstrapping: Bool = false,
        acceptsDataLoss: Bool = false, versions: PeerVersions = .current,
        restRangesMax: Int = VectorBase.restRangesMax, peerLimits: PeerLimits = .standard
    ) {
        self.name = name
        self.store = store
        self.clock = WrongClock(clock)
        let options = NodeOptions(
            name: NodeName(checked: name), gossip: address ?? name, admin: "admin-" + name,
            join: join, isBootstrapping: isBootstrapping,
            cluster: cluster.map(ClusterName.init(checked:)), shards: shards, replicas: replicas,
            ackLevel: .majority, editWindowMilliseconds: 900_000,
            evictAfterMilliseconds: evictAfterMilliseconds, mayBlock: mayBlock,
            acceptsDataLoss: acceptsDataLoss, peerLimits: peerLimits, versions: versions,
            restRangesMax: restRangesMax,
            pages: PageAddresses(chat: "https://" + name, cluster: "https://ops." + name))
        let ports = NodePorts(
            executor: InlineExecutor(), store: store, entropy: SeededEntropy(seed: seed),
            clock: self.clock, host: host)
        node = Node(options, ports: ports)
        run { [sink] in $0.attach(sink, as: 1) }
    }

    func run<Value: Sendable>(_ body: @Sendable (isolated Node) -> Value) -> Value {
        node.assumeIsolated { body($0) }
    }

    /// - Parameters:
    ///   - damaged: the shards whose headers cannot be read.
    ///   - isBaseDamaged: whether the bases of headers cannot be read.
    ///   - loss: a description of the acknowledged writes that the disk has lost.
    func start(damaged: [ShardID] = [], isBaseDamaged: Bool = false, loss: String? = nil) {
        let bases = isBaseDamaged ? [:] : store.bases
        let headers = store.headers.mapValues { header in
            let bytes = header.encoded
            return store.headerTail.isEmpty ? bytes : [2] + bytes.dropFirst() + store.headerTail
        }.filter { !damaged.contains($0.key) }
        let settings = store.settings
        run {
            $0.start(
                settings: settings, headers: headers, bases: bases, damaged: damaged, loss: loss)
        }
    }

    /// Submits a mutation, whose reply is number `number`; false where the node does not take it.
    func submit(_ mutation: Mutation, number: UInt64, level: AckLevel = .local) -> Bool {
        run { node in
            guard let shard = node.shardID(of: mutation.partition).flatMap({ node.shard($0) })
            else { return false }
            let slot = ReplySlot(session: 1, number: number)
            let operation = Operation(mutation, node.nextOperation())
            let result = node.within(shard) {
                $0.submit(operation, for: slot, level: level)
            }
            if case .success = result { return true }
            return false
        }
    }

    /// Handles a mutation as that of a client; a result known at once is among the sink's outcomes
    /// too.
    func handle(
        _ mutation: Mutation, number: UInt64, level: AckLevel = .local, isMinted: Bool = false
    ) {
        let slot = ReplySlot(session: 1, number: number)
        note(run { $0.handle(mutation, isMinted: isMinted, level: level, for: slot) }, number)
    }

    func handle(_ query: some Query, of user: String, number: UInt64) {
        let slot = ReplySlot(session: 1, number: number)
        note(run { $0.handle(query, of: UserID(checked: user), for: slot) }, number)
    }

    private func note(_ handling: Reply, _ number: UInt64) {
        guard case .here(let outcome, isSettled: true) = handling else { return }
        sink.onSettled(number, .answered(outcome, nil))
    }

    var living: Int { run { $0.report().living } }
    var digest: String { run { "\($0.report().digest)" } }
    var members: [String] { run { $0.memberReports().map(\.member.name.text) } }
    var isConverged: Bool { run { $0.report().isConverged } }
    var isSafe: Bool { run { $0.report().isSafe } }

    /// The numbers of the shards that this node holds.
    var held: [UInt16] { run { $0.shards.map(\.id.number) } }

    /// The numbers of the shards that this node owns, as it sees the members.
    var owned: [UInt16] {
        run { node in
            node.owners.indices.filter { node.owners[$0].contains(node.me.name) }.map(UInt16.init)
        }
    }

    func owners(of shard: UInt16) -> [String] {
        run { $0.owners[Int(shard)].map(\.text) }
    }

    func state(of name: String) -> MemberState? {
        run { node in
            node.memberReports().first { $0.member.name.text == name }?.state
        }
    }

    func digest(of shard: UInt16) -> String? {
        run { node in
            node.digests().first { $0.shard.number == shard }.map { "\($0.hash)" }
        }
    }

    /// Returns the documents of a shard that are on its disk.
    func stored(of shard: UInt16) -> [DocumentKey: [UInt8]] {
        (store.documents[ShardID(shard)] ?? [:]).mapValues(\.bytes)
    }
}

/// An event that may happen next in a world.
enum Event {
    case arrival(FakeChannel)
    case end(FakeChannel)
    case connection(FakeChannel, dialed: String?)
}

/// Nodes in one thread, and everything on its way between them.
final class NodeWorld {
    let clock = FakeClock()
    private(set) var nodes: [String: WorldNode] = [:]
    private(set) var channels: [FakeChannel] = []
    private var connections: [(channel: FakeChannel, dialed: String?)] = []
    private var seed: UInt64 = 1
    /// Whether commits are stored as soon as they are handed over.
    var storesAtOnce = true
    /// Addresses at which nobody answers.
    var unreachable: Set<String> = []
    /// Other spellings of addresses.
    var aliases: [String: String] = [:]
    /// The addresses of suspended processes.
    var paused: Set<String> = []
    /// The addresses of nodes whose disks complete nothing.
    var stalled: Set<String> = []
    /// Nodes whose databases another program keeps locked.
    var locked: Set<String> = []
    /// Functions that change the bytes sent by nodes, by address.
    var encoders: [String: ([UInt8]) -> [UInt8]] = [:]

    @discardableResult func add(
        _ name: String, join: [String] = [], store: MemoryStore = MemoryStore(),
        shards: UInt16? = 2, cluster: String? = nil, replicas: Replicas? = .all,
        evictAfterMilliseconds: UInt64? = NodeOptions.evictAfterMillisecondsDefault,
        mayBlock: Bool = false, address: String? = nil, isBootstrapping: Bool = false,
        damaged: [ShardID] = [], versions: PeerVersions = .current, loss: String? = nil,
        acceptsDataLoss: Bool = false, restRangesMax: Int = VectorBase.restRangesMax,
        peerLimits: PeerLimits = .standard, isBaseDamaged: Bool = false
    ) -> WorldNode {
        seed += 1
        let node = WorldNode(
            name, join: join, store: store, clock: clock, seed: seed, shards: shards,
            cluster: cluster, replicas: replicas, evictAfterMilliseconds: evictAfterMilliseconds,
            mayBlock: mayBlock, address: address, isBootstrapping: isBootstrapping,
            acceptsDataLoss: acceptsDataLoss, versions: versions, restRangesMax: restRangesMax,
            peerLimits: peerLimits)
        nodes[address ?? name] = node
        node.start(damaged: damaged, isBaseDamaged: isBaseDamaged, loss: loss)
        return node
    }

    /// Kills the node: commits that were not stored are lost, and its connections end.
    func kill(_ address: String) {
        nodes[address]?.store.crash()
        nodes[address] = nil
        for channel in channels where channel.owner == address {
            channel.isClosed = true
            channel.isEndTold = true
        }
    }

    /// Makes a connection that `from` dialled; both ends learn of it by events.
    func connect(
        from: String, to address: String, dialed: String? = nil
    ) -> (dialer: FakeChannel, acceptor: FakeChannel) {
        let id = UInt64(channels.count)
        let dialer = FakeChannel(id, of: from)
        let acceptor = FakeChannel(id + 1, of: address)
        dialer.other = acceptor
        acceptor.other = dialer
        (dialer.encoder, acceptor.encoder) = (encoders[from], encoders[address])
        channels += [dialer, acceptor]
        connections += [(dialer, dialed ?? address), (acceptor, nil)]
        return (dialer, acceptor)
    }

    /// All events that can happen next.
    var events: [Event] {
        var events = connections.filter { !paused.contains($0.channel.owner) }
            .map { Event.connection($0.channel, dialed: $0.dialed) }
        let unopened = Set(connections.map(\.channel.id))
        for channel in channels where !unopened.contains(channel.id) && !channel.isEndTold {
            guard !paused.contains(channel.owner) else { continue }
            if channel.isClosed {
                events.append(.end(channel))
            } else if !channel.inbox.isEmpty, !channel.isPaused {
                events.append(.arrival(channel))
            } else if !channel.isPaused, let other = channel.other, other.isClosed, !other.isCut {
                events.append(.end(channel))
            }
        }
        return events
    }

    func happen(_ event: Event) {
        switch event {
        case .connection(let channel, let dialed):
            connections.removeAll { $0.channel === channel }
            with(channel) { $0.onChannel(channel, dialed: dialed) }
        case .arrival(let channel):
            let bytes = channel.inbox.removeFirst()
            receive(bytes, on: channel)
        case .end(let channel):
            channel.isClosed = true
            channel.isEndTold = true
            with(channel) { $0.onClosed(channel.id) }
        }
    }

    func receive(_ bytes: [UInt8], on channel: FakeChannel) {
        bytes.withUnsafeBytes { buffer in
            nonisolated(unsafe) let buffer = buffer
            with(channel) { $0.onBytes(buffer, on: channel.id) }
        }
    }

    private func with(_ channel: FakeChannel, _ body: @Sendable (isolated Node) -> Void) {
        guard let node = nodes[channel.owner] else { return }
        node.run(body)
        endTurn(of: node)
    }

    func endTurn(of node: WorldNode) {
        let isStoring = storesAtOnce && !stalled.contains(node.node.options.gossip)
        repeat {
            node.host.wantsTurn = false
            node.run { $0.onTurnEnd() }
            while locked.contains(node.name),
                let commit = node.store.takeFirst()
            {
                node.run { $0.onCommitted(commit.ticket, failure: .locked) }
            }
            while isStoring, let ticket = node.store.completeFirst() {
                node.run { $0.onCommitted(ticket, failure: nil) }
                node.host.wantsTurn = true
            }
        } while node.host.wantsTurn
    }

    /// Lets all events happen in order, while time passes in ticks.
    func run(milliseconds: UInt64) {
        let end = clock.milliseconds + milliseconds
        while clock.milliseconds < end {
            settle()
            clock.pass(Node.tickMilliseconds)
            for (address, node) in nodes.sorted(by: { $0.key < $1.key })
            where !paused.contains(address) {
                node.run { $0.onTick() }
                endTurn(of: node)
            }
        }
        settle()
    }

    func settle() {
        var left = 100_000
        while left > 0 {
            left -= 1
            if let event = events.first {
                happen(event)
            } else if !takeDials() {
                return
            }
        }
        Issue.record("the world does not come to rest")
    }

    private func takeDials() -> Bool {
        var isAny = false
        for (name, node) in nodes.sorted(by: { $0.key < $1.key }) {
            let dialed = node.host.dialed
            node.host.dialed = []
            for address in dialed {
                isAny = true
                let target = aliases[address] ?? address
                if nodes[target] != nil, !unreachable.contains(target) {
                    _ = connect(from: name, to: target, dialed: address)
                } else {
                    node.run { $0.onDialFailed(address, isRefused: true) }
                }
            }
        }
        return isAny
    }
}
