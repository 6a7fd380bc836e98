import Wire

/// The name of one mutation of one shard: who made it, and its how-manieth of that shard it was.
public struct Dot: Hashable, Comparable, Sendable {
    public let replica: ReplicaID
    /// Counted per shard and replica, from 1.
    public let seq: UInt64

    /// The greatest seq that is believed: more than disks can number, which count in 63 bits.
    static let seqMax: UInt64 = 1 << 62
    /// The fewest bytes of a dot: a replica's id, and the shortest number.
    static let bytesMin = 17

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
