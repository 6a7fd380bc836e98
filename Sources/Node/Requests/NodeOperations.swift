import Membership
import Placement
import Replication
import StorePort
import Wire

/// The reasons why a node refuses a request that concerns the node itself and no shard.
package enum OperationFailure: Error, Hashable, Sendable {
    case unknownMember
    case oneself
    /// The node was not started with `--faults`.
    case faultsForbidden
    /// Only a dead or evicted member can be forgotten.
    case notDead
    /// No other living member could take over this node's replicas.
    case nobodyElse
    /// `joinsMax` addresses have not answered yet.
    case tooManyJoins
    /// The logs could not be emptied, for instance because of a reader or a full disk.
    case logKept(String)
    case backupRunning
    case backup(BackupFailure)
    /// The process ends before the request is done.
    case stopping
    /// The token was issued by another cluster.
    case foreignToken
    case tooManyWatchers
    /// This process serves no stream of the user's under this id.
    case noStream
    /// Too many users type at once: on this connection, or on all connections of this node.
    case tooManyTyping
}

/// The direction of a simulated network cut, as seen from this node.
package enum CutDirection: String, CaseIterable, Hashable, Sendable {
    case both
    case `in`
    case out
}

/// The state of a shard as this node sees it.
package struct ShardReport: Hashable, Sendable {
    package enum State: String, CaseIterable, Hashable, Sendable {
        case ready, syncing, leaving
    }

    /// The state of this node's replica of a shard.
    package struct Held: Hashable, Sendable {
        package let state: State
        /// The number of documents, tombstones included.
        package let documents: UInt64
        /// The digest of the documents on disk.
        package let hash: Hash128
    }

    package let shard: ShardID
    /// The owners, in the order in which placement ranks them.
    package let owners: [NodeName]
    /// The state of this node's replica; nil if this node has no replica of the shard.
    package let held: Held?
}

extension Node {
    /// Returns a report on every shard of the cluster, in ascending order.
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

    /// The greatest number of dialled addresses without an answer: the greatest size of a cluster.
    package static let joinsMax = 100

    /// Dials a gossip address until the node at the address answers.
    package func join(_ address: String) -> Result<Void, OperationFailure> {
        guard unanswered.count < Node.joinsMax || unanswered.contains(address) else {
            return .failure(.tooManyJoins)
        }
        unanswered.insert(address)
        dialer.encourage(address)
        return .success(())
    }

    /// Hands over all shard replicas, then ends the process.
    package func leave() -> Result<Void, OperationFailure> {
        guard !isLeaving else { return .success(()) }
        guard hasSuccessor else { return .failure(.nobodyElse) }
        beginLeave()
        followMembership()
        endIfHandedOver()
        return .success(())
    }

    /// Removes a dead or evicted member that is not coming back from the placement ring.
    package func forgetMember(_ name: NodeName) -> Result<Void, OperationFailure> {
        guard name != me.name else { return .failure(.oneself) }
        guard let state = membership.state(of: name) else { return .failure(.unknownMember) }
        guard state != .left else { return .success(()) }
        guard membership.forgetMember(name, now: ports.clock.milliseconds) else {
            return .failure(.notDead)
        }
        followMembership()
        return .success(())
    }
}

// MARK: Cuts

/// Simulated network cuts, for tests.
///
/// A cut delays frames, as TCP does when a cable is pulled: the frames arrive late if the cut is
/// healed in time; otherwise the silence ends the connection.
extension Node {
    /// Delays all frames from a member, to a member, or in both directions.
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

    /// Ends the simulated cut to a member.
    ///
    /// - Parameter name: the member; nil to end every cut.
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
        if let connection = links[name] { updatePause(of: connection) }
        if cutIn.contains(name) { onTypingLost(from: name) }
    }

    /// Whether a cut prevents new connections to a member: any cut delays the greeting.
    func isCut(_ name: NodeName) -> Bool { cutIn.contains(name) || cutOut.contains(name) }
}
