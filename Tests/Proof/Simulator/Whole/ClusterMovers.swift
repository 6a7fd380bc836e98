import Placement
import Wire

/// The progress of one machine's move.
final class ClusterMover {
    enum Step {
        case notYet
        /// The machine received `LEAVE` as this process.
        case leaving(process: Int)
        /// The machine was killed, and is about to be forgotten or evicted.
        case dead(since: UInt64)
        /// The machine is no member since that time.
        case out(since: UInt64)
        case over
    }

    let move: ClusterMove
    var step = Step.notYet
    /// The connection on which an operator last sent a line.
    var visit: ClusterVisit?

    init(_ move: ClusterMove) { self.move = move }

    var isOver: Bool {
        if case .over = step { true } else { false }
    }
}

/// The moves of members, by the commands of operators.
extension ClusterWorld {
    /// The interval in which an operator checks a move, in microseconds.
    private static let lookMicroseconds: UInt64 = 200_000
    /// The limit of the time until the others consider a killed node dead, in microseconds: a
    /// half-open connection is given up after 6 s.
    private static let deathMicroseconds: UInt64 = 7_000_000

    /// The time after which a killed node counts as out although no other node confirmed it, in
    /// microseconds.
    private static let vainMicroseconds: UInt64 = 15_000_000

    func go(_ mover: ClusterMover) {
        hasMoved = true
        let (move, machine) = (mover.move, machines[mover.move.node])
        switch mover.step {
        case .notYet: begin(mover, machine)
        case .leaving(let process): continueLeave(mover, machine, process)
        case .dead(let since):
            let isOut = move.kind == .forget ? isForgotten(mover) : isEvicted(since)
            // If no node is left to receive the command, the others may be waiting for this one.
            let isVain = now >= since + ClusterWorld.vainMicroseconds
            if isOut || isVain { mover.step = .out(since: now) }
        case .out(let since):
            if now >= since + move.milliseconds * 1_000 { endMover(mover, machine) }
        case .over: return
        }
        if !mover.isOver { push(.move(move.node), after: ClusterWorld.lookMicroseconds) }
    }

    private func begin(_ mover: ClusterMover, _ machine: ClusterMachine) {
        let move = mover.move
        switch move.kind {
        case .join:
            trace("join", move.node)
            machine.join = members.filter { $0.index != move.node }.map(\.address)
            come(machine)
            coverage.count("move: join")
            mover.step = .over
        case .leave:
            guard let process = machine.process,
                let visit = order("LEAVE", codes: [503], to: move.node)
            else { return }
            machine.isLeaving = true
            mover.visit = visit
            mover.step = .leaving(process: process.id)
        case .forget, .evict:
            trace(move.kind.rawValue, move.node)
            kill(move.node)
            machine.isOut = true
            if move.comesBack != .old, wipe(machine) {
                machine.isGone = move.comesBack == .never
            } else {
                noteGivenUp(machine, besides: members)
            }
            mover.step = .dead(since: now)
        }
    }

    // MARK: Orderly departures

    private func continueLeave(_ mover: ClusterMover, _ machine: ClusterMachine, _ process: Int) {
        if machine.isOut {
            guard machine.process == nil else { return }
            coverage.count("move: leave")
            mover.step = .out(since: now)
            machine.isGone = mover.move.comesBack == .never && !isLastToKnow(machine)
            return
        }
        let isRefused = mover.visit?.answers.first.map { $0.code != nil } ?? false
        guard isRefused || machine.process?.id != process else { return }
        // A process that is killed while it leaves returns as a member; until then, the others know
        // it as one that leaves, and hand nothing over to it.
        guard isRefused || machine.process?.isReady ?? false else { return }
        coverage.count("did not leave")
        machine.isLeaving = false
        mover.step = .over
    }

    /// Records that a process ended by itself, since other nodes hold everything that it held.
    func onHandedOver(_ machine: ClusterMachine) {
        let count = machine.documents.count
        if count > 0 { fail(.placed, "\(machine.name) leaves with \(count) documents") }
        machine.isOut = true
    }

    /// Records that a leaving node drops shard replicas: every owner that it knows has them on
    /// disk, and from now on no other disk need have them, whether the other shards follow or not.
    func noteDrops(by machine: ClusterMachine) {
        let drops = machine.executor.run {
            machine.disk.assumeIsolated { $0.takeDropsBegun() }
        }
        guard machine.isLeaving, !drops.isEmpty else { return }
        // With a short eviction time, a node that is cut off from the others may hand over to fewer
        // owners, at worst one.
        let owners = machines.count { !$0.isOut && !$0.isLeaving }
        let left = evictsSoon ? 1 : max(1, owners)
        handovers.append((now, left))
        expectations.cap(copies: left) { drops.contains(shard(of: $0.conversation)) }
    }

    // MARK: Deaths

    /// Sends `FORGET` to some other node, until one has accepted it.
    private func isForgotten(_ mover: ClusterMover) -> Bool {
        if let answer = mover.visit?.answers.first, answer.code == nil {
            coverage.count("move: forget")
            return true
        }
        let others = machines.filter { $0.index != mover.move.node && $0.process != nil }
        guard !others.isEmpty else { return false }
        let name = machines[mover.move.node].name
        mover.visit = order(
            "FORGET \(name)", codes: [404, 409], to: moveRandom.pick(others).index)
        return false
    }

    /// Sends `FORGET` to every node for the members that never return: a node that received it
    /// before may have known only an earlier life of the member, and a later life undoes it.
    ///
    /// A member that left is named as well: if no node received its last message, it is dead to
    /// the others and still an owner, and a leaving node waits for it.
    ///
    /// A minority evicts nobody, and a leaving node waits for every owner; there, the members that
    /// were to be evicted are named as well.
    func forgetAgain() {
        let gone = movers.filter { machines[$0.move.node].isGone }
        let dead = gone.filter { $0.move.kind == .evict }
        let isMinority = members.count <= dead.count
        let named = gone.filter { $0.move.kind != .evict } + (isMinority ? dead : [])
        for name in named.map({ machines[$0.move.node].name }) {
            for machine in machines where machine.process != nil {
                _ = order("FORGET \(name)", codes: [404, 409, 503], to: machine.index)
            }
        }
    }

    private func isEvicted(_ since: UInt64) -> Bool {
        let after = plan.evictAfterMilliseconds * 1_000 + ClusterWorld.deathMicroseconds
        guard now >= since + after else { return false }
        coverage.count("move: evict")
        return true
    }

    // MARK: Returns

    private func endMover(_ mover: ClusterMover, _ machine: ClusterMachine) {
        mover.step = .over
        coverage.count("comes back: \(machine.isGone ? .never : mover.move.comesBack)")
        guard !machine.isGone else { return }
        if mover.move.kind == .leave, mover.move.comesBack == .wiped { _ = wipe(machine) }
        come(machine)
    }

    private func come(_ machine: ClusterMachine) {
        machine.isOut = false
        machine.isLeaving = false
        restart(machine.index, after: 0)
    }

    // MARK: Operators

    /// Sends a line to a node on a connection of its own.
    ///
    /// - Returns: nil if the node takes no clients.
    func order(_ line: String, codes: [Int], to index: Int) -> ClusterVisit? {
        guard let visit = openVisit(to: index, as: ClusterClient.user(0)) else { return nil }
        ask([ClusterRequest(.operate(codes), line)], on: visit)
        endLines(of: visit)
        return visit
    }

    // MARK: Members

    /// Whether the plan's eviction time is shorter than a minute.
    private var evictsSoon: Bool { plan.evictAfterMilliseconds < 60_000 }

    /// The machines that are members, or will be again.
    var members: [ClusterMachine] { machines.filter { !$0.isGone && !$0.isOut } }

    /// Returns the numbers of the machines that own a shard, ascending, once all agree on the
    /// members.
    func owners(of shard: ShardID) -> [Int] {
        let names = members.map { NodeName(checked: $0.name) }
        let owners = Placement.owners(of: shard, among: names, replicas: plan.replicas)
        return members.filter { owners.contains(NodeName(checked: $0.name)) }.map(\.index)
    }

    func owners(of conversation: String) -> [Int] {
        owners(of: ShardID(of: conversation, count: UInt16(plan.shards)))
    }
}
