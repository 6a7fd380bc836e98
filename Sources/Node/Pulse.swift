import Replication
import Wire

/// The heartbeat that a node sends to each member twice a second.
///
/// The pulse shows whether both nodes are in sync, whether the sender hears the receiver, and for
/// which shards the sender cannot answer.
package struct Pulse: Hashable, Sendable {
    /// The hash is computed over the shards that both nodes own; the unready shards are all shards
    /// that the sender owns and cannot answer for.
    package let summary: Frame.Summary
    /// The time since the sender last heard from the receiver, in milliseconds.
    package let silence: UInt64

    package init(_ summary: Frame.Summary, silence: UInt64) {
        self.summary = summary
        self.silence = silence
    }
}

extension Pulse: WireValue {
    package func encode(into writer: inout ByteWriter) {
        summary.encode(into: &writer)
        writer.write(varint: silence)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        summary = try Frame.Summary(from: &reader)
        silence = try reader.readVarint()
    }
}
