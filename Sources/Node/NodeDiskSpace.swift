import Chat
import Replication
import Wire

/// A disk that is full refuses writes, shows what it holds, and still deletes.
extension Node {
    /// How often the disk is looked at while much is written, in milliseconds: three calls of the
    /// system, in which time a fast disk takes a megabyte or two.
    private static let lookMilliseconds: UInt64 = 5

    /// Whether only deletions are taken.
    var isDiskFull: Bool { pressure.isLow }

    /// Looks how much room there is, unless that was done a moment ago.
    func lookAtDiskAgain() {
        if ports.clock.milliseconds >= lookedAt + Node.lookMilliseconds { lookAtDisk() }
    }

    /// Looks how much room there is: each tick, before commits, and after one that failed.
    func lookAtDisk() {
        lookedAt = ports.clock.milliseconds
        let room = ports.store.room ?? DiskSpace.unknown
        let wasLow = pressure.isLow
        for step in pressure.onRoom(room, now: ports.clock.milliseconds) {
            switch step {
            case .emptyLog: ports.store.emptyLog()
            case .makeReserve: ports.store.makeReserve()
            }
        }
        if pressure.isLow != wasLow { tellOfPressure(free: room.freeBytes) }
    }

    private func tellOfPressure(free: UInt64) {
        let isLow = pressure.isLow
        ports.store.setUrgent(isLow)
        for shard in shards { within(shard) { $0.setFull(isLow) } }
        if isLow {
            ports.host.log(.error, "disk full: only deletions are taken free=\(free)")
        } else {
            ports.host.log(.info, "there is room on the disk again free=\(free)")
        }
    }

    /// Whether writes are refused.
    var isRefusing: Bool { isDiskFull || pressure.isLocked }

    /// Why a request is refused; nil where the disk takes it.
    func refusal(of request: PeerRequest.Request) -> StoreFailure? {
        guard case .write(let operation, _, _) = request else { return nil }
        if pressure.isLocked { return .locked }
        return isDiskFull && !operation.mutation.deletes ? .full : nil
    }

    /// Each tick: tries whether the database is unlocked.
    ///
    /// A client's write that failed would end a numbering.
    func tickLock() {
        if pressure.isLocked, isSettled, settingsToKeep.isEmpty { keepMembers() }
    }
}

extension Mutation {
    /// Whether it deletes a message, for its user or for everyone, or an action item.
    var deletes: Bool {
        switch action {
        case .hide, .retract, .deleteItem: true
        default: false
        }
    }
}

extension Document {
    /// Whether it is the other one, with something of it deleted.
    func deletes(over old: Document?) -> Bool {
        if let item { return item.isDeleted }
        guard let message else { return false }
        guard !message.isRetracted else { return true }
        return old?.message.map { $0.deletedBy != message.deletedBy } ?? false
    }
}
