import CRDT
import Chat
import Node
import Placement
import Replication
import Wire

/// The ownership of shards as each node sees it: members join and leave, and shard replicas move.
///
/// Every node learns of every change within a bounded time, each with a delay of its own, so that
/// the views of two nodes may differ member by member.
extension World {
    /// The limit of the delay with which a node learns of a change, in microseconds.
    private static let learningMicrosecondsMax: UInt64 = 2_500_000

    func isMember(_ index: Int) -> Bool { ring[index] % 2 == 0 }

    /// Returns the members that own a shard, according to the true membership.
    func owners(of shard: Int) -> [SimNode] { owners(of: shard, among: ring).map { nodes[$0] } }

    private func owners(of shard: Int, among view: [Int]) -> [Int] {
        let members = view.indices.filter { view[$0] % 2 == 0 }.map { names[$0] }
        let replicas = plan.replicas == 0 ? Replicas.all : .count(plan.replicas)
        return Placement.owners(
            of: ShardID(UInt16(shard)), among: members, replicas: replicas
        ).map(index)
    }

    /// - Parameter connected: the nodes with a connection to this one; only they count as alive.
    func ownership(of shard: Int, at node: SimNode, connected: Set<Int>) -> Ownership {
        let owners = owners(of: shard, among: node.view)
        // A leaving node counts as a possible holder until its disk is empty.
        let others = nodes.indices.filter {
            $0 != node.index
                && (node.view[$0] % 2 == 0 || (nodes[$0].isLeaving && !nodes[$0].disk.isEmpty))
        }
        return Ownership(
            me: node.name, owners: owners.map { names[$0] },
            livingOwners: owners.count { $0 == node.index || connected.contains($0) },
            others: others.map { names[$0] })
    }

    // MARK: Members

    /// - Returns: false if the fault changes nothing or would leave no member.
    func move(_ fault: Fault, _ node: SimNode) -> Bool {
        if fault.kind == .join {
            guard !isMember(fault.node) else { return false }
            setMember(fault.node, true)
            start(node)
            return true
        }
        guard isMember(fault.node), ring.count(where: { $0 % 2 == 0 }) > 1 else { return false }
        node.isLeaving = fault.kind == .leave
        setMember(fault.node, false)
        return true
    }

    func setMember(_ member: Int, _ isMember: Bool) {
        guard self.isMember(member) != isMember else { return }
        ring[member] += 1
        for node in nodes {
            let isFirst = node.index == member && node.isLeaving
            push(
                .learn(node: node.index, member: member, change: ring[member]),
                after: isFirst ? 0 : learningDelay())
        }
    }

    private func learningDelay() -> UInt64 {
        let wait = netRandom.between(0...World.learningMicrosecondsMax)
        return conditions.isFair ? wait / 20 : wait
    }

    func learn(_ node: SimNode, of member: Int, _ change: Int) {
        guard node.view[member] <= change else { return }
        node.view[member] = change
        trace(16, UInt64(member), "\(node.name) hears of \(names[member]): \(change)")
        guard let shell = node.shell else { return }
        refreshOwnership(node, shell)
        scheduleTurn(shell)
    }

    /// Recomputes the owners of all shards after a change of members or connections.
    func refreshOwnership(_ node: SimNode, _ shell: Shell) {
        let connected = Set(shell.connections.indices.filter { shell.connections[$0] != nil })
        for shard in shell.machines.indices {
            let ownership = ownership(of: shard, at: node, connected: connected)
            let isNew =
                ownership.isOwnedHere && !shell.machines[shard].replica.ownership.isOwnedHere
            if ownership.isOwnedHere, !shell.isHeld[shard] {
                open(shard, ownership, node, shell)
            } else {
                shell.machines[shard].setOwnership(ownership, now: milliseconds)
            }
            guard isNew else { continue }
            coverage.count("owner anew")
            node.begin(shard, with: minimum(of: node)[shard], at: milliseconds)
        }
    }

    private func open(_ shard: Int, _ ownership: Ownership, _ node: SimNode, _ shell: Shell) {
        shell.machines[shard] = machine(of: shard, at: node, ownership: ownership)
        shell.isHeld[shard] = true
        for peer in shell.connections.indices where shell.connections[peer] != nil {
            shell.machines[shard].onPeerUp(names[peer])
        }
    }

    // MARK: Drops

    /// Returns the drops of the replicas that every owner has accepted, for the next commit.
    func beginDrops(_ node: SimNode, _ shell: Shell) throws(Violation) -> [SimDisk.Commit.Part] {
        var parts: [SimDisk.Commit.Part] = []
        for shard in shell.machines.indices
        where shell.isHeld[shard] && shell.repairs[shard] == nil
            && shell.machines[shard].replica.isHandedOver
        {
            try checkAccepted(shard, on: node, shell)
            try checkOwners(of: shard, beside: node, shell)
            noteLost(of: shard, beside: node, shell)
            shell.machines[shard].beginDrop()
            shell.drops[shard] = shell.ticket
            parts.append(SimDisk.Commit.Part(dropping: shard))
        }
        return parts
    }

    func onDropsReported(_ node: SimNode, _ shell: Shell, _ ticket: UInt64, isFailed: Bool) {
        for shard in shell.drops.indices {
            guard let drop = shell.drops[shard], isFailed || drop <= ticket else { continue }
            shell.drops[shard] = nil
            if isFailed {
                shell.machines[shard].onDropFailed()
            } else {
                coverage.count("dropped")
                for peer in shell.accepted.indices { shell.accepted[peer].remove(shard) }
                trace(17, UInt64(shard), "\(node.name) dropped shard \(shard)")
                shell.isHeld[shard] = false
                shell.copiesDropped += 1
                let ownership = shell.machines[shard].replica.ownership
                shell.machines[shard] = machine(of: shard, at: node, ownership: ownership)
                if ownership.isOwnedHere { open(shard, ownership, node, shell) }
            }
        }
    }

    /// Stops a leaving node once it holds no shard replica.
    func endIfHandedOver(_ node: SimNode, _ shell: Shell) throws(Violation) {
        guard node.isLeaving, node.view[node.index] % 2 == 1, !shell.isHeld.contains(true) else {
            return
        }
        coverage.count("left")
        try crash(node)
        // The others learn of it, and do not count it among the holders any more.
        for other in nodes where other !== node {
            push(
                .learn(node: other.index, member: node.index, change: ring[node.index]),
                after: learningDelay())
        }
    }

    /// Checks that every owner has accepted a replica that is about to be dropped, on the present
    /// connection: what an owner confirmed it may have given away since.
    private func checkAccepted(
        _ shard: Int, on node: SimNode, _ shell: Shell
    ) throws(Violation) {
        for name in shell.machines[shard].replica.ownership.owners
        where !shell.accepted[index(of: name)].contains(shard) {
            throw Violation(
                invariant: .kept,
                explanation: "\(node.name) is about to drop shard \(shard), which its owner "
                    + "\(name) has not accepted")
        }
    }

    /// Checks that every owner has on disk what a replica holds that is about to be dropped.
    ///
    /// Owners whose disks lost data since their connection was opened are excepted.
    private func checkOwners(
        of shard: Int, beside node: SimNode, _ shell: Shell
    ) throws(Violation) {
        for name in shell.machines[shard].replica.ownership.owners {
            let owner = nodes[index(of: name)]
            guard !hasLessThanItSaid(owner, to: shell) else { continue }
            for entry in ledger.entries where entry.shard == shard && holds(entry, node) {
                guard !holds(entry, owner) else { continue }
                throw Violation(
                    invariant: .kept,
                    explanation: "\(node.name) is about to drop shard \(shard), and its owner "
                        + "\(owner.name) lacks \(entry.words)")
            }
        }
    }

    /// Whether an owner's disk lost data since the current connection was opened.
    private func hasLessThanItSaid(_ owner: SimNode, to shell: Shell) -> Bool {
        guard let connection = shell.connections[owner.index] else { return true }
        return max(owner.destroyedAt, owner.droppedAt) >= connections[connection].connectedAt
    }

    /// Records as lost what only a dropped replica held, if the disks of all owners were destroyed
    /// after they had accepted it: the drop is in good faith.
    private func noteLost(of shard: Int, beside node: SimNode, _ shell: Shell) {
        let owners = shell.machines[shard].replica.ownership.owners.map { nodes[index(of: $0)] }
        guard owners.allSatisfy({ hasLessThanItSaid($0, to: shell) }) else { return }
        ledger.noteLost { entry in
            entry.shard != shard || !holds(entry, node)
                || nodes.contains { $0 !== node && keeps(entry, $0) }
        }
    }

    /// Checks that another disk holds every acknowledged change of a replica that is dropped.
    ///
    /// Changes whose other replicas are all damaged without anybody having read them count as lost.
    func checkDrop(of shard: Int, on node: SimNode) throws(Violation) {
        let others = nodes.filter { $0 !== node }
        ledger.noteLost { entry in
            let copies = others.filter { holds(entry, $0) }
            return entry.shard != shard || !holds(entry, node) || copies.isEmpty
                || copies.contains { !isBad(entry.mutation.key, in: shard, on: $0) }
        }
        for entry in ledger.entries
        where entry.shard == shard && entry.acknowledgedOn > 0 && !entry.isLost {
            guard holds(entry, node), !others.contains(where: { holds(entry, $0) }) else {
                continue
            }
            throw Violation(
                invariant: .kept,
                explanation: "\(node.name) drops shard \(shard), and nobody else holds what was "
                    + "acknowledged: \(entry.words)")
        }
    }

    private func isBad(_ key: DocumentKey, in shard: Int, on node: SimNode) -> Bool {
        node.disk.state.shards[shard].documents[key]?.isBad ?? false
    }

    // MARK: Routes

    /// Returns the node that serves a shard for `node`: itself if its replica is ready, else the
    /// first connected node that is ready, else the first that can serve.
    func route(_ shard: Int, from node: SimNode) -> SimNode? {
        guard let shell = node.shell, !shell.isUnwell else { return nil }
        if shell.isHeld[shard], shell.machines[shard].replica.isReady { return node }
        let reachable = shell.connections.indices.filter { shell.connections[$0] != nil }
        let ranking = Placement.ranking(
            of: ShardID(UInt16(shard)), among: (reachable + [node.index]).map { names[$0] }
        ).map { nodes[index(of: $0)] }
        func first(_ isFit: (ShardReplica) -> Bool) -> SimNode? {
            ranking.first { candidate in
                guard let shell = candidate.shell, !shell.isUnwell, shell.isHeld[shard],
                    candidate.pausedUntil <= now
                else { return false }
                return isFit(shell.machines[shard].replica)
            }
        }
        return first(\.isReady) ?? first(\.isServable)
    }
}
