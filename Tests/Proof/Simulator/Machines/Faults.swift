import CRDT
import Chat
import Node
import Replication
import Wire

/// The execution of a plan's faults: their beginnings and ends.
extension World {
    private static let year2100: Int64 = 4_102_444_800_000

    func onFault(_ fault: Fault) throws(Violation) {
        guard !conditions.isFair else { return }
        let node = nodes[fault.node]
        let lasts = UInt64(abs(fault.amount)) * 1_000
        trace(
            9, UInt64(fault.node), "FAULT \(fault.kind.rawValue) \(fault.node + 1) \(fault.other)")
        switch fault.kind {
        case .crash, .crashAll, .wipe, .snapshot, .restore, .clone, .flip, .flipIndex:
            guard try strike(fault, node) else { return }
        case .pause:
            node.pausedUntil = max(node.pausedUntil, now + lasts)
        case .cut:
            cut(fault.node, fault.other, +1)
            cut(fault.other, fault.node, +1)
        case .cutOneWay:
            cut(fault.node, fault.other, +1)
        case .isolate:
            for other in nodes.indices where other != fault.node {
                cut(fault.node, other, +1)
                cut(other, fault.node, +1)
            }
        case .reset:
            reset(fault.node, fault.other)
        case .slow:
            conditions.slow[fault.node][fault.other] += 1
            conditions.slow[fault.other][fault.node] += 1
        case .narrow:
            conditions.narrow[fault.node][fault.other] += 1
        case .clockJump, .clockFreeze, .clockZero, .clockFuture: changeClock(of: node, fault)
        case .diskFull: node.disk.isFull = true
        case .diskSlow: node.disk.isSlow += 1
        case .join, .leave, .evict:
            guard move(fault, node) else { return }
        }
        coverage.count(fault.kind.rawValue)
        push(.end(fault), after: lasts)
    }

    /// - Returns: false if the fault has no target.
    private func strike(_ fault: Fault, _ node: SimNode) throws(Violation) -> Bool {
        switch fault.kind {
        case .crash:
            try crash(node)
        case .crashAll:
            for node in nodes { try crash(node) }
        case .wipe:
            try crash(node)
            try replaceDisk(of: node, with: DiskState(shards: plan.shards))
        case .snapshot:
            node.disk.snapshot = node.disk.state
        case .restore:
            guard let snapshot = node.disk.snapshot else { return false }
            try crash(node)
            try replaceDisk(of: node, with: snapshot)
        case .clone:
            try crash(node)
            try replaceDisk(of: node, with: nodes[fault.other].disk.state)
        case .flip:
            return flip(fault.other, on: node)
        case .flipIndex:
            return flipIndex(fault.other, on: node)
        default:
            break
        }
        return true
    }

    private func replaceDisk(of node: SimNode, with state: DiskState) throws(Violation) {
        node.disk.state = state
        forgetUnbelieved(node)
        onDestroyed(node)
    }

    private func flip(_ number: Int, on node: SimNode) -> Bool {
        let shard = number % plan.shards
        let keys = node.disk.state.shards[shard].keys
        guard !keys.isEmpty else { return false }
        let key = keys[number % keys.count]
        node.disk.state.shards[shard].documents[key]?.isBad = true
        node.destroyedAt = now
        node.deletions = Deletions()
        ledger.noteLost { entry in
            entry.mutation.key != key
                || nodes.contains { $0 !== node && keeps(entry, $0) }
        }
        return true
    }

    /// Damages an index row; the documents stay intact, so none of their changes may be lost.
    private func flipIndex(_ number: Int, on node: SimNode) -> Bool {
        let shard = number % plan.shards
        let keys = node.disk.state.shards[shard].keys
        guard !keys.isEmpty else { return false }
        node.disk.state.shards[shard].misindexed.insert(keys[number % keys.count])
        return true
    }

    func onEnd(of fault: Fault) {
        guard !conditions.isFair else { return }
        endFault(fault)
    }

    private func endFault(_ fault: Fault) {
        let node = nodes[fault.node]
        switch fault.kind {
        case .crash, .wipe, .restore, .clone: start(node)
        case .crashAll: for node in nodes where isMember(node.index) { start(node) }
        case .cut:
            cut(fault.node, fault.other, -1)
            cut(fault.other, fault.node, -1)
        case .cutOneWay:
            cut(fault.node, fault.other, -1)
        case .isolate:
            for other in nodes.indices where other != fault.node {
                cut(fault.node, other, -1)
                cut(other, fault.node, -1)
            }
        case .slow:
            conditions.slow[fault.node][fault.other] -= 1
            conditions.slow[fault.other][fault.node] -= 1
        case .narrow: conditions.narrow[fault.node][fault.other] -= 1
        case .clockFreeze: thawClock(of: node)
        case .diskFull: node.disk.isFull = false
        case .diskSlow: node.disk.isSlow -= 1
        case .leave, .evict:
            node.isLeaving = false
            setMember(fault.node, true)
            start(node)
        case .pause, .reset, .snapshot, .clockJump, .clockZero, .clockFuture, .flip,
            .flipIndex, .join:
            break
        }
    }

    private func cut(_ from: Int, _ to: Int, _ change: Int) {
        conditions.cuts[from][to] += change
        if change < 0 { onCutEnded(from: from, to: to) }
    }

    private func reset(_ one: Int, _ other: Int) {
        guard let index = nodes[one].shell?.connections[other] else { return }
        for end in [0, 1] { onClosed(index, end) }
    }

    /// Makes a node's clock forget all times seen, if its wall clock does not believe the
    /// greatest of them.
    private func forgetUnbelieved(_ node: SimNode) {
        let shards = node.disk.state.shards
        let shell = node.shell
        var seen = shards.map { max($0.claim.greatest, $0.believed) }
        for shard in shell?.held ?? [] {
            seen.append(shell?.machines[shard].greatestTime ?? .zero)
        }
        if let shell { seen.append(shell.operations.greatestTime) }
        let wall = wall(of: node)
        if let last = shell?.operations.last, !wall.believes(last.time) {
            ledger.noteForgotten(last, believed: wall.latest)
        }
        guard !seen.allSatisfy(wall.believes) else { return }
        node.wall.hasForgotten = true
        node.disk.forgetTimes()
    }

    /// Ends a freeze: the clock shows the changes that were made to it meanwhile.
    private func thawClock(of node: SimNode) {
        node.wall.thaw(now: now)
        forgetUnbelieved(node)
    }

    private func changeClock(of node: SimNode, _ fault: Fault) {
        switch fault.kind {
        case .clockJump: node.wall.jump(by: Int64(fault.amount), now: now)
        case .clockFreeze: node.wall.freeze(now: now)
        case .clockZero: node.wall.set(to: 0, now: now)
        default: node.wall.set(to: World.year2100, now: now)
        }
        forgetUnbelieved(node)
    }

    /// Ends all faults that still last, and starts every node that is down.
    func heal() {
        conditions.isFair = true
        conditions.narrow = conditions.narrow.map { $0.map { _ in 0 } }
        for node in nodes {
            node.disk.isFull = false
            node.disk.isSlow = 0
            thawClock(of: node)
        }
        let pairs = nodes.indices.flatMap { from in nodes.indices.map { (from, $0) } }
        for (from, to) in pairs where conditions.cuts[from][to] > 0 {
            conditions.cuts[from][to] = 0
            onCutEnded(from: from, to: to)
        }
        // An evicted node that lives becomes a member again; a node that was leaving completes its
        // leave.
        for node in nodes {
            if !node.isLeaving { setMember(node.index, true) }
            start(node)
        }
    }

    // MARK: Processes

    func start(_ node: SimNode) {
        guard node.shell == nil else { return }
        node.starts += 1
        let machines = (0..<plan.shards).map { shard in
            machine(of: shard, at: node, ownership: ownership(of: shard, at: node, connected: []))
        }
        var random = SeededRandom(seed: plan.seed, stream: UInt64(1_000 + node.index))
        for _ in 0..<node.starts { _ = random.next() }
        let address = Shell.Address(node: node.index, start: node.starts)
        let shell = Shell(
            address, machines: machines, nodes: plan.nodes, seed: random.next(), now: now)
        node.shell = shell
        for machine in machines { observe(machine.greatestTime, node, shell) }
        for (shard, minimum) in minimum(of: node).enumerated() {
            node.begin(shard, with: minimum, at: milliseconds)
        }
        trace(10, UInt64(node.starts), "\(node.name) starts")
        push(.tick(address), after: netRandom.between(0...20_000))
    }

    func machine(of shard: Int, at node: SimNode, ownership: Ownership) -> ShardMachine {
        ShardMachine(
            ShardID(UInt16(shard)), of: UInt16(plan.shards), stored: storedHeader(of: node, shard),
            ownership: ownership, life: node.shell?.copiesDropped ?? 0, now: milliseconds,
            fanOutBits: CountedRun.fanOutBitsOfSimulation,
            restRangesMax: VectorBase.restRangesMaxOfSimulation)
    }

    private func storedHeader(of node: SimNode, _ shard: Int) -> ReplicaHeader {
        guard let bytes = node.disk.state.shards[shard].header else {
            return ReplicaHeader(isComplete: false)
        }
        do throws(WireError) {
            let base = node.disk.state.shards[shard].base
            if let header = try ReplicaHeader.read(bytes, base: base) { return header }
            preconditionFailure("a header is read with the base that it was written with")
        } catch {
            preconditionFailure("a header is read as it was written: \(error)")
        }
    }

    func crash(_ node: SimNode) throws(Violation) {
        guard let shell = node.shell else { return }
        trace(11, 0, "\(node.name) dies")
        node.shell = nil
        node.pausedUntil = min(node.pausedUntil, now)
        for index in shell.connections.compactMap({ $0 }) {
            close(index, by: connections[index].end(of: node.index))
        }
        let disk = node.disk
        if disk.isWriting, !disk.isFull, !disk.hasFailed, let commit = disk.waiting.first,
            diskRandom.chance(percent: 30)
        {
            coverage.count("crash-keeps-commit")
            try apply(commit, on: node)
        } else if !disk.waiting.isEmpty {
            coverage.count("crash-loses-commit")
        }
        disk.onCrash()
        for index in requests.indices where requests[index].address == shell.address {
            if requests[index].state == .open { requests[index].state = .failed }
        }
    }
}
