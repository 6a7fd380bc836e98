import CRDT
import Wire

/// The times at which some values of a view last changed, in an order that the view defines.
///
/// A client that merges values by time needs these times also where a value is absent. The node
/// determines them only for clients that have requested exact times.
public struct LastChanges: Hashable, Sendable {
    /// The times; zero for a value that never changed.
    private let times: [HybridTimestamp]

    /// The most values of one view.
    static let countMax = 4

    init(_ times: HybridTimestamp?...) { self.times = times.map { $0 ?? .zero } }

    /// The time of the last change of a value; nil for a value that never changed.
    subscript(_ index: Int) -> HybridTimestamp? {
        guard index < times.count, times[index] > .zero else { return nil }
        return times[index]
    }
}

extension LastChanges: WireValue {
    public func encode(into writer: inout ByteWriter) { times.encode(into: &writer) }

    public init(from reader: inout ByteReader) throws(WireError) {
        times = try reader.readList(limit: LastChanges.countMax)
    }
}
