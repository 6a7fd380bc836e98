import CRDT
import Wire

/// A vector that other vectors are encoded against, as its name and the ranges that they have
/// beyond it.
///
/// Each process that ever wrote to a shard remains in the shard's vector for ever, and few of these
/// entries change. Therefore a vector that is written again and again names a base that is written
/// once.
///
/// The name is a hash of the base's bytes. A base claims nothing by itself: a vector that was
/// encoded against it can be decoded only with exactly these bytes.
public struct VectorBase: Hashable, Sendable {
    public let vector: Vector
    /// The hash of the vector; nil where the vector is empty.
    let name: CheckpointID?

    /// The number of ranges beyond a base from which on the whole vector becomes a new base; a
    /// vector with no more ranges than that has no base.
    ///
    /// 64 ranges take about 1.3 KB; five nodes that are started twelve times each add nearly as
    /// many.
    public static let restRangesMax = 64

    init() {
        vector = Vector()
        name = nil
    }

    init(_ vector: Vector) {
        self.vector = vector
        name = vector.isEmpty ? nil : CheckpointID(of: vector)
    }

    /// Decodes the base of that name; nil where these are not its bytes.
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
