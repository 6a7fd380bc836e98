import CRDT
import Chat
import Node
import Replication
import Wire

/// A seeded world of shard machines: network, disks, clocks, clients and faults.
///
/// The world owns the only event queue; everything that happens is an event with a time. The nodes'
/// decisions are made by the product's own `ShardMachine`s; the code around them is as thin as
/// possible.
final class World {
    enum Event {
        case fault(Int)
        case end(Fault)
        case tick(Shell.Address)
        case turn(Shell.Address)
        case connected(connection: Int, end: Int)
        case arrived(connection: Int, end: Int, bytes: [UInt8])
        case closed(connection: Int, end: Int)
        case diskDone(node: Int, epoch: Int)
        case diskReported(Shell.Address, ticket: UInt64, isFailed: Bool)
        case session(Int, turn: Int)
        case start(node: Int)
        /// A node learns that a member's membership has changed, and how often it has changed by
        /// then.
        case learn(node: Int, member: Int, change: Int)
        case phase
    }

    let plan: Plan
    let tracer: ((String) -> Void)?
    /// Microseconds since the run began.
    var now: UInt64 = 0
    var queue = EventQueue<Event>()
    var events: UInt64 = 0
    /// A hash over all events in order; equal for two runs of one plan.
    var trace: UInt64 = 0

    var nodes: [SimNode] = []
    let names: [NodeName]
    var connections: [Connection] = []
    var conditions: NetworkConditions
    /// Per node, how often it joined or left; an even number means that it is a member.
    var ring: [Int]
    var netRandom: SeededRandom
    var diskRandom: SeededRandom
    var workRandom: SeededRandom
    var accountRandom: SeededRandom
    var fileRandom: SeededRandom
    var blockRandom: SeededRandom
    var deviceRandom: SeededRandom

    var clients: Clients
    /// The devices of the clients that number their operations, by session.
    var devices: [Int: DeviceClient] = [:]
    var requests: [Request] = []
    /// Requests that are still under way although nobody waits for their replies any more.
    var late: [Forward] = []
    var ledger = Ledger()
    /// The documents that were already checked against the model, by the hash of key and bytes.
    var checked: Set<Hash128> = []
    var coverage = Coverage()
    var quiet = QuietPhase()

    init(_ plan: Plan, tracer: ((String) -> Void)?) {
        self.plan = plan
        self.tracer = tracer
        netRandom = SeededRandom(seed: plan.seed, stream: 2)
        diskRandom = SeededRandom(seed: plan.seed, stream: 3)
        workRandom = SeededRandom(seed: plan.seed, stream: 4)
        accountRandom = SeededRandom(seed: plan.seed, stream: 18)
        fileRandom = SeededRandom(seed: plan.seed, stream: 20)
        blockRandom = SeededRandom(seed: plan.seed, stream: 22)
        deviceRandom = SeededRandom(seed: plan.seed, stream: 24)
        conditions = NetworkConditions(nodes: plan.nodes)
        clients = Clients(plan, &workRandom)
        names = (0..<plan.nodes).map { NodeName(checked: "n\($0 + 1)") }
        let batchBytesMax = workRandom.pick([200, 600, 600, 2_000, 64 << 10])
        ring = (0..<plan.nodes).map { plan.joiners.contains($0) ? 1 : 0 }
        for index in 0..<plan.nodes {
            let disk = SimDisk(shards: plan.shards, batchBytesMax: batchBytesMax)
            // The first node founds the cluster. Of the others, some are founders too, and some
            // join.
            let isThere = index == 0 || workRandom.chance(percent: 70)
            if isThere, ring[index] == 0 { disk.found() }
            nodes.append(SimNode(index, disk: disk, shards: plan.shards, ring: ring))
        }
    }

    /// Runs until the quiet phase ends; throws the first violation.
    func run() throws(Violation) {
        for node in nodes where ring[node.index] == 0 {
            push(.start(node: node.index), after: netRandom.between(0...200_000))
        }
        for (index, fault) in plan.faults.enumerated() {
            queue.push(.fault(index), at: fault.at * 1_000)
        }
        for index in clients.sessions.indices { push(.session(index, turn: 0), after: 100_000) }
        push(.phase, after: plan.chaosMilliseconds * 1_000)
        while let (at, event) = queue.pop() {
            if let until = pausedUntil(for: event), until > at {
                queue.push(event, at: until)
                continue
            }
            now = at
            events += 1
            try carryOut(event)
            if quiet.isOver { return }
        }
    }

    /// The time until which the node that receives the event is paused; nil for events of no node.
    private func pausedUntil(for event: Event) -> UInt64? {
        switch event {
        case .tick(let address), .turn(let address), .diskReported(let address, _, _):
            nodes[address.node].pausedUntil
        case .connected(let connection, let end), .arrived(let connection, let end, _),
            .closed(let connection, let end):
            nodes[connections[connection].nodes[end]].pausedUntil
        case .diskDone(let node, _): nodes[node].pausedUntil
        case .session(let index, _): nodes[clients.sessions[index].node].pausedUntil
        case .learn(let node, _, _): nodes[node].pausedUntil
        case .fault, .end, .start, .phase: nil
        }
    }

    private func carryOut(_ event: Event) throws(Violation) {
        switch event {
        case .fault(let index): try onFault(plan.faults[index])
        case .end(let fault): onEnd(of: fault)
        case .tick(let address): try onTick(address)
        case .turn(let address): try onTurn(address)
        case .connected(let connection, let end): onConnected(connection, end)
        case .arrived(let connection, let end, let bytes): try onArrived(connection, end, bytes)
        case .closed(let connection, let end): onClosed(connection, end)
        case .diskDone(let node, let epoch): try onDiskDone(nodes[node], epoch)
        case .diskReported(let address, let ticket, let isFailed):
            try onDiskReported(address, ticket, isFailed: isFailed)
        case .session(let index, let turn): try onSession(index, turn)
        case .start(let node): start(nodes[node])
        case .learn(let node, let member, let change): learn(nodes[node], of: member, change)
        case .phase: try onPhase()
        }
    }

    func push(_ event: Event, after microseconds: UInt64) {
        queue.push(event, at: now + microseconds)
    }

    /// Returns the shell at an address; nil if that process is gone.
    func shell(_ address: Shell.Address) -> Shell? {
        guard let shell = nodes[address.node].shell, shell.address == address else { return nil }
        return shell
    }

    /// Milliseconds since the run began: the time that the machines are given.
    var milliseconds: UInt64 { now / 1_000 }

    func wall(of node: SimNode) -> WallTime {
        WallTime(milliseconds: node.wall.milliseconds(now: now))
    }

    /// Returns the surroundings that a node's machines are given: time, rules, entropy, disk.
    func world(of node: SimNode, _ shell: Shell) -> ShardWorld {
        node.wall.noteGiven(now: now)
        let judge = Judge(wall(of: node), 900_000)
        return ShardWorld(
            milliseconds: milliseconds, judge: judge, entropy: shell.entropy, reader: node.disk)
    }

    /// Adds an event to the trace hash, and sends its description to the tracer.
    func trace(_ kind: UInt64, _ detail: UInt64 = 0, _ words: @autoclosure () -> String) {
        for number in [now, kind, detail] {
            trace = (trace ^ number) &* 0x9E37_79B9_7F4A_7C15
            trace ^= trace >> 29
        }
        if let tracer {
            tracer("\(now / 1_000).\(String(1_000 + now % 1_000).dropFirst()) \(words())")
        }
    }
}
