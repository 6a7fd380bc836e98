import Membership
import Placement
import Replication
import Wire

/// Why an operator's request is not carried out.
package enum OperationFailure: Error, Hashable, Sendable {
    case unknownMember
    case oneself
    /// The node was not started with `--faults`.
    case faultsForbidden
    /// Only a dead member is forgotten.
    case notDead
    /// Nobody else could take over what this node holds.
    case nobodyElse
    /// As many addresses as it asks at once have not answered yet.
    case tooManyJoins
    /// A reader or a full disk keeps the log where it is.
    case logKept(String)
    case backupRunning
    case backup(BackupFailure)
    /// The process ends before it is done.
    case stopping
    /// The token is of another cluster.
    case foreignToken
    case tooManyWatchers
    /// Too many type at once: on this connection, or on all.
    case tooManyTyping
}

/// Which way a cut goes.
package enum CutDirection: String, CaseIterable, Hashable, Sendable {
    case both
    case `in`
    case out
}

/// A shard, as this node sees it.
package struct ShardReport: Hashable, Sendable {
    package enum State: String, CaseIterable, Hashable, Sendable {
        case ready, syncing, leaving
    }

    /// What is held of it here.
    package struct Held: Hashable, Sendable {
        package let state: State
        /// Tombstones too.
        package let documents: UInt64
        package let hash: Hash128
    }

    package let shard: ShardID
    /// In order.
    package let owners: [NodeName]
    package let held: Held?
}

extension Node {
    /// Every shard of the cluster, in order.
    package func shardReports() -> [ShardReport] {
        owners.indices.map { number in
            let id = ShardID(UInt16(number))
            return ShardReport(shard: id, owners: owners[number], held: shard(id).map(Self.held))
        }
    }

    private static func held(_ shard: Shard) -> ShardReport.Held {
        shard.assumeIsolated { shard in
            ShardReport.Held(
                state: shard.isForeign ? .leaving : shard.isReady ? .ready : .syncing,
                documents: shard.stored.documents, hash: shard.stored.digest)
        }
    }

    // MARK: Members

    /// The most addresses that are asked at once: as many as a cluster has members.
    package static let joinsMax = 100

    /// Asks a node at a gossip address, until it answers.
    package func join(_ address: String) -> Result<Void, OperationFailure> {
        guard unanswered.count < Node.joinsMax || unanswered.contains(address) else {
            return .failure(.tooManyJoins)
        }
        unanswered.insert(address)
        dialer.encourage(address)
        return .success(())
    }

    /// Hands everything over, then ends the process.
    package func leave() -> Result<Void, OperationFailure> {
        let isLast = !membership.ring.contains {
            $0 != me.name && membership.state(of: $0) == .alive
        }
        guard !isLast else { return .failure(.nobodyElse) }
        guard !isLeaving else { return .success(()) }
        ports.host.log(.info, "leaving shards=\(shards.count)")
        isLeaving = true
        membership.beginLeave(now: ports.clock.milliseconds)
        followMembership()
        endIfHandedOver()
        return .success(())
    }

    /// Takes a dead member that is not coming back out of the ring.
    package func forget(_ name: NodeName) -> Result<Void, OperationFailure> {
        guard name != me.name else { return .failure(.oneself) }
        guard let state = membership.state(of: name) else { return .failure(.unknownMember) }
        guard state != .left else { return .success(()) }
        guard membership.forget(name, now: ports.clock.milliseconds) else {
            return .failure(.notDead)
        }
        followMembership()
        return .success(())
    }
}

// MARK: Cuts

/// A cut holds back what is on the way, as TCP does behind a cable that is pulled: it goes on when
/// the cut is healed in time, and else the silence ends the connection.
extension Node {
    /// Drops everything from a member, to it, or both, as a cut cable would.
    package func block(
        _ name: NodeName, _ direction: CutDirection
    ) -> Result<Void, OperationFailure> {
        guard options.mayBlock else { return .failure(.faultsForbidden) }
        guard name != me.name else { return .failure(.oneself) }
        guard membership.state(of: name) != nil else { return .failure(.unknownMember) }
        if direction != .out { cutIn.insert(name) }
        if direction != .in { cutOut.insert(name) }
        applyCuts(to: name)
        return .success(())
    }

    /// - Parameter name: nil for every member.
    package func unblock(_ name: NodeName?) -> Result<Void, OperationFailure> {
        guard options.mayBlock else { return .failure(.faultsForbidden) }
        if let name {
            guard name != me.name else { return .failure(.oneself) }
            guard membership.state(of: name) != nil else { return .failure(.unknownMember) }
        }
        for cut in name.map({ [$0] }) ?? cutIn.union(cutOut).sorted() {
            cutIn.remove(cut)
            cutOut.remove(cut)
            applyCuts(to: cut)
            if let address = membership.table[cut]?.member.gossip { dialer.encourage(address) }
        }
        ports.host.turnAgain()
        return .success(())
    }

    private func applyCuts(to name: NodeName) {
        links[name]?.isCutOut = cutOut.contains(name)
        if let link = links[name] { updatePause(of: link) }
        if cutIn.contains(name) { onTypingLost(from: name) }
    }

    /// Whether no connection to it can come about.
    func isCut(_ name: NodeName) -> Bool { cutIn.contains(name) || cutOut.contains(name) }
}
