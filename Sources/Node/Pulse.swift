import Replication
import Wire

/// The sign of life that a node sends to each member twice a second: whether the two are in sync,
/// whether the sender hears the receiver, and which shards the sender cannot answer for.
package struct Pulse: Hashable, Sendable {
    /// The hash covers the shards that both own; the unready shards are all of those that the
    /// sender owns.
    package let summary: Frame.Summary
    /// How long the sender has heard nothing from the receiver, in milliseconds.
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
