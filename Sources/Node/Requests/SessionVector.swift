import CRDT
import Replication
import Wire

/// The changes of a shard that one connection has seen, and a replica that contains them.
package struct SessionVector: Hashable, Sendable {
    /// A replica that is known to contain all changes that the connection has seen.
    ///
    /// A replica's state on disk only grows while its process lives, so a connection that stays
    /// with one replica never sees an older state. Before another replica answers, its vector is
    /// compared with `vector`.
    package enum ObservedReplica: Hashable, Sendable {
        /// The replica of this node.
        case here
        /// The replica of the member at the other end of a connection.
        case member(channel: UInt64)
    }

    /// The changes that the connection was shown.
    package private(set) var vector: Vector
    /// The replica that contains all of `vector`; nil if no single replica is known to contain it.
    package private(set) var replica: ObservedReplica?

    package init(vector: Vector, replica: ObservedReplica?) {
        self.vector = vector
        self.replica = replica
    }

    init(_ observation: Observation) {
        self.init(vector: observation.vector ?? Vector(), replica: observation.replica)
    }

    /// Records a read from a replica or a write to a replica.
    ///
    /// - Parameter vector: the replica's vector; nil if its content was not shown.
    package mutating func recordSeen(_ vector: Vector?, from replica: ObservedReplica) {
        if self.replica == replica {
            if let vector { self.vector = vector }
        } else if let vector, vector.covers(self.vector) {
            self = SessionVector(vector: vector, replica: nil)
        } else {
            if let vector { self.vector.formUnion(vector) }
            self.replica = nil
        }
    }

    /// Records that events have reported the stored changes of a replica up to `position`, which
    /// may be fewer changes than a reply of the replica has shown.
    mutating func noteTold(_ position: Vector, from replica: ObservedReplica) {
        if position.covers(vector) {
            vector = position
        } else if !vector.covers(position) {
            vector.formUnion(position)
        }
        if self.replica != replica { self.replica = nil }
    }

    /// Records that the replica may have lost changes.
    package mutating func forgetReplica() { replica = nil }
}

/// The state of a shard that one reply showed, and the replica from which the state was read.
package struct Observation: Hashable, Sendable {
    package let shard: ShardID
    /// The vector of the replica; nil if the reply to a write showed no content of the replica.
    package let vector: Vector?
    package let replica: SessionVector.ObservedReplica
    /// Whether another node sent the state and did not know it to be on a majority of the owners.
    package let awaitsMajority: Bool

    package init(
        _ shard: ShardID, _ vector: Vector?, by replica: SessionVector.ObservedReplica,
        awaitsMajority: Bool = false
    ) {
        self.shard = shard
        self.vector = vector
        self.replica = replica
        self.awaitsMajority = awaitsMajority
    }

    init(_ seen: ObservedShard, byMemberAt channel: UInt64) {
        self.init(
            seen.shard, seen.vector, by: .member(channel: channel),
            awaitsMajority: seen.awaitsMajority)
    }
}

/// A write of a connection, by its shard and its dots.
package struct Write: Hashable, Sendable {
    package let shard: ShardID
    package let context: Context
    package let isOnMajority: Bool

    /// - Parameter stored: the number of owners that have stored the write; nil if unknown.
    package init(shard: ShardID, context: Context, _ stored: Stored?) {
        self.shard = shard
        self.context = context
        isOnMajority = stored.map { $0.on > $0.owners / 2 } ?? false
    }
}

/// The state of a shard that another node's replica showed, as sent to the connection's node.
package struct ObservedShard: VectorCarrier, Hashable, Sendable {
    package let shard: ShardID
    private var said: SaidVector
    /// Whether the replica did not know the state to be on a majority of the owners, and expects
    /// this soon; `PeerResponse` encodes this flag separately.
    package internal(set) var awaitsMajority = false

    package init(shard: ShardID, vector: Vector) {
        self.shard = shard
        said = SaidVector(vector)
    }

    /// The vector of the replica; it is whole once `SaidVectors.hear` has completed it.
    package var vector: Vector { said.vector }

    /// The approximate size in a frame, in bytes.
    var roughBytes: Int { 16 * vector.entries.count + 4 * vector.rangesCount }

    package mutating func eachVector(_ body: (ShardID, inout SaidVector) -> Void) {
        body(shard, &said)
    }
}

extension ObservedShard: WireValue {
    package func encode(into writer: inout ByteWriter) {
        writer.write(shard)
        said.encode(into: &writer)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        shard = try reader.readShard()
        said = try SaidVector(from: &reader)
    }
}

/// The condition that a replica has to meet before it answers a connection.
package struct ReadConstraint: Hashable, Sendable {
    package private(set) var minimum: MinimumVersion
    /// Whether the replica must contain the whole minimum version, since the client sent a token.
    ///
    /// If the constraint is not strict, the changes that the reachable members have together are
    /// sufficient, so that a connection without a token is not refused for changes that exist on
    /// one dead disk only.
    package let isStrict: Bool

    package init(_ minimum: MinimumVersion, isStrict: Bool) {
        self.minimum = minimum
        self.isStrict = isStrict
    }
}

extension ReadConstraint {
    mutating func eachVector(_ body: (inout SaidVector) -> Void) {
        guard case .vector(var vector) = minimum else { return }
        body(&vector)
        minimum = .vector(vector)
    }
}

extension ReadConstraint: WireValue {
    package func encode(into writer: inout ByteWriter) {
        minimum.encode(into: &writer)
        writer.write(isStrict)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        minimum = try MinimumVersion(from: &reader)
        isStrict = try reader.readFlag()
    }
}

/// The session vectors of a connection, by shard.
package struct SessionVectors: Sendable {
    /// The session vectors, ascending by shard.
    ///
    /// Each request looks up one session vector, for which hashing is slower than a binary search.
    private var entries: [(shard: ShardID, sessionVector: SessionVector)] = []

    package init() {}

    /// The shards of which the connection has seen anything, ascending.
    package var shards: [ShardID] { entries.map(\.shard) }

    package subscript(shard: ShardID) -> SessionVector? {
        let (index, isThere) = place(of: shard)
        return isThere ? entries[index].sessionVector : nil
    }

    /// Whether a replica of the shard may answer the connection without a read barrier.
    func isCaughtUp(_ shard: ShardID, with replica: SessionVector.ObservedReplica) -> Bool {
        let (index, isThere) = place(of: shard)
        return !isThere || entries[index].sessionVector.replica == replica
    }

    package mutating func recordObservation(_ observation: Observation) {
        let (index, isThere) = place(of: observation.shard)
        if isThere {
            entries[index].sessionVector.recordSeen(observation.vector, from: observation.replica)
        } else {
            entries.insert((observation.shard, SessionVector(observation)), at: index)
        }
    }

    package mutating func noteTold(_ observation: Observation) {
        let (index, isThere) = place(of: observation.shard)
        if isThere, let position = observation.vector {
            entries[index].sessionVector.noteTold(position, from: observation.replica)
        } else if !isThere {
            entries.insert((observation.shard, SessionVector(observation)), at: index)
        }
    }

    /// Records that a replica contains all changes that the connection has seen, or all of them
    /// that still exist.
    package mutating func replace(_ observation: Observation) {
        let (index, isThere) = place(of: observation.shard)
        if isThere { entries.remove(at: index) }
        entries.insert((observation.shard, SessionVector(observation)), at: index)
    }

    package mutating func forgetReplica(of shard: ShardID) {
        let (index, isThere) = place(of: shard)
        if isThere { entries[index].sessionVector.forgetReplica() }
    }

    /// Returns the index of a shard's entry, or the index at which the entry would be inserted.
    private func place(of shard: ShardID) -> (index: Int, isThere: Bool) {
        let index = entries.partitioningIndex { $0.shard >= shard }
        return (index, index < entries.count && entries[index].shard == shard)
    }
}
