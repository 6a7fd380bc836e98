import CRDT
import Wire

/// The place of a reply: a connection of this node, and the reply's number on that connection.
public struct ReplySlot: Hashable, Sendable {
    public let session: UInt64
    public let number: UInt64

    public init(session: UInt64, number: UInt64) {
        self.session = session
        self.number = number
    }
}

/// The number of owners that have a write on disk.
///
/// Only `Acknowledgements` creates it, on this node or on the member that executed the request, so
/// nothing is acknowledged that is not on the disk of the node that creates it.
public struct Stored: Hashable, Sendable {
    public let on: Int
    public let owners: Int
    /// Whether that is as many owners as the write's level requires; dead owners do not lower the
    /// requirement.
    public let isEnough: Bool
}

extension Stored: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(count: on)
        writer.write(count: owners)
        writer.write(isEnough)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        let on = try reader.readVarint()
        let owners = try reader.readVarint()
        guard max(on, owners) <= Stored.ownersMax else { throw .invalid("a number of copies") }
        self.init(on: Int(on), owners: Int(owners), isEnough: try reader.readFlag())
    }

    /// More than the number of members in any cluster.
    private static let ownersMax: UInt64 = 1_024
}

/// The number of owners that an `OK` waits for.
public enum AckLevel: String, CaseIterable, Hashable, Sendable {
    case local, majority, all

    /// Returns how many replicas an `OK` waits for: no more than there are owners not considered
    /// dead.
    func copies(owners: Int, living: Int) -> Int { min(copies(owners: owners), living) }

    /// Returns how many replicas the level requires, whether or not their nodes are alive.
    func copies(owners: Int) -> Int {
        switch self {
        case .local: 1
        case .majority: owners / 2 + 1
        case .all: owners
        }
    }
}

/// The replies of one shard that wait until this node's disk or co-owners' disks have stored a
/// change.
///
/// Every reply waits for the commit that contains what it shows. The reply to a write also waits
/// for as many co-owners as its level requires, for at most `patienceMilliseconds`.
struct Acknowledgements: Sendable {
    /// How long an `OK` waits for co-owners, in milliseconds: one second, by the contract.
    static let patienceMilliseconds: UInt64 = 1_000

    struct Waiter: Sendable {
        let slot: ReplySlot
        /// The number of the commit that the reply waits for; nil until that commit begins.
        var ticket: UInt64?
        /// The seqs that have to be stored; empty for a reply that only shows content.
        let context: Context
        let level: AckLevel
        let deadline: UInt64
        var isOnDisk: Bool
    }

    private(set) var waiters: [Waiter] = []

    mutating func add(_ waiter: Waiter) { waiters.append(waiter) }

    /// Assigns the commit that is beginning to all replies that have none yet.
    ///
    /// Its number is not known earlier: a node numbers its commits across all shards, so the next
    /// commit of this shard need not have the next number.
    mutating func noteHandedOut(with ticket: UInt64) {
        for index in waiters.indices where waiters[index].ticket == nil {
            waiters[index].ticket = ticket
        }
    }

    mutating func noteCommit(of ticket: UInt64) {
        for index in waiters.indices {
            guard let awaited = waiters[index].ticket, awaited <= ticket else { continue }
            waiters[index].isOnDisk = true
        }
    }

    /// Removes and returns the waiting replies for which `condition` returns a value.
    mutating func takeSettled(
        _ condition: (borrowing Waiter) -> Stored?
    ) -> [(ReplySlot, Stored)] {
        guard waiters.contains(where: \.isOnDisk) else { return [] }
        var settled: [(ReplySlot, Stored)] = []
        settled.reserveCapacity(waiters.count)
        // Through a pointer: `removeAll(where:)` copies each waiter four times.
        let kept = waiters.withUnsafeMutableBufferPointer { waiters in
            var kept = 0
            for index in waiters.indices {
                if waiters[index].isOnDisk, let stored = condition(waiters[index]) {
                    settled.append((waiters[index].slot, stored))
                } else {
                    if kept < index { waiters.swapAt(kept, index) }
                    kept += 1
                }
            }
            return kept
        }
        waiters.removeLast(waiters.count - kept)
        return settled
    }

    mutating func takeAll() -> [ReplySlot] {
        defer { waiters = [] }
        return waiters.map(\.slot)
    }

    /// Removes and returns the replies whose commit has failed.
    mutating func takeFailed() -> [ReplySlot] {
        defer { waiters.removeAll { !$0.isOnDisk } }
        return waiters.filter { !$0.isOnDisk }.map(\.slot)
    }
}
