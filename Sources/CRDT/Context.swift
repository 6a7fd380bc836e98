import Wire

/// Per replica, the last seq seen: of one element's adds, or of one document's changes.
///
/// The greatest seq is enough, where a shard's `Vector` needs sets: a replica's later state of an
/// element or a document holds all that its earlier states of it held, and states travel whole.
public struct Context: Hashable, Sendable {
    /// Ascending by replica, one dot each.
    public private(set) var dots: [Dot]

    public init() { dots = [] }

    public init(_ dot: Dot) { dots = [dot] }

    public var isEmpty: Bool { dots.isEmpty }

    public func contains(_ dot: Dot) -> Bool { seq(of: dot.replica) >= dot.seq }

    /// The last seq of `replica`, 0 where there is none.
    public func seq(of replica: ReplicaID) -> UInt64 {
        dots.first { $0.replica == replica }?.seq ?? 0
    }

    public mutating func insert(_ dot: Dot) {
        guard let index = dots.firstIndex(where: { $0.replica >= dot.replica }) else {
            dots.append(dot)
            return
        }
        if dots[index].replica != dot.replica {
            dots.insert(dot, at: index)
        } else if dots[index].seq < dot.seq {
            dots[index] = dot
        }
    }

    public mutating func merge(_ other: Context) {
        for dot in other.dots { insert(dot) }
    }

    /// Whether nothing in `other` is unknown here.
    public func covers(_ other: Context) -> Bool { other.dots.allSatisfy(contains) }
}

extension Context: WireValue {
    /// The most replicas that one context may name; a replica is a process that wrote.
    static let replicasMax = 1 << 16

    public func encode(into writer: inout ByteWriter) {
        writer.write(count: dots.count)
        for dot in dots { dot.encode(into: &writer) }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        let count = try reader.readCount(limit: Context.replicasMax)
        dots = []
        dots.reserveCapacity(min(count, reader.remaining / Dot.bytesMin))
        for _ in 0..<count {
            let dot = try Dot(from: &reader)
            if let last = dots.last, last.replica >= dot.replica {
                throw .invalid("replicas that ascend")
            }
            dots.append(dot)
        }
    }
}
