import Node
import Placement
import Replication
import Session
import StorePort
import Wire

/// A node in memory, whose ports are under a test's control.
package final class TestNode {
    package let node: Node
    package let store: MemoryStore
    package let host: FakeHost
    package let address: String
    package let clock: FakeClock
    package let executor: any SerialExecutor
    package let memory: ClientMemory
    private var sessions: UInt64 = 0
    /// The clients that share the node's memory.
    private var sharing: [UInt64: TestClient] = [:]

    package init(
        _ name: String, join: [String], clock: FakeClock, entropy: CountingEntropy,
        on executor: any SerialExecutor, editWindowMilliseconds: UInt64, shards: UInt16 = 4,
        replicas: Replicas? = nil, mayBlock: Bool = false
    ) {
        self.clock = clock
        self.executor = executor
        address = name + ":7101"
        store = MemoryStore(on: executor)
        memory = ClientMemory(executor: executor) { _ in }
        host = FakeHost(on: executor)
        node = Node(
            NodeOptions(
                name: NodeName(checked: name), gossip: address, admin: name + ":7201",
                join: join, cluster: nil, shards: shards, replicas: replicas, ackLevel: .majority,
                editWindowMilliseconds: editWindowMilliseconds, mayBlock: mayBlock),
            ports: NodePorts(
                executor: executor, store: store, entropy: entropy, clock: clock, host: host))
    }

    /// Connects a client.
    ///
    /// - Parameter authPolicy: whether the client has to sign in.
    package func connect(_ authPolicy: AuthPolicy = .none) -> TestClient {
        connect(sharing: nil, authPolicy)
    }

    /// Connects a client that shares memory with all others connected in this way.
    package func connectShared() -> TestClient {
        let client = connect(sharing: memory)
        sharing[client.session.id] = client
        return client
    }

    /// Ends a turn for the clients that share memory.
    package func endTurn() {
        memory.assumeIsolated { $0.endTurn() }
        while let id = memory.assumeIsolated({ $0.takeTurn() }) {
            sharing[id]?.session.assumeIsolated { $0.onTurn() }
        }
        _ = memory.assumeIsolated { $0.openTurn() }
        while let id = memory.assumeIsolated({ $0.takeWaiting() }) {
            sharing[id]?.session.assumeIsolated { $0.onMemoryFreed() }
        }
    }

    /// Makes a tick for the clients that share memory.
    package func disconnectStalledClients() {
        let stalled = memory.assumeIsolated { [clock] in $0.takeStalled(now: clock.milliseconds) }
        for client in stalled.compactMap({ sharing[$0] }) {
            client.session.assumeIsolated { $0.onStalled() }
            guard client.output.assumeIsolated({ $0.isAborted }) else { continue }
            client.session.assumeIsolated { $0.onClosed() }
        }
    }

    private func connect(
        sharing memory: ClientMemory?, _ authPolicy: AuthPolicy = .none
    ) -> TestClient {
        sessions += 1
        let output = FakeOutput(on: executor)
        let session = Session(
            sessions, node: node, clock: clock, output: output, executor: executor,
            ackLevel: .majority, authPolicy: authPolicy, memory: memory)
        node.assumeIsolated { $0.attach(session, as: session.id) }
        return TestClient(session, output, of: self)
    }

    /// Completes the oldest commit, or fails it, and tells the node.
    package func complete(failing failure: StoreFailure? = nil) {
        guard let result = store.assumeIsolated({ $0.complete(failing: failure) }) else { return }
        node.assumeIsolated { $0.onCommitted(result.ticket, failure: result.failure) }
    }

    /// Reports that each backup that was asked for since the last call has been made.
    package func endBackups() {
        for file in store.assumeIsolated({ $0.takeBackupsAsked() }) {
            node.assumeIsolated { $0.onBackedUp(.success((file: file, bytes: 4_096))) }
        }
    }

    package func turn() { node.assumeIsolated { $0.onTurnEnd() } }

    /// Runs turns, and the disk in between, until nothing is left to do.
    package func settle() {
        for _ in 0..<4 {
            turn()
            while !store.assumeIsolated({ $0.isHeld }),
                store.assumeIsolated({ $0.waitingCount }) > 0
            {
                complete()
            }
        }
    }
}

/// Nodes that share a clock.
package struct World {
    package let clock: FakeClock
    package let n1: TestNode
    private let executor: any SerialExecutor
    private let entropy: CountingEntropy
    private let cables: NetworkPartitioner
    private let mayBlock: Bool

    /// - Parameters:
    ///   - replicas: the number of owners of a shard.
    ///   - mayBlock: whether the nodes were started with `--faults`.
    ///   - executor: where all actors of the nodes run.
    package init(
        editWindowMilliseconds: UInt64 = 900_000, replicas: Replicas = .all, mayBlock: Bool = false,
        on executor: any SerialExecutor = InlineExecutor()
    ) {
        self.executor = executor
        self.mayBlock = mayBlock
        clock = FakeClock(on: executor)
        entropy = CountingEntropy(on: executor)
        cables = NetworkPartitioner(on: executor)
        n1 = TestNode(
            "n1", join: [], clock: clock, entropy: entropy, on: executor,
            editWindowMilliseconds: editWindowMilliseconds, replicas: replicas,
            mayBlock: mayBlock)
        n1.node.assumeIsolated { $0.start(settings: [:], headers: [:]) }
        n1.settle()
    }

    /// Adds a node, which joins and is in sync.
    ///
    /// - Parameter others: the nodes that it dials beside the first one, at the same time.
    package func join(_ name: String, shards: UInt16 = 4, dialing others: TestNode...) -> TestNode {
        join(name, shards: shards, dialing: others)
    }

    package func join(
        _ name: String, shards: UInt16 = 4, dialing others: [TestNode]
    ) -> TestNode {
        let joined = start(name, shards: shards)
        for other in [n1] + others { cables.connect(joined, to: other) }
        settle([n1, joined] + others)
        return joined
    }

    /// Adds two nodes, and lets time pass until all three know each other.
    ///
    /// - Returns: the three nodes.
    package func joinTwo() -> [TestNode] {
        let second = join("n2")
        let nodes = [n1, second, join("n3", dialing: second)]
        live(milliseconds: 2_000, nodes[0], nodes[1], nodes[2])
        return nodes
    }

    /// Starts a node that is to join and reaches nobody.
    package func start(_ name: String, shards: UInt16 = 4) -> TestNode {
        let started = TestNode(
            name, join: [n1.address], clock: clock, entropy: entropy, on: executor,
            editWindowMilliseconds: 900_000, shards: shards, mayBlock: mayBlock)
        started.node.assumeIsolated { $0.start(settings: [:], headers: [:]) }
        return started
    }

    /// Connects a node to the first one again.
    package func connect(_ node: TestNode) {
        cables.connect(node, to: n1)
        settle(n1, node)
    }

    /// Delivers frames between these nodes until they have nothing more to send.
    package func settle(_ nodes: TestNode...) { settle(nodes) }

    /// - Parameter rounds: how often frames are delivered.
    package func settle(_ nodes: [TestNode], rounds: Int = 30) {
        for _ in 0..<rounds {
            for node in nodes { node.settle() }
            cables.carry()
        }
    }

    /// Cuts a node off: nothing reaches it or comes from it, as if it had disappeared.
    package func cut(_ node: TestNode) { cables.cut(node) }

    /// Ends what `cut` did to a node.
    package func mend(_ node: TestNode) { cables.mend(node) }

    /// Connects a node that was cut off to the others again.
    package func rejoin(_ node: TestNode, to others: [TestNode]) {
        cables.mend(node)
        for other in others where other !== node {
            cables.disconnect(node, from: other)
            cables.connect(node, to: other)
        }
    }

    /// Holds frames between two nodes back, or delivers them.
    package func hold(_ isHeld: Bool, between one: TestNode, and other: TestNode) {
        cables.hold(isHeld, between: one, and: other)
    }

    /// Ends the connection of two nodes, with everything on its way: they dial each other again.
    package func disconnect(_ one: TestNode, from other: TestNode) {
        cables.disconnect(one, from: other)
    }

    /// Lets time pass for these nodes, which exchange frames and connect to the nodes that they
    /// dial.
    package func live(milliseconds: UInt64, _ nodes: TestNode...) {
        let step: UInt64 = 500
        for _ in 0..<(milliseconds / step) {
            pass(milliseconds: step, nodes)
            for node in nodes {
                let dialed = node.host.assumeIsolated { $0.takeDialed() }
                for other in nodes where dialed.contains(other.address) {
                    cables.connect(node, to: other)
                }
            }
            settle(nodes)
        }
    }

    /// Lets time pass for these nodes, a tick at a time.
    package func pass(milliseconds: UInt64, _ nodes: TestNode...) {
        pass(milliseconds: milliseconds, nodes)
    }

    private func pass(milliseconds: UInt64, _ nodes: [TestNode]) {
        for _ in 0..<(milliseconds / Node.tickMilliseconds) {
            clock.advance(milliseconds: Node.tickMilliseconds)
            for node in nodes {
                node.node.assumeIsolated { $0.onTick() }
                node.settle()
            }
        }
    }
}

/// The connections between nodes.
package final class NetworkPartitioner {
    private let executor: any SerialExecutor
    private var ways: [(from: CableEnd, to: CableEnd, of: TestNode)] = []
    private var last: UInt64 = 0
    private var severed: [ObjectIdentifier] = []
    private var held: Set<Set<ObjectIdentifier>> = []

    package init(on executor: any SerialExecutor) { self.executor = executor }

    /// Cuts a node off, and drops everything on its way.
    package func cut(_ node: TestNode) {
        severed.append(ObjectIdentifier(node))
        for (index, way) in ways.enumerated() where way.of === node {
            // The two ends of a connection are neighbours.
            let other = index % 2 == 0 ? index + 1 : index - 1
            _ = way.from.assumeIsolated { $0.take() }
            _ = ways[other].from.assumeIsolated { $0.take() }
        }
    }

    /// Ends what `cut` did to a node.
    package func mend(_ node: TestNode) { severed.removeAll { $0 == ObjectIdentifier(node) } }

    package func hold(_ isHeld: Bool, between one: TestNode, and other: TestNode) {
        let pair: Set = [ObjectIdentifier(one), ObjectIdentifier(other)]
        if isHeld { held.insert(pair) } else { held.remove(pair) }
    }

    package func disconnect(_ one: TestNode, from other: TestNode) {
        let pair: Set = [ObjectIdentifier(one), ObjectIdentifier(other)]
        for index in ways.indices where ends(of: index) == pair {
            let (from, to, node) = ways[index]
            _ = from.assumeIsolated { $0.take() }
            node.node.assumeIsolated { $0.onClosed(to.id) }
        }
        held.remove(pair)
    }

    private func ends(of index: Int) -> Set<ObjectIdentifier> {
        // The two ends of a connection are neighbours.
        let other = index % 2 == 0 ? index + 1 : index - 1
        return [ObjectIdentifier(ways[index].of), ObjectIdentifier(ways[other].of)]
    }

    private func isStill(_ index: Int) -> Bool {
        let ends = ends(of: index)
        return !ends.isDisjoint(with: severed) || held.contains(ends)
    }

    package func connect(_ dialer: TestNode, to other: TestNode) {
        let near = CableEnd(last + 1, on: executor)
        let far = CableEnd(last + 2, on: executor)
        last += 2
        ways.append((near, far, other))
        ways.append((far, near, dialer))
        other.node.assumeIsolated { $0.onChannel(far, dialed: nil) }
        dialer.node.assumeIsolated { [address = other.address] in
            $0.onChannel(near, dialed: address)
        }
    }

    package func carry() {
        for (index, way) in ways.enumerated()
        where !way.to.assumeIsolated({ $0.isPaused }) && !isStill(index) {
            let (from, to, node) = way
            let bytes = from.assumeIsolated { $0.take() }
            guard !bytes.isEmpty else { continue }
            bytes.withUnsafeBytes { bytes in
                nonisolated(unsafe) let bytes = bytes
                node.node.assumeIsolated { $0.onBytes(bytes, on: to.id) }
            }
        }
    }
}

/// An end of a connection, where sent bytes wait.
package actor CableEnd: Channel {
    package nonisolated let id: UInt64
    private let executor: any SerialExecutor
    private var bytes: [UInt8] = []
    /// Whether bytes for this end stay on their way.
    package private(set) var isPaused = false

    package init(_ id: UInt64, on executor: any SerialExecutor) {
        self.id = id
        self.executor = executor
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    package nonisolated func send(_ bytes: [UInt8]) { assumeIsolated { $0.bytes += bytes } }

    package nonisolated var queuedBytes: Int { 0 }

    package nonisolated func setPaused(_ isPaused: Bool) {
        assumeIsolated { $0.isPaused = isPaused }
    }

    package nonisolated func close() {}

    package func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }
}
