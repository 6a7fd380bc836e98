import CRDT
import Wire

/// The progress of a shard's replay to a watcher whose connection may break.
///
/// A scan sends documents in the order of their changes. If a later change has altered a document,
/// the scan passes the earlier change without an event and sends the document under the later
/// change. Another replica may still have the document in its earlier state, under the change that
/// was passed. Therefore the progress is valid only at a replica that contains all changes that the
/// scanned replica contained when the scan passed the change.
package struct ReplayProgress: Hashable, Sendable {
    /// The changes that the replay has passed, up to the last document sent, without those that the
    /// watcher had seen before.
    package var passed = Vector()
    /// The vector of the replica that the replay read, at its last read.
    package var target = Vector()

    package init() {}

    init(passed: Vector, target: Vector) {
        self.passed = passed
        self.target = target
    }

    var isEmpty: Bool { passed.isEmpty }
}

extension ReplayProgress: WireValue {
    package func encode(into writer: inout ByteWriter) {
        passed.encodeShared(into: &writer)
        target.encodeShared(into: &writer)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        passed = try Vector(sharedFrom: &reader)
        target = try Vector(sharedFrom: &reader)
    }
}
