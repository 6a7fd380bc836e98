import CRDT
import Chat
import Replication
import StorePort
import Wire

/// Damage on disk that reads of a shard have found: bad documents, or a bad index.
///
/// If only an index is bad, `documents` is empty.
package struct Damage: Hashable, Sendable {
    package private(set) var documents: [DocumentKey] = []

    func with(_ key: DocumentKey) -> Damage {
        var damage = self
        if !documents.contains(key) { damage.documents.append(key) }
        return damage
    }
}

extension ShardMachine {
    /// Removes and returns the damage that reads of the disk have found; nil for none.
    package mutating func takeDamage() -> Damage? {
        defer { damage = nil }
        return damage
    }

    /// Records the damage that a failed read of the disk found.
    mutating func recordDamage(_ failure: StoreFailure) {
        switch failure {
        case .badRecord(let key): damage = (damage ?? Damage()).with(key)
        case .badIndex: damage = damage ?? Damage()
        case .full, .locked, .failed: return
        }
    }

    /// Records that a check has found all documents of this header on disk and in the indexes.
    package mutating func onChecked(_ header: ReplicaHeader) { replica.onChecked(header) }

    /// Records that the disk has lost acknowledged changes.
    package mutating func doubt(now: UInt64) { replica.doubt(now: now) }

    /// Stops serving until the bad documents are set aside.
    package mutating func suspend(now: UInt64) { replica.suspend(now: now) }

    /// Continues with the documents that remain after bad documents were set aside.
    ///
    /// The caller may call this method only while all changes are on disk. The disk has to drop the
    /// bad documents and store the header in one transaction. The connections to the co-owners have
    /// to be closed, because changes that were confirmed on these connections may be lost.
    ///
    /// - Parameter header: the header of the remaining documents; the stored header if only an
    ///   index was damaged.
    /// - Returns: the slots whose replies fail.
    package mutating func onSetAside(
        _ header: ReplicaHeader, at wall: WallTime, now: UInt64
    ) -> [ReplySlot] {
        documents.removeAll()
        counts.removeAll()
        clock.observe(header.greatest, at: wall)
        defer { dropAddressedEvents() }
        return replica.onSetAside(header, now: now)
    }
}
