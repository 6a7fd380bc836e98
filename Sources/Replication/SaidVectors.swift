import CRDT
import Wire

/// A shard's vector in a frame: whole, or as the difference to a base vector that was sent earlier
/// in the same direction of the same connection.
public struct SaidVector: Hashable, Sendable {
    enum Form: Hashable, Sendable {
        case whole
        /// The whole vector, which also becomes the base of later vectors of the shard.
        case base
        /// The ranges of the vector that the base with this name does not contain.
        case beyond(CheckpointID)
    }

    /// The whole vector; in the form `beyond`, from `SaidVectors.say` until `SaidVectors.hear`,
    /// only the ranges that the base does not contain.
    public let vector: Vector
    let form: Form

    public init(_ vector: Vector) { self.init(vector, .whole) }

    init(_ vector: Vector, _ form: Form) {
        self.vector = vector
        self.form = form
    }
}

/// A frame that contains vectors of shards.
public protocol VectorCarrier {
    mutating func eachVector(_ body: (ShardID, inout SaidVector) -> Void)
}

/// The base vectors for one direction of a connection: the last base of each shard.
///
/// Both ends keep the same bases, because frames arrive in the order in which they were sent, and a
/// frame that is not sent does not change the table. A receiver that lacks a base after an error
/// reports the shard, and the sender then sends the whole vector. The name of a base is a hash of
/// its bytes, so no base is mistaken for another.
public struct SaidVectors: Sendable {
    private var bases: [ShardID: VectorBase] = [:]
    private var rangesCount = 0
    private let restRangesMax: Int

    /// The greatest number of ranges in all bases together, which limits their memory to about 12
    /// MB.
    ///
    /// 64 shards with 2,000 replica ids each reach this limit; further vectors are sent whole.
    static let rangesMax = 1 << 17

    /// - Parameter restRangesMax: how many ranges that the base lacks are sent before the whole
    ///   vector becomes a new base.
    public init(restRangesMax: Int) { self.restRangesMax = restRangesMax }

    /// Sends a frame with its vectors encoded for the other end.
    ///
    /// - Parameter send: returns false if the frame was not sent; the bases then remain unchanged.
    public mutating func say<Carrier: VectorCarrier>(
        in frame: Carrier, sending send: (Carrier) -> Bool
    ) -> Bool {
        let before = self
        var frame = frame
        say(in: &frame)
        guard send(frame) else {
            self = before
            return false
        }
        return true
    }

    mutating func say(in frame: inout some VectorCarrier) {
        frame.eachVector { shard, said in said = say(said.vector, of: shard) }
    }

    /// Replaces all vectors of a received frame that refer to a base by whole vectors.
    ///
    /// A shard may occur only once in a frame, which limits the size of the decoded vectors to the
    /// size of the frame plus the size of all bases.
    ///
    /// - Returns: the shards whose vectors could not be completed.
    public mutating func hear(in frame: inout some VectorCarrier) -> [ShardID] {
        var shards: Set<ShardID> = []
        var unheard: [ShardID] = []
        frame.eachVector { shard, said in
            if shards.insert(shard).inserted, let vector = hear(said, of: shard) {
                said = SaidVector(vector)
            } else {
                unheard.append(shard)
            }
        }
        return unheard
    }

    /// - Returns: the vector to send; if the frame is not sent, the caller restores the old table
    ///   of bases.
    mutating func say(_ vector: Vector, of shard: ShardID) -> SaidVector {
        if let base = bases[shard], let name = base.name,
            let rest = vector.rest(beyond: base.vector), rest.rangesCount <= restRangesMax
        {
            return SaidVector(rest, .beyond(name))
        }
        let isKept = vector.rangesCount > restRangesMax && keep(vector, of: shard)
        return SaidVector(vector, isKept ? .base : .whole)
    }

    /// - Returns: the whole vector; nil if the receiver lacks the base that the vector names.
    mutating func hear(_ said: SaidVector, of shard: ShardID) -> Vector? {
        switch said.form {
        case .whole: return said.vector
        case .base:
            _ = keep(said.vector, of: shard)
            return said.vector
        case .beyond(let name):
            guard let base = bases[shard], base.name == name else { return nil }
            return base.vector.union(said.vector)
        }
    }

    /// Removes the base of a shard that the receiver reported as unknown; the next vector of the
    /// shard is sent whole.
    public mutating func removeShard(_ shard: ShardID) {
        rangesCount -= bases.removeValue(forKey: shard)?.vector.rangesCount ?? 0
    }

    /// - Returns: false if the vector exceeds the limits and does not become a base.
    private mutating func keep(_ vector: Vector, of shard: ShardID) -> Bool {
        let ranges = vector.rangesCount
        let others = rangesCount - (bases[shard]?.vector.rangesCount ?? 0)
        guard others + ranges <= SaidVectors.rangesMax, ranges <= Vector.sharedRangesMax,
            vector.entries.count <= Vector.sharedReplicasMax
        else { return false }
        rangesCount = others + ranges
        bases[shard] = VectorBase(vector)
        return true
    }
}

extension SaidVector: WireValue {
    public func encode(into writer: inout ByteWriter) {
        switch form {
        case .whole: writer.write(1)
        case .base: writer.write(2)
        case .beyond(let name):
            writer.write(3)
            writer.write(fixed: name.bits)
        }
        vector.encodeShared(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        switch try reader.readByte() {
        case 1: form = .whole
        case 2: form = .base
        case 3: form = .beyond(CheckpointID(bits: try reader.readFixed()))
        default: throw .unknown
        }
        vector = try Vector(sharedFrom: &reader)
    }
}
