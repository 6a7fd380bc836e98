import CRDT
import Replication
import Wire

/// What one connection has seen of a shard.
package struct SessionVector: Hashable, Sendable {
    /// A copy that surely holds it all.
    ///
    /// What a copy has on disk only grows while its process lives, so whoever is asked there goes
    /// forward; any other copy is looked at first.
    package enum ObservedReplica: Hashable, Sendable {
        /// That of this node.
        case here
        /// That of the member at the other end of a connection.
        case member(channel: UInt64)
    }

    /// What it was shown.
    package private(set) var vector: Vector
    /// Nil where no one copy is known to hold it all.
    package private(set) var replica: ObservedReplica?

    package init(vector: Vector, replica: ObservedReplica?) {
        self.vector = vector
        self.replica = replica
    }

    init(_ observation: Observation) {
        self.init(vector: observation.vector ?? Vector(), replica: observation.replica)
    }

    /// Something was seen, or written, at a copy.
    ///
    /// - Parameter vector: what that copy holds, where it was shown.
    package mutating func note(_ vector: Vector?, from replica: ObservedReplica) {
        if self.replica == replica {
            if let vector { self.vector = vector }
        } else if let vector, vector.covers(self.vector) {
            self = SessionVector(vector: vector, replica: nil)
        } else {
            if let vector { self.vector.formUnion(vector) }
            self.replica = nil
        }
    }

    /// Its replica may have lost something.
    package mutating func forgetReplica() { replica = nil }
}

/// What a copy showed of a shard.
package struct Observation: Hashable, Sendable {
    package let shard: ShardID
    /// What it holds; nil where only a write was carried out.
    package let vector: Vector?
    package let replica: SessionVector.ObservedReplica

    package init(_ shard: ShardID, _ vector: Vector?, by replica: SessionVector.ObservedReplica) {
        self.shard = shard
        self.vector = vector
        self.replica = replica
    }
}

/// What a copy on another node showed of a shard, on its way here.
package struct ObservedShard: VectorCarrier, Hashable, Sendable {
    package let shard: ShardID
    private var said: SaidVector

    package init(shard: ShardID, vector: Vector) {
        self.shard = shard
        said = SaidVector(vector)
    }

    /// The whole vector, once `SaidVectors.hear` has completed it.
    package var vector: Vector { said.vector }

    /// About what it takes in a frame.
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

/// What a copy has to hold before it answers a connection.
package struct ReadConstraint: Hashable, Sendable {
    package private(set) var minimum: MinimumVersion
    /// Whether nothing less will do: the client carried a token here.
    ///
    /// Else what the members that can be reached have together is enough, so that a connection
    /// that asked for nothing is not refused for what one dead disk alone may hold.
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

/// What a connection has seen, by shard.
package struct SessionVectors: Sendable {
    /// Ascending by shard: each request asks for one, and a hash takes more steps than finding it.
    private var entries: [(shard: ShardID, sessionVector: SessionVector)] = []

    package init() {}

    /// The shards of which anything was seen, ascending.
    package var shards: [ShardID] { entries.map(\.shard) }

    package subscript(shard: ShardID) -> SessionVector? {
        let (index, isThere) = place(of: shard)
        return isThere ? entries[index].sessionVector : nil
    }

    /// Whether that copy of the shard may answer as it is.
    func isLevel(_ shard: ShardID, with replica: SessionVector.ObservedReplica) -> Bool {
        let (index, isThere) = place(of: shard)
        return !isThere || entries[index].sessionVector.replica == replica
    }

    package mutating func note(_ observation: Observation) {
        let (index, isThere) = place(of: observation.shard)
        if isThere {
            entries[index].sessionVector.note(observation.vector, from: observation.replica)
        } else {
            entries.insert((observation.shard, SessionVector(observation)), at: index)
        }
    }

    /// A copy holds all that was seen, or whatever of it still exists.
    package mutating func replace(_ observation: Observation) {
        let (index, isThere) = place(of: observation.shard)
        if isThere { entries.remove(at: index) }
        entries.insert((observation.shard, SessionVector(observation)), at: index)
    }

    package mutating func forgetReplica(of shard: ShardID) {
        let (index, isThere) = place(of: shard)
        if isThere { entries[index].sessionVector.forgetReplica() }
    }

    /// Where the entry of a shard is, or would be.
    private func place(of shard: ShardID) -> (index: Int, isThere: Bool) {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].shard < shard { low = middle + 1 } else { high = middle }
        }
        return (low, low < entries.count && entries[low].shard == shard)
    }
}
