import Chat
import Replication
import StorePort
import Wire

/// The behaviour of a node on a full disk: it refuses writes, serves reads, and still deletes.
extension Node {
    /// The least time between two measurements of the free space while commits are handed out, in
    /// milliseconds.
    ///
    /// A measurement takes a few system calls, and a fast disk writes one or two megabytes in 5 ms.
    private static let lookMilliseconds: UInt64 = 5

    /// Whether deletions alone are accepted.
    var isDiskFull: Bool { pressure.isLow }

    /// Measures the free space, unless that was done a moment ago.
    func lookAtDiskAgain() {
        if ports.clock.milliseconds >= lookedAt + Node.lookMilliseconds { lookAtDisk() }
    }

    /// Measures the free space and does what follows from it: at each tick, before commits, and
    /// after one that found the disk full.
    func lookAtDisk() {
        lookedAt = ports.clock.milliseconds
        let space = ports.store.diskSpace ?? DiskSpace.unknown
        let wasLow = pressure.isLow
        for step in pressure.onSpaceMeasured(space, now: ports.clock.milliseconds) {
            switch step {
            case .emptyLog: ports.store.emptyLog()
            case .makeReserve: ports.store.makeReserve()
            }
        }
        if pressure.isLow != wasLow { tellOfPressure(free: space.freeBytes) }
    }

    private func tellOfPressure(free: UInt64) {
        let isLow = pressure.isLow
        ports.store.setUrgent(isLow)
        for shard in shards { within(shard) { $0.setFull(isLow) } }
        if isLow {
            ports.host.log(.error, "disk full: only deletions are accepted free=\(free)")
        } else {
            ports.host.log(.info, "disk space is sufficient again free=\(free)")
        }
    }

    /// Whether writes are refused: on a full disk all but deletions, on a locked database all.
    var isRefusing: Bool { isDiskFull || pressure.isLocked }

    /// The reason to refuse a request; nil where the disk takes it.
    func refusal(of request: PeerRequest.Request) -> StoreFailure? {
        guard case .write(let operation, _, _) = request else { return nil }
        if pressure.isLocked { return .locked }
        return isDiskFull && !operation.mutation.action.deletes ? .full : nil
    }

    /// At each tick, tries by a commit of the member table whether the database is still locked.
    ///
    /// A client's write is not tried: a failed commit would retire the shard's replica id.
    func tickLock() {
        if pressure.isLocked, isSettled, settingsToKeep.isEmpty { keepMembers() }
    }
}

extension Document {
    /// Whether a full disk takes this document in the place of `old`: it is a deleted item, a
    /// message deleted for everyone, a message whose `deletedBy` differs from that of `old`, a
    /// purged part, or a closed file that is here.
    func deletes(over old: Document?) -> Bool {
        if let item { return item.isDeleted }
        if let part { return part.isPurged }
        if let file { return file.isClosed && old != nil }
        guard let message else { return false }
        guard !message.isRetracted else { return true }
        return old?.message.map { $0.deletedBy != message.deletedBy } ?? false
    }
}
