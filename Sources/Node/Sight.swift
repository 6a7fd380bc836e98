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

    init(_ sighting: Sighting) {
        self.init(vector: sighting.vector ?? Vector(), witness: sighting.witness)
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
package struct SeenShard: VectorCarrier, Hashable, Sendable {
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

extension SeenShard: WireValue {
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
package struct Demand: Hashable, Sendable {
    package private(set) var floor: Floor
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

extension Demand {
    mutating func eachVector(_ body: (inout SaidVector) -> Void) {
        guard case .vector(var vector) = floor else { return }
        body(&vector)
        floor = .vector(vector)
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
    /// Ascending by shard: each request asks for one, and a hash takes more steps than finding it.
    private var entries: [(shard: ShardID, sight: Sight)] = []

    package init() {}

    /// The shards of which anything was seen, ascending.
    package var shards: [ShardID] { entries.map(\.shard) }

    package subscript(shard: ShardID) -> Sight? {
        let (index, isThere) = place(of: shard)
        return isThere ? entries[index].sight : nil
    }

    /// Whether that copy of the shard may answer as it is.
    func isLevel(_ shard: ShardID, with witness: Sight.Witness) -> Bool {
        let (index, isThere) = place(of: shard)
        return !isThere || entries[index].sight.witness == witness
    }

    package mutating func note(_ sighting: Sighting) {
        let (index, isThere) = place(of: sighting.shard)
        if isThere {
            entries[index].sight.note(sighting.vector, from: sighting.witness)
        } else {
            entries.insert((sighting.shard, Sight(sighting)), at: index)
        }
    }

    /// A copy holds all that was seen, or whatever of it still exists.
    package mutating func replace(_ sighting: Sighting) {
        let (index, isThere) = place(of: sighting.shard)
        if isThere { entries.remove(at: index) }
        entries.insert((sighting.shard, Sight(sighting)), at: index)
    }

    package mutating func forgetWitness(of shard: ShardID) {
        let (index, isThere) = place(of: shard)
        if isThere { entries[index].sight.forgetWitness() }
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
