import CRDT
import Wire

/// Where a reply goes: a connection of this node, and which of its replies in order.
public struct ReplySlot: Hashable, Sendable {
    public let session: UInt64
    public let number: UInt64

    public init(session: UInt64, number: UInt64) {
        self.session = session
        self.number = number
    }
}

/// On how many owners something is stored.
///
/// Only `Acknowledgements` makes one, here or on the member that was asked, so that nothing is
/// acknowledged that is not on its maker's disk.
public struct Stored: Hashable, Sendable {
    public let on: Int
    public let owners: Int
    /// Whether that is as many as the write's level asks for, whoever is dead.
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

    /// More than a cluster has members.
    private static let ownersMax: UInt64 = 1_024
}

/// How many owners an `OK` waits for.
public enum AckLevel: String, Hashable, Sendable {
    case local, majority, all

    /// How many copies an `OK` waits for: never more than there are owners not held dead.
    func copies(owners: Int, living: Int) -> Int { min(copies(owners: owners), living) }

    /// How many copies this asks for, whoever is dead.
    func copies(owners: Int) -> Int {
        switch self {
        case .local: 1
        case .majority: owners / 2 + 1
        case .all: owners
        }
    }
}

/// The replies of one shard that wait for a disk, its own or its co-owners'.
///
/// A reply waits for the commit that holds what it shows, always; and one to a write, for so many
/// co-owners as its level asks, at most `patience`.
struct Acknowledgements: Sendable {
    /// How long an `OK` waits for co-owners, in milliseconds: the contract's one second.
    static let patienceMilliseconds: UInt64 = 1_000

    struct Waiter: Sendable {
        let slot: ReplySlot
        /// The commit that it waits for; nil until what it shows is handed to one.
        var ticket: UInt64?
        /// What has to be stored; empty for a reply that only shows.
        let context: Context
        let level: AckLevel
        let deadline: UInt64
        var isOnDisk: Bool
    }

    private(set) var waiters: [Waiter] = []

    mutating func add(_ waiter: Waiter) { waiters.append(waiter) }

    /// What the replies without a commit wait for is handed to this one.
    ///
    /// It cannot be told before: the commits of a node are numbered over all its shards, so that
    /// the next one of this shard need not be the next number.
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

    /// Takes out those whose condition holds.
    mutating func takeSettled(
        _ condition: (Waiter) -> Stored?
    ) -> [(ReplySlot, Stored)] {
        guard waiters.contains(where: \.isOnDisk) else { return [] }
        var settled: [(ReplySlot, Stored)] = []
        settled.reserveCapacity(waiters.count)
        waiters.removeAll { waiter in
            guard waiter.isOnDisk, let stored = condition(waiter) else { return false }
            settled.append((waiter.slot, stored))
            return true
        }
        return settled
    }

    mutating func takeAll() -> [ReplySlot] {
        defer { waiters = [] }
        return waiters.map(\.slot)
    }

    /// Takes out those whose commit will not come.
    mutating func takeFailed() -> [ReplySlot] {
        defer { waiters.removeAll { !$0.isOnDisk } }
        return waiters.filter { !$0.isOnDisk }.map(\.slot)
    }
}
