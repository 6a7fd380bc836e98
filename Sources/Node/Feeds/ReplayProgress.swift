import CRDT
import Wire

/// The progress of the replay of a shard for a watcher that may be cut off.
///
/// A scan tells documents in the order of their changes. Of a document that a later change has
/// altered, the earlier one is passed without being told: it is told under the later change, which
/// may have been made since the scan began. Another replica may still have the document as it was,
/// under the change that was passed; so the progress counts only at a replica that holds all that
/// the scan's replica held when it passed the change.
package struct ReplayProgress: Hashable, Sendable {
    /// The changes beyond those that the watcher had seen, up to the document told last.
    package var passed = Vector()
    /// The vector of the replica that told them, when it last read what it told.
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
