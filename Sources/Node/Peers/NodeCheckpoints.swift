import CRDT
import Membership
import Replication
import StorePort
import Wire

/// The exchange of checkpoints, by which tokens name the vectors that a connection has seen.
extension Node {
    func tickCheckpoints(now: UInt64) {
        guard let cluster else { return }
        for id in checkpoints.held.openShards { noteHeld(id) }
        if !isRefusing {
            settingsToKeep += checkpoints.takeUnstored(now: now).map { shard, bytes in
                Setting(name: Node.checkpointsPrefix + "\(shard)", value: bytes)
            }
            settingsToKeep += checkpoints.takeUnstoredNames(now: now).map { chunk, bytes in
                Setting(name: Node.settingName(of: chunk), value: bytes)
            }
        }
        carryOut(
            checkpoints.onTick(now: now, shards: cluster.shards) {
                shards.compactMap { isFirstLivingOwner(of: $0.id) ? candidate($0) : nil }
            })
    }

    /// Records the checkpoints that this node's replica contains on disk.
    private func noteHeld(_ id: ShardID) {
        guard let shard = shard(id) else { return checkpoints.noteStored(nil, of: id) }
        // Changes that are being dropped or set aside are lost once the commit under way ends.
        guard repairs[id] == nil, shard.assumeIsolated({ !$0.isDropping }) else { return }
        let (hash, vector) = shard.assumeIsolated { ($0.storedHash, $0.stored.vector) }
        checkpoints.noteStored((hash, vector), of: id)
    }

    /// Forgets the names of the checkpoints that a replica contained and is about to lose; the next
    /// commit removes the names from the disk.
    func forgetHeldNames(of id: ShardID) {
        settingsToKeep += checkpoints.forgetHeld(id).map {
            Setting(name: Node.settingName(of: $0), value: [])
        }
    }

    /// Loads the checkpoints and the names of held checkpoints from the disk.
    ///
    /// - Parameters:
    ///   - held: the shards with replicas on this disk. An earlier version that dropped a replica
    ///     has left the names of the replica's checkpoints.
    ///   - afterLoss: whether the disk has lost writes, so that all names are discarded.
    func loadCheckpoints(
        _ settings: [String: [UInt8]], held: Set<ShardID>, afterLoss: Bool
    ) throws(WireError) {
        for (name, bytes) in settings {
            if name.hasPrefix(Node.checkpointsPrefix) {
                if let number = UInt16(name.dropFirst(Node.checkpointsPrefix.count)) {
                    try checkpoints.load(bytes, of: ShardID(number))
                }
            } else if let chunk = Node.chunk(ofSetting: name) {
                if afterLoss || !held.contains(chunk.shard) {
                    settingsToKeep.append(Setting(name: name, value: []))
                } else {
                    try checkpoints.load(bytes, of: chunk)
                }
            }
        }
    }

    /// The prefix of the setting names of checkpoints, before the shard's number.
    private static let checkpointsPrefix = "checkpoints-"
    /// The prefix of the setting names of held checkpoints, before the numbers of shard and chunk.
    private static let heldPrefix = "held-"

    private static func settingName(of chunk: HeldCheckpoints.Chunk) -> String {
        "\(heldPrefix)\(chunk.shard)-\(chunk.index)"
    }

    private static func chunk(ofSetting name: String) -> HeldCheckpoints.Chunk? {
        guard name.hasPrefix(heldPrefix) else { return nil }
        let numbers = name.dropFirst(heldPrefix.count).split(separator: "-").map { UInt16($0) }
        guard numbers.count == 2, let shard = numbers[0], let index = numbers[1] else { return nil }
        return HeldCheckpoints.Chunk(shard: ShardID(shard), index: Int(index))
    }

    func onCheckpoint(_ frame: CheckpointFrame, from name: NodeName) {
        guard let cluster, frame.shard.number < cluster.shards else { return }
        carryOut(checkpoints.receive(frame, from: name))
    }

    /// Makes checkpoints of vectors that a token can contain only by name.
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

    /// Whether this node is an owner, and no connected owner precedes it in the order of owners.
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
