import Replication
import Wire

/// The sign of life that a node sends to each member twice a second: whether the two are in sync,
/// whether it hears the receiver, and what it cannot answer for.
package struct Pulse: Hashable, Sendable {
    /// Over the hashes of all shards that the two own.
    package let hash: UInt64
    /// For how long the sender has heard nothing of the receiver, in milliseconds.
    package let silence: UInt64
    /// The shards that the sender owns and is not ready to answer for, ascending.
    package let unready: [ShardID]

    package init(hash: UInt64, silence: UInt64, unready: [ShardID]) {
        self.hash = hash
        self.silence = silence
        self.unready = unready
    }
}

extension Pulse: WireValue {
    package func encode(into writer: inout ByteWriter) {
        writer.write(fixed: hash)
        writer.write(varint: silence)
        writer.write(unready)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        hash = try reader.readFixed()
        silence = try reader.readVarint()
        unready = try reader.readShards()
    }
}
