import Node
import Replication
import Session
import Wire

/// One node in memory, with everything that surrounds it in a test's hands.
final class TestNode {
    let node: Node
    let store: MemoryStore
    let host: FakeHost
    let address: String
    let clock: FakeClock
    let executor: InlineExecutor
    private var sessions: UInt64 = 0

    init(
        _ name: String, join: [String], clock: FakeClock, entropy: CountingEntropy,
        on executor: InlineExecutor, editWindowMilliseconds: UInt64, shards: UInt16 = 4
    ) {
        self.clock = clock
        self.executor = executor
        address = name + ":7101"
        store = MemoryStore(on: executor)
        host = FakeHost(on: executor)
        node = Node(
            NodeOptions(
                name: NodeName(checked: name), gossip: address, admin: name + ":7201",
                join: join, cluster: nil, shards: shards, ackLevel: .majority,
                editWindowMilliseconds: editWindowMilliseconds),
            ports: NodePorts(
                executor: executor, store: store, entropy: entropy, clock: clock, host: host))
    }

    /// A client that connects.
    func connect() -> TestClient {
        sessions += 1
        let output = FakeOutput(on: executor)
        let session = Session(
            sessions, node: node, clock: clock, output: output, executor: executor,
            ackLevel: .majority)
        node.assumeIsolated { $0.attach(session, as: session.id) }
        return TestClient(session, output, of: self)
    }

    /// Has the oldest commit done, or fail, and tells the node.
    func complete(failing failure: StoreFailure? = nil) {
        guard let result = store.assumeIsolated({ $0.complete(failing: failure) }) else { return }
        node.assumeIsolated { $0.onCommitted(result.ticket, failure: result.failure) }
    }

    func turn() { node.assumeIsolated { $0.onTurnEnd() } }

    /// Turns, and what the disk does in between, until nothing is left to do.
    func settle() {
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
struct World {
    let clock: FakeClock
    let n1: TestNode
    private let executor = InlineExecutor()
    private let entropy: CountingEntropy
    private let cables: Cables

    init(editWindowMilliseconds: UInt64 = 900_000) {
        clock = FakeClock(on: executor)
        entropy = CountingEntropy(on: executor)
        cables = Cables(on: executor)
        n1 = TestNode(
            "n1", join: [], clock: clock, entropy: entropy, on: executor,
            editWindowMilliseconds: editWindowMilliseconds)
        n1.node.assumeIsolated { $0.start(settings: [:], headers: [:]) }
        n1.settle()
    }

    /// Another node, which joined and is level.
    ///
    /// - Parameter others: whom it dials beside the first one, at the same time.
    func join(_ name: String, shards: UInt16 = 4, dialing others: TestNode...) -> TestNode {
        let joined = TestNode(
            name, join: [n1.address], clock: clock, entropy: entropy, on: executor,
            editWindowMilliseconds: 900_000, shards: shards)
        joined.node.assumeIsolated { $0.start(settings: [:], headers: [:]) }
        for other in [n1] + others { cables.connect(joined, to: other) }
        settle([n1, joined] + others)
        return joined
    }

    /// Has a node reach the first one again.
    func connect(_ node: TestNode) {
        cables.connect(node, to: n1)
        settle(n1, node)
    }

    /// Has these nodes talk until they have nothing more to say.
    func settle(_ nodes: TestNode...) { settle(nodes) }

    private func settle(_ nodes: [TestNode]) {
        for _ in 0..<30 {
            for node in nodes { node.settle() }
            cables.carry()
        }
    }

    /// Lets time pass for these nodes, a tick at a time.
    func pass(milliseconds: UInt64, _ nodes: TestNode...) {
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
final class Cables {
    private let executor: InlineExecutor
    private var ends: [(end: CableEnd, to: TestNode, as: UInt64)] = []
    private var last: UInt64 = 0

    init(on executor: InlineExecutor) { self.executor = executor }

    func connect(_ dialer: TestNode, to other: TestNode) {
        let near = CableEnd(last + 1, on: executor)
        let far = CableEnd(last + 2, on: executor)
        last += 2
        ends.append((near, other, far.id))
        ends.append((far, dialer, near.id))
        other.node.assumeIsolated { $0.onChannel(far, dialed: nil) }
        dialer.node.assumeIsolated { [address = other.address] in
            $0.onChannel(near, dialed: address)
        }
    }

    func carry() {
        for (end, node, id) in ends {
            let bytes = end.assumeIsolated { $0.take() }
            guard !bytes.isEmpty else { continue }
            bytes.withUnsafeBytes { bytes in
                nonisolated(unsafe) let bytes = bytes
                node.node.assumeIsolated { $0.onBytes(bytes, on: id) }
            }
        }
    }
}

/// One side's end of a connection: what was sent waits here.
actor CableEnd: Channel {
    nonisolated let id: UInt64
    private let executor: InlineExecutor
    private var bytes: [UInt8] = []

    init(_ id: UInt64, on executor: InlineExecutor) {
        self.id = id
        self.executor = executor
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    nonisolated func send(_ bytes: [UInt8]) { assumeIsolated { $0.bytes += bytes } }

    nonisolated var queuedBytes: Int { 0 }

    nonisolated func setPaused(_ isPaused: Bool) {}

    nonisolated func close() {}

    func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }
}
