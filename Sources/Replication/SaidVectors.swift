import CRDT
import Wire

/// A vector of a shard on its way over a connection: whole, or as what it has beyond one that went
/// the same way before.
public struct SaidVector: Hashable, Sendable {
    enum Form: Hashable, Sendable {
        case whole
        /// Whole, and a base of those that follow.
        case base
        /// What it has beyond the base of this name.
        case beyond(CheckpointID)
    }

    /// The whole vector, except in the form `beyond` between `SaidVectors.say` and `hear`: there it
    /// claims less than was said.
    public let vector: Vector
    let form: Form

    public init(_ vector: Vector) { self.init(vector, .whole) }

    init(_ vector: Vector, _ form: Form) {
        self.vector = vector
        self.form = form
    }
}

/// A frame that names vectors of shards.
public protocol VectorCarrier {
    mutating func eachVector(_ body: (ShardID, inout SaidVector) -> Void)
}

/// The bases of the vectors that go one way over a connection: the last of each shard.
///
/// Both ends keep them alike: what is said is heard in the same order, and what does not arrive is
/// not said. An end that all the same lacks a base says so, and is told the whole; the name of a
/// base being a hash of its bytes, nobody takes one for another.
public struct SaidVectors: Sendable {
    private var bases: [ShardID: VectorBase] = [:]
    private var rangesCount = 0
    private let restRangesMax: Int

    /// The most ranges of all bases together: what an end keeps for the other is some 12 MB.
    ///
    /// Sixty-four shards of 2,000 processes each have as many; what is beyond is said whole.
    static let rangesMax = 1 << 17

    /// - Parameter restRangesMax: how much is said beyond a base before the next is said.
    public init(restRangesMax: Int) { self.restRangesMax = restRangesMax }

    /// Sends a frame with its vectors as the other end can complete them.
    ///
    /// - Parameter send: false where the frame does not go out: then nothing was said.
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

    /// Takes all vectors of a frame.
    ///
    /// Each shard counts once: what comes of a frame is no more than that and all bases.
    ///
    /// - Returns: the shards of which it is not known what was said.
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

    /// - Returns: what to say; it has to go out, or this value back to what it was.
    mutating func say(_ vector: Vector, of shard: ShardID) -> SaidVector {
        if let base = bases[shard], let name = base.name,
            let rest = vector.rest(beyond: base.vector), rest.rangesCount <= restRangesMax
        {
            return SaidVector(rest, .beyond(name))
        }
        let isKept = vector.rangesCount > restRangesMax && keep(vector, of: shard)
        return SaidVector(vector, isKept ? .base : .whole)
    }

    /// - Returns: all that was said; nil where its base is not known.
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

    /// The other end does not know the base: the next is said whole.
    public mutating func forget(_ shard: ShardID) {
        rangesCount -= bases.removeValue(forKey: shard)?.vector.rangesCount ?? 0
    }

    /// - Returns: false where there is no room for it, or not all of it is said.
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
