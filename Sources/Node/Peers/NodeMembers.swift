import CRDT
import Membership
import Placement
import Replication
import StorePort
import Wire

/// Membership and placement: the node executes the decisions of membership, computes the owners of
/// the shards, and opens the shards that this node owns.
extension Node {
    static func membership(
        of process: RandomID, _ options: NodeOptions, table: MemberTable, _ ports: NodePorts,
        now: UInt64
    ) -> Membership {
        let me = Member(
            name: options.name, process: process, gossip: options.gossip, admin: options.admin,
            incarnation: ports.clock.wallMilliseconds)
        return Membership(
            me: me, table: table, evictAfterMilliseconds: options.evictAfterMilliseconds,
            seed: ports.entropy.next(), now: now)
    }

    /// Sends the gossip of membership and handles its events.
    ///
    /// If the member table has changed, the method stores the table and places the shards anew.
    func followMembership() {
        stayIfLast()
        leaveIfAwaited()
        for (name, gossip) in membership.takeOutbox() {
            links[name]?.send(
                .gossip(gossip, wallMilliseconds: ports.clock.wallMilliseconds))
        }
        for event in membership.takeEvents() { follow(event) }
        guard membership.table.hash != followedTable else { return }
        followedTable = membership.table.hash
        keepMembers()
        followPages()
        placeShards()
    }

    /// Puts the member table into this turn's commit.
    func keepMembers() {
        guard cluster != nil else { return }
        settingsToKeep.append(Setting(name: SettingName.members, value: membership.table.encoded))
    }

    /// Cancels this node's leave if every other member is leaving, too.
    private func stayIfLast() {
        guard isLeaving, membership.hasToStay else { return }
        (isLeaving, waitsToLeave) = (false, true)
        membership.stay(now: ports.clock.milliseconds)
        ports.host.log(
            .warn,
            "every member leaves: this one stays until another can take over its shards")
    }

    /// Starts the postponed leave once another member exists.
    private func leaveIfAwaited() {
        guard waitsToLeave, hasSuccessor else { return }
        beginLeave()
    }

    /// Whether another member could take over the shards of this node.
    var hasSuccessor: Bool {
        membership.ring.contains { $0 != me.name && membership.state(of: $0) == .alive }
    }

    func beginLeave() {
        ports.host.log(.info, "leaving shards=\(shards.count)")
        (isLeaving, waitsToLeave) = (true, false)
        membership.beginLeave(now: ports.clock.milliseconds)
    }

    private func follow(_ event: MemberEvent) {
        switch event {
        case .changed(let name, _, let state):
            let isGone = state == .dead || state == .evicted
            ports.host.log(isGone ? .warn : .info, "member \(state) peer=\(name)")
            guard state == .alive, links[name] == nil,
                let member = membership.table[name]?.member
            else { return }
            dialer.encourage(member.gossip)
        case .restarted(let name):
            ports.host.log(.info, "member started again peer=\(name)")
        case .twin(let member):
            ports.host.log(
                .error,
                "another process has this node's name, gossip=\(member.gossip); stop one of them")
        case .refuted(let incarnation):
            ports.host.log(.info, "declared itself alive incarnation=\(incarnation)")
        }
    }
}

// MARK: Shards

extension Node {
    /// Computes the owners of all shards if the placement ring has changed.
    func placeOwners() {
        guard let cluster else { return }
        let ring = membership.ring
        guard ring != placedRing || owners.isEmpty else { return }
        placedRing = ring
        owners = (0..<cluster.shards).map { number in
            Placement.owners(of: ShardID(number), among: ring, replicas: cluster.replicas)
        }
    }

    /// Sets the owners of each shard, and opens the owned shards of which this node has no replica.
    func placeShards() {
        guard !held.isEmpty else { return }
        placeOwners()
        let (others, dead) = (others, dead)
        for number in held.indices {
            let ownership = ownership(of: number, others: others, dead: dead)
            if let shard = held[number] {
                within(shard) { $0.setOwnership(ownership) }
            } else if ownership.isOwnedHere {
                open(ShardID(UInt16(number)), stored: ReplicaHeader(isComplete: false))
            }
        }
    }

    /// The other members that may have a shard replica, including those that are leaving and those
    /// that were evicted and not forgotten.
    var others: [NodeName] {
        var ownership = membership.ring + membership.leaving
        #if PlantedBugs
            if !PlantedBug.evictedNotHeard.isOn { ownership += membership.evicted }
        #else
            ownership += membership.evicted
        #endif
        return ownership.filter { $0 != me.name }
    }

    private var dead: Set<NodeName> {
        Set(placedRing.filter { membership.state(of: $0) == .dead })
    }

    private func ownership(of number: Int, others: [NodeName], dead: Set<NodeName>) -> Ownership {
        Ownership(
            me: me.name, owners: owners[number],
            livingOwners: owners[number].count { !dead.contains($0) }, others: others)
    }

    func open(_ id: ShardID, stored: ReplicaHeader, isFounded: Bool = false) {
        guard let cluster else { return }
        let ownership = ownership(of: Int(id.number), others: others, dead: dead)
        let shard = Shard(
            id, of: cluster.shards, stored: stored, ownership: ownership, life: tally.copiesDropped,
            isFounded: isFounded, ports: ports, options: options, horizon: clusterTime.current)
        if isDiskFull { within(shard) { $0.setFull(true) } }
        observe(stored.greatest)
        held[Int(id.number)] = shard
        shards = held.compactMap { $0 }
        dirty.insert(id)
        checkpoints.noteReplica(of: id)
        for (name, wire) in links.ascending.map({ ($0.name, $0.wire) }) {
            within(shard) { $0.onPeerUp(name, wire: wire) }
        }
    }

    /// Forgets shard replicas that the disk has dropped after every owner confirmed all changes.
    func onDropped(_ drops: [ShardID]) {
        guard !drops.isEmpty else { return }
        for id in drops {
            if let copy = shard(id)?.assumeIsolated({ $0.tally }) { tally.add(copy) }
            held[Int(id.number)] = nil
            safety.removeShard(id)
            forgetReplica(of: id)
        }
        shards = held.compactMap { $0 }
        ports.host.log(.info, "handed over shards=\(drops.count) held=\(shards.count)")
        placeShards()
        endIfHandedOver()
    }

    /// Leaves the cluster and ends the process, once a leaving node has no shard replica.
    func endIfHandedOver() {
        guard isLeaving, shards.isEmpty else { return }
        membership.leave(now: ports.clock.milliseconds)
        followMembership()
        for link in links.ascending { link.flush() }
        ports.host.end(.shutdown)
    }
}
