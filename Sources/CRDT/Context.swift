import Wire

/// A map from replica id to last seen seq, for the adds of one element or the changes of a
/// document.
///
/// The greatest seq is enough here, whereas a shard's `Vector` needs sets: a replica's later state
/// of an element or a document contains all of its earlier states, and states are sent whole.
public struct Context: Hashable, Sendable {
    /// The dots, one for each replica id, ascending by replica id.
    public private(set) var dots: [Dot]

    public init() { dots = [] }

    public init(_ dot: Dot) { dots = [dot] }

    public var isEmpty: Bool { dots.isEmpty }

    public func contains(_ dot: Dot) -> Bool { seq(of: dot.replica) >= dot.seq }

    /// Returns the last seq of `replica`; 0 if the context does not contain the replica id.
    public func seq(of replica: ReplicaID) -> UInt64 {
        let index = firstIndex(notBefore: replica)
        return index < dots.count && dots[index].replica == replica ? dots[index].seq : 0
    }

    public mutating func insert(_ dot: Dot) {
        let index = firstIndex(notBefore: dot.replica)
        if index == dots.count || dots[index].replica != dot.replica {
            dots.insert(dot, at: index)
        } else if dots[index].seq < dot.seq {
            dots[index] = dot
        }
    }

    public mutating func merge(_ other: Context) {
        if other.dots.count == 1 { return insert(other.dots[0]) }
        dots = mergedAscending(dots, other.dots, by: \.replica) { $0.seq < $1.seq ? $1 : $0 }
    }

    /// Whether this context contains every dot of `other`.
    public func covers(_ other: Context) -> Bool { other.dots.allSatisfy(contains) }

    private func firstIndex(notBefore replica: ReplicaID) -> Int {
        dots.partitioningIndex { $0.replica >= replica }
    }
}

extension Context: WireValue {
    public func encode(into writer: inout ByteWriter) {
        dots.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        // The count has no limit except the remaining bytes: a context is part of a document, whose
        // size is limited.
        dots = try reader.readList().ascending("replicas", by: \.replica)
    }
}
