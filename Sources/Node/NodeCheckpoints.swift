import CRDT
import Membership
import Replication
import Wire

/// The exchange of checkpoints, by which tokens name what a connection has seen of a shard.
extension Node {
    func tickCheckpoints(now: UInt64) {
        guard let cluster else { return }
        if !isRefusing {
            settingsToKeep += checkpoints.takeUnstored(now: now).map { shard, bytes in
                Setting(name: Node.checkpointsPrefix + "\(shard)", value: bytes)
            }
        }
        carryOut(
            checkpoints.onTick(now: now, shards: cluster.shards) {
                shards.compactMap { isFirstLivingOwner(of: $0.id) ? candidate($0) : nil }
            })
    }

    /// Reads the checkpoints that are on disk.
    func loadCheckpoints(_ settings: [String: [UInt8]]) throws(WireError) {
        for (name, bytes) in settings where name.hasPrefix(Node.checkpointsPrefix) {
            if let number = UInt16(name.dropFirst(Node.checkpointsPrefix.count)) {
                try checkpoints.load(bytes, of: ShardID(number))
            }
        }
    }

    /// The beginning of the names under which checkpoints are stored, before the shard's number.
    private static let checkpointsPrefix = "checkpoints-"

    func onCheckpoint(_ frame: CheckpointFrame, from name: NodeName) {
        guard let cluster, frame.shard.number < cluster.shards else { return }
        carryOut(checkpoints.receive(frame, from: name))
    }

    /// Makes checkpoints of vectors that a token can only name.
    func nameVectors(_ vectors: [(shard: ShardID, vector: Vector)]) {
        carryOut(checkpoints.nameForTokens(vectors, now: ports.clock.milliseconds))
    }

    private func carryOut(_ directives: [CheckpointExchange.Directive]) {
        for directive in directives {
            switch directive {
            case .send(let frame, let name): links[name]?.send(.checkpoint(frame))
            case .sendToAll(let frame):
                for link in links.ascending { link.send(.checkpoint(frame)) }
            }
        }
    }

    /// Whether this node is an owner, and no owner before it in the order of owners is connected.
    private func isFirstLivingOwner(of id: ShardID) -> Bool {
        guard Int(id.number) < owners.count else { return false }
        return owners[Int(id.number)].first { $0 == me.name || links[$0] != nil } == me.name
    }

    private func candidate(_ shard: Shard) -> CheckpointExchange.Candidate? {
        shard.assumeIsolated { shard in
            guard shard.mayAnswer else { return nil }
            return CheckpointExchange.Candidate(
                shard.id, hash: shard.storedHash, vector: shard.stored.vector)
        }
    }
}
