import CRDT
import LineProtocol
import Node
import Replication
import Wire

extension ConnectionState {
    /// Returns the part of a shard's changes that the connection has seen; nil if it has seen none.
    package func sessionVector(of shard: ShardID) -> SessionVector? { sessionVectors[shard] }

    /// Returns the changes that a replica of the shard must contain to answer the connection; nil
    /// for no constraint.
    package func constraint(on shard: ShardID) -> ReadConstraint? {
        sessionVectors[shard].map { _ in
            ReadConstraint(.vector(SaidVector(seen(of: shard))), isStrict: isStrict)
        }
    }

    package mutating func recordObservations(_ observations: [Observation]) {
        for observation in observations {
            sessionVectors.recordObservation(observation)
            noteAwaiting(observation)
        }
    }

    /// Records that a majority of the owners stores all changes that the connection had seen.
    package mutating func noteOnMajority(_ earlier: ConnectionState) {
        if seen.elementsEqual(earlier.seen, by: ==) { awaitingMajority = [] }
    }

    private mutating func noteAwaiting(_ observation: Observation) {
        if observation.awaitsMajority { awaitingMajority.insert(observation.shard) }
    }

    /// Records that events of the connection's watch have shown this state of a replica.
    package mutating func noteTold(_ observation: Observation) {
        sessionVectors.noteTold(observation)
        if observation.replica != .here { awaitingMajority.insert(observation.shard) }
    }

    /// Records operations that may still be executed although their clients already got a response.
    package mutating func recordUnsettled(_ last: UnsettledOperation) {
        unsettled.insertOperation(last)
    }

    /// Replaces the session vector of a shard by a replica that contains all of the vector, or all
    /// of the vector that still exists.
    ///
    /// A replica that a second token of the client names may lack what the first one names: then
    /// the next request waits for a replica with both.
    package mutating func level(_ observation: Observation) {
        noteAwaiting(observation)
        let shown = sessionVectors[observation.shard]?.vector ?? Vector()
        if isStrict, observation.vector?.covers(shown) != true {
            return sessionVectors.recordObservation(observation)
        }
        // Changes that the replica lacks may exist on unreachable nodes, so tokens keep them.
        if !isStrict { noteMissed(by: observation) }
        sessionVectors.replace(observation)
    }

    private mutating func noteMissed(by observation: Observation) {
        let shown = sessionVectors[observation.shard]?.vector ?? Vector()
        let rest = shown.subtracting(observation.vector ?? Vector())
        guard !rest.isEmpty else { return }
        missed[observation.shard, default: Vector()].formUnion(rest)
    }

    package mutating func forgetReplica(of shard: ShardID) {
        sessionVectors.forgetReplica(of: shard)
    }

    /// The changes of each shard that the connection has seen, including its own writes.
    var seen: [(shard: ShardID, vector: Vector)] {
        sessionVectors.shards.map { shard in
            (shard, seen(of: shard).union(missed[shard] ?? Vector()))
        }
    }

    private func seen(of shard: ShardID) -> Vector {
        let shown = sessionVectors[shard]?.vector ?? Vector()
        guard let written = writes[shard], !shown.covers(written) else { return shown }
        return shown.union(written)
    }
}

extension Admin {
    /// Notifies a slot once all changes that a token of the connection would name are on a majority
    /// of the owners, or once the wait for them has ended.
    ///
    /// So a token is valid as long as a majority of the owners is alive.
    ///
    /// - Returns: true if the slot will be notified; false if there is nothing to wait for.
    package func awaitMajority(for slot: ReplySlot, on connection: ConnectionState) -> Bool {
        let (seen, others) = (connection.seen, connection.awaitingMajority)
        return node.assumeIsolated { $0.awaitMajority(slot, of: seen, elsewhere: others) }
    }

    /// Answers a `TOKEN` request.
    func token(of connection: ConnectionState) -> Response {
        let first = connection.writes.keys.sorted()
        let token = node.assumeIsolated {
            $0.token(of: connection.seen, first: first, after: connection.unsettled)
        }
        guard let token else { return .failed(LineError(ShardFailure.notReady)) }
        return .token(token)
    }

    /// Merges a token into the connection and advances the node's clock, so that later operations
    /// have later times than all changes that the token names.
    private func recordToken(_ token: Token, on connection: inout ConnectionState) {
        connection.unsettled.merge(token.unsettled)
        node.assumeIsolated { $0.observe(token) }
    }

    /// Makes `WATCH` begin after all earlier requests were answered.
    func watch(_ watch: Request.Watch, on connection: inout ConnectionState) -> Answer {
        if let token = watch.since, node.assumeIsolated({ $0.isOfThisCluster(token) }) == true {
            recordToken(token, on: &connection)
        }
        return .beginWhenFirst(.watch(watch))
    }

    /// Makes `SINCE` begin after all earlier requests were answered.
    func since(_ token: Token, on connection: inout ConnectionState) -> Answer {
        switch node.assumeIsolated({ $0.isOfThisCluster(token) }) {
        case true?:
            recordToken(token, on: &connection)
            return .beginWhenFirst(.since(token))
        case false?: return .now(.failed(.tokenOfAnotherCluster))
        case nil: return .now(.failed(LineError(ShardFailure.notReady)))
        }
    }

    func begin(since token: Token, for slot: ReplySlot) -> Answer {
        node.assumeIsolated { $0.since(token, for: slot) }
        return .later(DeferredReply(form: .awaited(bytes: 0)))
    }
}

extension StreamOptions {
    init(_ watch: Request.Watch) {
        self.init(
            since: watch.since, hasTokens: watch.hasTokens, tellsLevel: watch.tellsLevel,
            isDescribed: watch.isDescribed,
            heartbeatMilliseconds: watch.heartbeatSeconds.map { UInt64($0) * 1_000 })
    }
}
