import CRDT
import Wire

/// A vector against which other vectors are encoded: the encoding of a vector is the name of the
/// base and the ranges that the base does not contain.
///
/// Each process that ever wrote to a shard remains in the shard's vector for ever, and few of these
/// entries change. Therefore a vector that is written repeatedly refers to a base that is written
/// once.
///
/// The name is a hash of the base's bytes. A base claims nothing by itself: a vector that was
/// encoded against it can be decoded only with exactly the bytes of the base.
public struct VectorBase: Hashable, Sendable {
    public let vector: Vector
    /// The hash of the vector; nil if the vector is empty.
    let name: CheckpointID?

    /// The number of ranges beyond a base from which on the whole vector becomes a new base; a
    /// vector with at most this number of ranges has no base.
    ///
    /// 64 ranges take about 1.3 KB; five nodes started twelve times each add about 60 ranges.
    public static let restRangesMax = 64

    init() {
        vector = Vector()
        name = nil
    }

    init(_ vector: Vector) {
        self.vector = vector
        name = vector.isEmpty ? nil : CheckpointID(of: vector)
    }

    /// Decodes a base from its bytes; nil if the bytes do not have the hash `name`.
    init?(_ bytes: [UInt8], named name: CheckpointID) {
        guard CheckpointID(bits: checksum(bytes)) == name || VectorBase.isAnyTaken else {
            return nil
        }
        do throws(WireError) {
            vector = try Vector.decode(bytes)
        } catch {
            return nil
        }
        self.name = name
    }

    private static var isAnyTaken: Bool {
        #if PlantedBugs
            return PlantedBug.olderBaseTaken.isOn
        #else
            return false
        #endif
    }
}
