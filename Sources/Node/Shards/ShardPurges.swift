import CRDT
import Chat
import Replication
import Wire

/// The files of a shard whose parts are to be purged, in the order in which they were closed, and
/// the progress of the search of the disk for further files.
struct FilesToPurge: Sendable {
    private struct Entry: Sendable {
        let key: DocumentKey
        let since: UInt64
    }

    private var queue: [Entry] = []
    /// The number of entries of `queue` that have been processed.
    private var done = 0
    /// The files after which the searches for closed and unsent files continue; nil at the start.
    var closedCursor: DocumentKey?
    var unsentCursor: DocumentKey?
    /// When the next search of the disk begins, in milliseconds.
    var searchAt: UInt64 = 0

    /// The greatest number of files in the queue; searches of the disk find further closed files.
    private static let countMax = 4_096

    var isEmpty: Bool { done == queue.count }

    mutating func append(_ key: DocumentKey, at now: UInt64) {
        guard queue.count - done < FilesToPurge.countMax else { return }
        // The parts of a file arrive in sequence, and one entry is sufficient for all of them.
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

/// The purging of closed files, which the first living owner of a shard does for all owners.
///
/// The parts of a file are purged once the file is closed. The file stays in the list of closed
/// files until all owners are known to be in sync; then no owner accepts a message with the file
/// any more. A file that was not sent is closed only while all owners are in sync, since another
/// side of a network partition may have accepted a message with the file.
extension ShardMachine {
    /// The limits and the circumstances of one purge of a shard's files.
    package struct FileDuty: Sendable {
        /// The greatest number of parts and files that are changed.
        package let limit: Int
        /// Whether this node is the first living owner of the shard.
        package let isFirst: Bool
        /// Whether no member is evicted; an evicted member may have accepted a message with a file.
        let isEverybodyHeard: Bool
        /// A file that was begun before this time is closed if no message names it.
        package let deadline: HybridTimestamp
        /// The table of deleted accounts; files that their owners began before the deletion and did
        /// not send are closed regardless of the deadline.
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

    /// How long the first owner may take to purge a file before another owner does, in
    /// milliseconds.
    private static let patienceMilliseconds: UInt64 = 5_000
    /// How often the disk is searched for closed and unsent files, in milliseconds.
    private static let searchMilliseconds: UInt64 = 1_000
    /// How often the disk is searched where another owner is the first, in milliseconds.
    private static let searchOfOthersMilliseconds: UInt64 = 30_000
    /// The greatest number of files that are examined in one call.
    private static let filesPerSearch = 128

    /// Returns whether files may have to be purged or closed now.
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

    /// - Returns: whether no unneeded part is left.
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

    /// Examines the next files on the disk that are closed or were not sent.
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

    /// - Parameter mayEnd: whether no other node can accept a message any more that names a file
    ///   that is closed on this node.
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
