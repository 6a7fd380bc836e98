import Membership
import Wire

/// A seeded world of membership alone: machines, connections and their faults.
///
/// The seed determines every decision. A run is a sequence of episodes, each with faults, a heal
/// and checks (`MembersEpisodes.swift`).
final class MembersWorld {
    let seed: UInt64
    var random: SeededRandom
    var queue = EventQueue<(slot: Int, event: MembersEvent)>()
    /// Microseconds since the run began.
    var time: UInt64 = 0
    var nodes: [MembersNode] = []
    /// The slot of the machine at each address.
    var addresses: [String: Int] = [:]
    let evictAfter: UInt64?
    /// Whether delays are up to 50 ms one way instead of 5 ms.
    let isSlow: Bool

    var links: [MembersConnection] = []
    var attempts: [MembersAttempt] = []
    /// The cut directions, as pairs of slots.
    var cuts: Set<[Int]> = []

    /// The members that others may consider dead without a violation.
    var mayDie: Set<NodeName> = []
    var hasTwins = false
    var violation: Violation?

    var gossipBytes: UInt64 = 0
    var coverage = Coverage()
    var trace: UInt64 = 0
    var events: UInt64 = 0
    var caughtUpInMax: UInt64 = 0
    private let tracer: ((String) -> Void)?

    /// The bytes around gossip in a frame: its envelope and a version byte.
    static let frameOverhead = UInt64(Envelope.headBytes) + 1

    init(seed: UInt64, tracer: ((String) -> Void)?) {
        self.seed = seed
        self.tracer = tracer
        random = SeededRandom(seed: seed, stream: 77)
        evictAfter = random.pick([nil, 10_000, 30_000, 600_000])
        isSlow = random.chance(percent: 20)
    }

    /// Milliseconds since the run began, the unit of `Membership`.
    var now: UInt64 { time / 1_000 }

    func trace(_ text: @autoclosure () -> String) {
        let line = "\(time) \(text())"
        trace = checksum(of: line, seed: trace)
        tracer?(line)
    }

    // MARK: Time

    func run(milliseconds: UInt64) throws(Violation) {
        let end = time + milliseconds * 1_000
        // Inserts a sentinel event at which the run stops.
        queue.push((-1, .tick(generation: 0)), at: end)
        while let (at, (slot, event)) = queue.pop() {
            time = max(time, at)
            if slot < 0 {
                if at == end { return }
                continue
            }
            events += 1
            deliver(event, to: nodes[slot])
            if let violation { throw violation }
        }
    }

    func push(_ event: MembersEvent, to slot: Int, after microseconds: UInt64) {
        queue.push((slot, event), at: time + microseconds)
    }

    private func deliver(_ event: MembersEvent, to node: MembersNode) {
        if node.isPaused, node.isRunning {
            node.inbox.append(event)
        } else {
            handle(event, at: node)
        }
    }

    func handle(_ event: MembersEvent, at node: MembersNode) {
        switch event {
        case .tick(let generation):
            guard generation == node.generation, node.isRunning else { return }
            push(event, to: node.slot, after: 99_000 + random.between(0...2_000))
            tick(node)
        case .beat(let generation):
            guard generation == node.generation, node.isRunning else { return }
            push(event, to: node.slot, after: 500_000)
            for peer in node.ends.keys.sorted() { send(.beat, from: node, to: peer) }
        case .dialled(let from, let attempt): onDialled(node, from: from, attempt: attempt)
        case .accepted(let by, let attempt, let link):
            onAccepted(node, by: by, attempt: attempt, link: link)
        case .refused(let by, let attempt): onRefused(node, by: by, attempt: attempt)
        case .frame(let from, let link, let frame): onFrame(node, from: from, link: link, frame)
        case .closed(let from, let link): onClosed(node, from: from, link: link)
        }
    }

    private func tick(_ node: MembersNode) {
        if now - node.lastTickAt > 200 {
            for slot in node.ends.keys { node.ends[slot]?.heardAt = now }
        }
        noteHearing(of: node)
        node.lastTickAt = now
        let before = node.core?.table
        call(node) { $0.onTick(now: now) }
        checkEvictions(by: node, since: before)
        giveUpSilentLinks(of: node)
        dial(from: node)
    }

    // MARK: Processes

    func add(_ name: NodeName) -> MembersNode {
        let node = MembersNode(slot: nodes.count, name: name)
        addresses["host:\(node.slot)"] = node.slot
        nodes.append(node)
        return node
    }

    /// - Parameter table: the member table on its disk; nil for an empty folder.
    func start(_ node: MembersNode, table: MemberTable?, contact: Int?, isClockBack: Bool = false) {
        node.generation += 1
        let process = RandomID(from: &random)
        let wall = 1_700_000_000_000 + now
        let member = Member(
            name: node.name, process: process, gossip: "host:\(node.slot)",
            admin: "host:\(10_000 + node.slot)", incarnation: isClockBack ? 1 : wall)
        node.core = Membership(
            me: member, table: table ?? MemberTable(), evictAfterMilliseconds: evictAfter,
            seed: random.next(), now: now)
        node.contact = contact
        node.lastTickAt = now
        node.lastIncarnation = 0
        node.ends = [:]
        node.dials = [:]
        node.restartsSeen = [:]
        node.hasSeenTwin = false
        node.hasLeft = false
        node.majoritySince = nil
        node.minoritySince = nil
        trace("start \(node.name) at \(node.slot)\(table == nil ? " without a table" : "")")
        push(.tick(generation: node.generation), to: node.slot, after: random.between(0...100_000))
        push(.beat(generation: node.generation), to: node.slot, after: random.between(0...500_000))
    }

    /// Kills a process as `kill -9` does; its connections are reset where no cut prevents it.
    func kill(_ node: MembersNode) {
        trace("kill \(node.name) at \(node.slot)")
        node.savedTable = node.core?.table
        for (peer, end) in node.ends.sorted(by: { $0.key < $1.key }) {
            close(end.link, from: node.slot, to: peer)
        }
        node.core = nil
        node.isPaused = false
        node.inbox = []
        node.ends = [:]
        node.dials = [:]
    }

    func pause(_ node: MembersNode) {
        trace("pause \(node.name)")
        node.isPaused = true
    }

    func resume(_ node: MembersNode) {
        guard node.isPaused else { return }
        trace("resume \(node.name)")
        node.isPaused = false
        let inbox = node.inbox
        node.inbox = []
        // A real event loop may run its timers first or read its sockets first.
        let isTimersFirst = random.chance(percent: 50)
        for isTimer in [isTimersFirst, !isTimersFirst] {
            for event in inbox where MembersWorld.isTimer(event) == isTimer {
                handle(event, at: node)
            }
        }
    }

    private static func isTimer(_ event: MembersEvent) -> Bool {
        switch event {
        case .tick, .beat: true
        default: false
        }
    }

    // MARK: The core

    /// Calls a node's membership, sends its outbox and checks its state and events.
    @discardableResult
    func call<Result>(_ node: MembersNode, _ body: (inout Membership) -> Result) -> Result? {
        guard var core = node.core else { return nil }
        node.core = nil
        let result = body(&core)
        let outbox = core.takeOutbox()
        let happened = core.takeEvents()
        node.core = core
        check(node, core, outbox: outbox.count)
        for event in happened { look(at: event, of: node) }
        if !outbox.isEmpty { send(outbox, from: node) }
        return result
    }

    private func send(_ outbox: [(to: NodeName, gossip: Gossip)], from node: MembersNode) {
        var slots: [NodeName: Int] = [:]
        for (slot, end) in node.ends.sorted(by: { $0.key < $1.key }) {
            if let name = end.name { slots[name] = slot }
        }
        for (name, gossip) in outbox {
            guard let slot = slots[name] else { continue }
            count(gossip)
            send(.gossip(gossip), from: node, to: slot)
        }
    }

    /// Encodes and decodes a gossip message, in worlds of up to 16 machines, and counts its bytes.
    private func count(_ gossip: Gossip) {
        guard nodes.count <= 16 else { return }
        let bytes = gossip.encoded
        gossipBytes += UInt64(bytes.count) + MembersWorld.frameOverhead
        do throws(WireError) {
            if try Gossip.decode(bytes) != gossip { fail(.gossipBounds, "\(gossip) changed") }
        } catch {
            fail(.gossipBounds, "\(gossip) cannot be read: \(error)")
        }
    }

    func fail(_ invariant: Invariant, _ explanation: String) {
        guard violation == nil else { return }
        violation = Violation(invariant: invariant, explanation: "at \(now) ms: " + explanation)
    }
}
