import CRDT
import Wire

/// A vector that others are written against: as its name, and what they have beyond it.
///
/// Each process that ever wrote to a shard is in its vector for ever, and few of them change. So
/// what is written again and again names a base that is written once.
///
/// The name is a hash of the base's bytes. It claims nothing: what was written against a base says
/// something only to who has exactly these bytes, and to all others it is unreadable.
public struct VectorBase: Hashable, Sendable {
    public let vector: Vector
    /// Nil where there is nothing in it.
    let name: CheckpointID?

    /// How many ranges beyond a base are written before the base is written anew; a vector of fewer
    /// has none.
    ///
    /// Some 1.3 KB; five nodes add as many in twelve starts of each.
    public static let restRangesMax = 64

    init() {
        vector = Vector()
        name = nil
    }

    init(_ vector: Vector) {
        self.vector = vector
        name = vector.isEmpty ? nil : CheckpointID(of: vector)
    }

    /// The base of that name; nil where these are not its bytes.
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
