import CRDT
import Replication
import Wire

/// What one connection has seen of a shard.
package struct Sight: Hashable, Sendable {
    /// A copy that surely holds it all.
    ///
    /// What a copy has on disk only grows while its process lives, so whoever is asked there goes
    /// forward; any other copy is looked at first.
    package enum Witness: Hashable, Sendable {
        /// That of this node.
        case here
        /// That of the member at the other end of a connection.
        case member(channel: UInt64)
    }

    /// What it was shown.
    package private(set) var vector: Vector
    /// Nil where no one copy is known to hold it all.
    package private(set) var witness: Witness?

    package init(vector: Vector, witness: Witness?) {
        self.vector = vector
        self.witness = witness
    }

    /// Something was seen, or written, at a copy.
    ///
    /// - Parameter vector: what that copy holds, where it was shown.
    package mutating func note(_ vector: Vector?, from witness: Witness) {
        if self.witness == witness {
            if let vector { self.vector = vector }
        } else if let vector, vector.covers(self.vector) {
            self = Sight(vector: vector, witness: nil)
        } else {
            if let vector { self.vector.formUnion(vector) }
            self.witness = nil
        }
    }

    /// Its witness may have lost something.
    package mutating func forgetWitness() { witness = nil }
}

/// What a copy showed of a shard.
package struct Sighting: Hashable, Sendable {
    package let shard: ShardID
    /// What it holds; nil where only a write was carried out.
    package let vector: Vector?
    package let witness: Sight.Witness

    package init(_ shard: ShardID, _ vector: Vector?, by witness: Sight.Witness) {
        self.shard = shard
        self.vector = vector
        self.witness = witness
    }
}

/// What a copy on another node showed of a shard, on its way here.
package struct SeenShard: Hashable, Sendable {
    package let shard: ShardID
    package let vector: Vector
}

extension SeenShard: WireValue {
    package func encode(into writer: inout ByteWriter) {
        writer.write(shard)
        vector.encode(into: &writer)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        shard = try reader.readShard()
        vector = try Vector(from: &reader)
    }
}

/// What a copy has to hold before it answers a connection.
package struct Demand: Hashable, Sendable {
    package let floor: Floor
    /// Whether nothing less will do: the client carried a token here.
    ///
    /// Else what the members that can be reached have together is enough, so that a connection
    /// that asked for nothing is not refused for what one dead disk alone may hold.
    package let isStrict: Bool

    package init(_ floor: Floor, isStrict: Bool) {
        self.floor = floor
        self.isStrict = isStrict
    }
}

extension Demand: WireValue {
    package func encode(into writer: inout ByteWriter) {
        floor.encode(into: &writer)
        writer.write(isStrict)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        floor = try Floor(from: &reader)
        isStrict = try reader.readFlag()
    }
}

/// What a connection has seen, by shard.
package struct Sights: Sendable {
    private var entries: [ShardID: Sight] = [:]

    package init() {}

    /// The shards of which anything was seen, ascending.
    package var shards: [ShardID] { entries.keys.sorted() }

    package subscript(shard: ShardID) -> Sight? { entries[shard] }

    /// Whether that copy of the shard may answer as it is.
    func isLevel(_ shard: ShardID, with witness: Sight.Witness) -> Bool {
        entries[shard].map { $0.witness == witness } ?? true
    }

    package mutating func note(_ sighting: Sighting) {
        let (vector, witness) = (sighting.vector, sighting.witness)
        entries[sighting.shard, default: Sight(vector: Vector(), witness: witness)]
            .note(vector, from: witness)
    }

    /// A copy holds all that was seen, or whatever of it still exists.
    package mutating func replace(_ sighting: Sighting) {
        entries[sighting.shard] = Sight(
            vector: sighting.vector ?? Vector(), witness: sighting.witness)
    }

    package mutating func forgetWitness(of shard: ShardID) { entries[shard]?.forgetWitness() }
}
