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
/// Only the node that executed the request counts the owners, and only after its own commit, so
/// every acknowledged write is on that node's disk.
public struct Stored: Hashable, Sendable {
    public let on: Int
    public let owners: Int
    /// Whether at least as many owners have the write as its level requires; dead owners do not
    /// lower the requirement.
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

    /// An upper bound of the number of owners that a decoded value may contain, greater than any
    /// cluster.
    private static let ownersMax: UInt64 = 1_024
}

/// The number of owners that an `OK` waits for.
public enum AckLevel: String, CaseIterable, Hashable, Sendable {
    case local, majority, all

    /// Returns how many replicas an `OK` waits for: at most the owners that are not considered
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
/// Every reply waits for the commit that contains the changes that the reply shows. The reply to a
/// write also waits for as many co-owners as its level requires, for at most
/// `patienceMilliseconds`.
struct Acknowledgements: Sendable {
    /// How long an `OK` waits for co-owners, in milliseconds: one second, by the contract.
    static let patienceMilliseconds: UInt64 = 1_000

    struct Waiter: Sendable {
        let slot: ReplySlot
        /// The seqs that have to be stored before the reply is sent; empty for a reply to a read.
        let context: Context
        let level: AckLevel
        let deadline: UInt64
    }

    /// The commit that a reply waits for.
    enum AwaitedCommit {
        /// The next commit that begins.
        case next
        /// The last commit that has begun, with its number.
        case last(UInt64)
        /// No commit, since the change is on disk.
        case none
    }

    /// The replies that wait for the commit that begins next.
    ///
    /// The number of that commit is unknown before it begins: a node numbers its commits across all
    /// shards, so the next commit of this shard need not have the next number.
    private var unnumbered: [Waiter] = []
    /// The replies that wait for a commit that has begun, in the order of the commits.
    private var handedOut: [(ticket: UInt64, waiters: [Waiter])] = []
    /// The replies whose change is on this disk and that wait for confirmations of co-owners.
    private var stored: [Waiter] = []

    var isEmpty: Bool { unnumbered.isEmpty && handedOut.isEmpty && stored.isEmpty }

    mutating func add(_ waiter: Waiter, awaiting commit: AwaitedCommit) {
        switch commit {
        case .next: unnumbered.append(waiter)
        case .last(let ticket):
            if handedOut.last?.ticket != ticket { handedOut.append((ticket, [])) }
            handedOut[handedOut.count - 1].waiters.append(waiter)
        case .none: stored.append(waiter)
        }
    }

    /// Assigns the commit that begins now to all replies without a commit.
    mutating func noteHandedOut(with ticket: UInt64) {
        guard !unnumbered.isEmpty else { return }
        handedOut.append((ticket, unnumbered))
        unnumbered = []
    }

    mutating func noteCommit(of ticket: UInt64) {
        while let first = handedOut.first, first.ticket <= ticket {
            handedOut.removeFirst()
            stored = stored.isEmpty ? first.waiters : stored + first.waiters
        }
    }

    /// Removes and returns the replies whose change is on this node's disk and for which
    /// `condition` returns a value.
    mutating func takeSettled(
        _ condition: (borrowing Waiter) -> Stored?
    ) -> [(ReplySlot, Stored)] {
        guard !stored.isEmpty else { return [] }
        var settled: [(ReplySlot, Stored)] = []
        settled.reserveCapacity(stored.count)
        // The loop uses a pointer, since `removeAll(where:)` copies each waiter four times.
        let kept = stored.withUnsafeMutableBufferPointer { waiters in
            var kept = 0
            for index in waiters.indices {
                if let stored = condition(waiters[index]) {
                    settled.append((waiters[index].slot, stored))
                } else {
                    if kept < index { waiters.swapAt(kept, index) }
                    kept += 1
                }
            }
            return kept
        }
        stored.removeLast(stored.count - kept)
        return settled
    }

    mutating func takeAll() -> [ReplySlot] {
        let slots = takeFailed() + stored.map(\.slot)
        stored = []
        return slots
    }

    /// Removes and returns the replies whose commit has failed.
    mutating func takeFailed() -> [ReplySlot] {
        let slots = handedOut.flatMap(\.waiters).map(\.slot) + unnumbered.map(\.slot)
        handedOut = []
        unnumbered = []
        return slots
    }
}
