import Replication
import Wire

/// The sign of life that a node sends to each member twice a second: whether the two are in sync,
/// whether it hears the receiver, and what it cannot answer for.
package struct Pulse: Hashable, Sendable {
    /// Of the shards that the two own; the ones that are not ready are all that the sender owns.
    package let summary: Frame.Summary
    /// For how long the sender has heard nothing of the receiver, in milliseconds.
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
