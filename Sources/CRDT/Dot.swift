import Wire

/// The name of one change of one shard: a replica id, and the change's number within that id.
public struct Dot: Hashable, Comparable, Sendable {
    public let replica: ReplicaID
    /// The number of the change within its shard and replica id, from 1.
    public let seq: UInt64

    /// The greatest seq that is accepted; the disk format has 63 bits for a seq.
    static let seqMax: UInt64 = 1 << 62

    public init(replica: ReplicaID, seq: UInt64) {
        self.replica = replica
        self.seq = seq
    }

    public static func < (left: Dot, right: Dot) -> Bool {
        (left.replica, left.seq) < (right.replica, right.seq)
    }
}

extension Dot: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(replica)
        writer.write(varint: seq)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        self.init(replica: try reader.readID(), seq: try reader.readVarint())
        guard (1...Dot.seqMax).contains(seq) else { throw .invalid("a seq from 1") }
    }
}
