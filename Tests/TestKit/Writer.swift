import CRDT
import Wire

/// A replica that names its mutations as a node does, with new dots and stamps of a hybrid clock.
///
/// Its wall clock is its own and may be wrong.
package struct Writer {
    package private(set) var replica: ReplicaID
    package var wallMilliseconds: UInt64
    private var clock: HybridClock
    private var seq: UInt64
    private var counter: UInt64 = 0

    package init(replica: ReplicaID, wallMilliseconds: UInt64) {
        self.replica = replica
        self.wallMilliseconds = wallMilliseconds
        clock = HybridClock()
        seq = 0
    }

    package mutating func nextDot() -> Dot {
        seq += 1
        return Dot(replica: replica, seq: seq)
    }

    package mutating func nextTime() -> HybridTimestamp {
        clock.next(at: wall)
    }

    /// Returns the stamp of an operation that this replica reads and executes itself.
    package mutating func nextStamp() -> Stamp {
        counter += 1
        return Stamp(time: nextTime(), process: replica, counter: counter)
    }

    package mutating func observe(_ time: HybridTimestamp) { clock.observe(time, at: wall) }

    /// The wall time, with which every timestamp is believed, however far ahead.
    private var wall: WallTime {
        WallTime(milliseconds: wallMilliseconds, latestMilliseconds: .max)
    }

    /// Becomes a new process on the same disk, or on an empty one, which never continues a
    /// numbering.
    package mutating func restart(as replica: ReplicaID, startingAfter greatest: HybridTimestamp) {
        self.replica = replica
        clock = HybridClock(startingAfter: greatest)
        seq = 0
        counter = 0
    }
}
