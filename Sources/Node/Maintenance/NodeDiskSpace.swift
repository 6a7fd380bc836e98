import Chat
import Replication
import StorePort
import Wire

/// The behaviour of a node on a full disk: it refuses other writes, serves reads, and still
/// deletes.
extension Node {
    /// The minimum time between two measurements of free space while the node commits, in
    /// milliseconds.
    ///
    /// A measurement takes a few system calls, and a fast disk writes one or two megabytes in 5 ms.
    private static let lookMilliseconds: UInt64 = 5

    /// Whether only deletions are accepted.
    var isDiskFull: Bool { pressure.isLow }

    /// Measures the free space, unless the last measurement is less than `lookMilliseconds` old.
    func lookAtDiskAgain() {
        if ports.clock.milliseconds >= lookedAt + Node.lookMilliseconds { lookAtDisk() }
    }

    /// Measures the free space and executes the resulting steps: at each tick, before commits, and
    /// after a commit that found the disk full.
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

    /// Whether writes are refused: a full disk refuses all writes but deletions, and a locked
    /// database refuses all writes.
    var isRefusing: Bool { isDiskFull || pressure.isLocked }

    /// The reason to refuse a request; nil if the disk accepts the request.
    func refusal(of request: PeerRequest.Request) -> StoreFailure? {
        guard case .write(let operation, _, _) = request else { return nil }
        if pressure.isLocked { return .locked }
        return isDiskFull && !operation.mutation.action.deletes ? .full : nil
    }

    /// Tests at each tick whether the database is still locked, by committing the member table.
    ///
    /// A client's write is not used, because a failed commit would retire the shard's replica id.
    func tickLock() {
        if pressure.isLocked, isSettled, settingsToKeep.isEmpty { keepMembers() }
    }
}

extension Document {
    /// Whether a full disk accepts this document in place of `old`: a deleted item, a message
    /// deleted for everyone, a message whose `deletedBy` differs from that of `old`, a purged part
    /// of a file, or a closed file that exists here already.
    func deletes(over old: Document?) -> Bool {
        if let item { return item.isDeleted }
        if let part { return part.isPurged }
        if let file { return file.isClosed && old != nil }
        guard let message else { return false }
        guard !message.isRetracted else { return true }
        return old?.message.map { $0.deletedBy != message.deletedBy } ?? false
    }
}
