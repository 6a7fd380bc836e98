import CRDT
import Chat
import Replication
import Wire

/// The files of a shard whose parts are to be purged, in the order in which they were closed, and
/// how far the disk was searched for others.
struct FilesToPurge: Sendable {
    private struct Entry: Sendable {
        let key: DocumentKey
        let since: UInt64
    }

    private var queue: [Entry] = []
    /// The number of entries of `queue` that are done.
    private var done = 0
    /// Behind which file the search for closed and unsent files goes on; nil to begin.
    var closedCursor: DocumentKey?
    var unsentCursor: DocumentKey?
    /// When the search begins again, in milliseconds.
    var searchAt: UInt64 = 0

    /// The most files that wait here; more are found on the disk, if they are closed.
    private static let countMax = 4_096

    var isEmpty: Bool { done == queue.count }

    mutating func append(_ key: DocumentKey, at now: UInt64) {
        guard queue.count - done < FilesToPurge.countMax else { return }
        // The parts of a file arrive one behind the other.
        guard isEmpty || queue.last?.key != key else { return }
        queue.append(Entry(key: key, since: now))
    }

    /// Returns the next file that was closed by `time`.
    func first(closedBy time: UInt64) -> DocumentKey? {
        guard !isEmpty, queue[done].since <= time else { return nil }
        return queue[done].key
    }

    mutating func removeFirst() {
        done += 1
        guard done == queue.count || done > FilesToPurge.countMax else { return }
        queue.removeFirst(done)
        done = 0
    }
}

/// The purging of closed files, which the first living owner of a shard does for all.
///
/// The parts of a file are purged once it is closed. The file itself stays in the list of closed
/// ones until all owners are known to hold just what is here: from then on none of them accepts a
/// message with it. A file that was not sent is closed only then, too: a message with it may have
/// been accepted on another side of a network partition.
extension ShardMachine {
    /// The circumstances in which a node tends a shard's files.
    package struct FileDuty: Sendable {
        /// The most parts and files that are changed.
        package let limit: Int
        /// Whether this node is the first of the living owners.
        package let isFirst: Bool
        /// Whether no member is evicted: such a one may have accepted a message with a file here.
        let isEverybodyHeard: Bool
        /// When files must have been begun to be closed because no message names them.
        package let deadline: HybridTimestamp
        /// The table that says whose accounts are deleted: what these have begun until then and not
        /// sent is closed whatever the deadline.
        package let signing: SigningTable

        package init(
            limit: Int, isFirst: Bool, isEverybodyHeard: Bool, deadline: HybridTimestamp,
            signing: SigningTable
        ) {
            self.limit = limit
            self.isFirst = isFirst
            self.isEverybodyHeard = isEverybodyHeard
            self.deadline = deadline
            self.signing = signing
        }
    }

    /// How long the first owner has for a file before another takes over, in milliseconds.
    private static let patienceMilliseconds: UInt64 = 5_000
    /// How often the disk is searched for closed and unsent files, in milliseconds.
    private static let searchMilliseconds: UInt64 = 1_000
    /// The same where another owner is the first.
    private static let searchOfOthersMilliseconds: UInt64 = 30_000
    /// The most files that are looked at in one call.
    private static let filesPerSearch = 128

    /// Whether there may be something to purge now.
    package func hasFilesToTend(now: UInt64) -> Bool {
        guard replica.isReady, replica.stored.count(ofKind: DocumentKey.Kind.file.number) > 0
        else { return false }
        return !filesToPurge.isEmpty || now >= filesToPurge.searchAt
    }

    /// Purges parts of closed files, and closes files that were not sent in time, or whose users
    /// have deleted their accounts.
    ///
    /// - Returns: the number of documents that were changed.
    package mutating func tendFiles(
        _ duty: FileDuty, in world: ShardWorld
    ) throws(ShardFailure) -> Int {
        guard replica.isReady, duty.limit > 0 else { return 0 }
        let now = world.milliseconds
        let start = derived.count
        let patience = duty.isFirst ? 0 : ShardMachine.patienceMilliseconds
        for _ in 0..<ShardMachine.filesPerSearch {
            guard let key = filesToPurge.first(closedBy: now - min(now, patience)) else { break }
            let left = duty.limit - (derived.count - start)
            guard try purgeParts(of: key, limit: left, in: world) else { return duty.limit }
            filesToPurge.removeFirst()
        }
        if now >= filesToPurge.searchAt {
            try search(duty, in: world)
        }
        return derived.count - start
    }

    /// - Returns: whether no part is left that nobody needs.
    private mutating func purgeParts(
        of key: DocumentKey, limit: Int, in world: ShardWorld
    ) throws(ShardFailure) -> Bool {
        guard let (file, id, conversation) = try file(at: key, in: world) else { return true }
        let parts = try parts(of: id, in: conversation, beyond: file, world)
        for part in parts.prefix(limit) {
            let key = DocumentKey.part(part, of: id, in: conversation)
            try derive(PurgeFilePart(), at: key, in: world)
        }
        return parts.count <= limit
    }

    /// Looks at the next files on the disk that are closed or were not sent.
    private mutating func search(_ duty: FileDuty, in world: ShardWorld) throws(ShardFailure) {
        let mayEnd = duty.isFirst && duty.isEverybodyHeard && replica.isCaughtUpWithAllOwners
        if filesToPurge.unsentCursor == nil {
            try searchClosed(mayEnd: mayEnd, in: world)
        }
        guard filesToPurge.closedCursor == nil else { return }
        if mayEnd {
            try closeUnsent(duty, in: world)
        } else {
            filesToPurge.unsentCursor = nil
        }
        guard filesToPurge.unsentCursor == nil else { return }
        let pause =
            duty.isFirst
            ? ShardMachine.searchMilliseconds : ShardMachine.searchOfOthersMilliseconds
        filesToPurge.searchAt = world.milliseconds + pause
    }

    /// - Parameter mayEnd: whether no other node can accept a message any more that names what is
    ///   closed here.
    private mutating func searchClosed(mayEnd: Bool, in world: ShardWorld) throws(ShardFailure) {
        let count = ShardMachine.filesPerSearch
        let closed = try page(
            of: Term.closed, after: filesToPurge.closedCursor, limit: count, world)
        for key in closed {
            guard let (file, id, conversation) = try file(at: key, in: world), file.isDue
            else { continue }
            let parts = try parts(of: id, in: conversation, beyond: file, world)
            if !parts.isEmpty {
                filesToPurge.append(key, at: world.milliseconds)
            } else if mayEnd {
                try derive(PurgeFile(), at: key, in: world)
            }
        }
        filesToPurge.closedCursor = closed.count < count ? nil : closed.last
    }

    private mutating func closeUnsent(
        _ duty: FileDuty, in world: ShardWorld
    ) throws(ShardFailure) {
        let count = ShardMachine.filesPerSearch
        let unsent = try page(
            of: Term.unsent, after: filesToPurge.unsentCursor, limit: count, world)
        for key in unsent {
            guard let file = try file(at: key, in: world)?.file else { continue }
            if file.isUnsent(before: duty.deadline) {
                try derive(ExpireUpload(before: duty.deadline), at: key, in: world)
            }
            for owner in file.unsentOwners {
                guard let deletion = duty.signing.deletion(of: owner), deletion > duty.deadline,
                    file.isUnsent(before: deletion, by: owner)
                else { continue }
                try derive(ExpireUpload(before: deletion), at: key, by: owner, in: world)
            }
        }
        filesToPurge.unsentCursor = unsent.count < count ? nil : unsent.last
    }
}
