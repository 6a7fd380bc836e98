import CRDT
import Chat
import Replication
import Wire

/// Why a store cannot do what it was asked.
package enum StoreFailure: Error, Hashable, Sendable {
    /// The disk is full: nothing was written.
    case full
    /// A document's bytes are not what was written.
    case badRecord(DocumentKey)
    /// A row by which the shard's documents are found is not what was written.
    case badIndex
    /// Another program has locked the database: nothing was written.
    case locked
    /// Anything else: what was being done, and what the system said.
    case failed(String)
}

/// What one commit stores of a shard: what changed, and the header that counts it.
package struct ShardWrite: Sendable {
    package let shard: ShardID
    package let header: ReplicaHeader
    /// The row that the header builds on, where that changes.
    package let base: [UInt8]?
    package let records: [Record]
    /// Documents set aside because their bytes are bad; the counted runs of their conversations go
    /// along.
    package let removed: [DocumentKey]
    /// What changed in the index of counted runs.
    package let runs: [CountedRunWrite]
    /// Whether all by which the shard's documents are found is made anew from them.
    package let isReindexed: Bool

    init(
        shard: ShardID, header: ReplicaHeader, base: [UInt8]? = nil, records: [Record],
        removed: [DocumentKey] = [], runs: [CountedRunWrite] = [], isReindexed: Bool = false
    ) {
        self.shard = shard
        self.header = header
        self.base = base
        self.records = records
        self.removed = removed
        self.runs = runs
        self.isReindexed = isReindexed
    }
}

/// What is left of a shard on disk without its bad documents.
package struct Remainder: Sendable {
    package let header: ReplicaHeader
    /// All whose bytes are bad, those that were known and those found on the way.
    package let bad: [DocumentKey]

    package init(header: ReplicaHeader, bad: [DocumentKey]) {
        self.header = header
        self.bad = bad
    }
}

/// The documents that are on disk.
///
/// Reads are synchronous and see only what is committed.
package protocol DocumentReader {
    func document(_ key: DocumentKey, in shard: ShardID) throws(StoreFailure) -> Document?

    /// Hands out the messages of a page in the page's direction, until told to stop.
    func history(
        of conversation: ConversationID, in shard: ShardID, page: HistoryPage,
        handing: (Document) -> Bool
    ) throws(StoreFailure)

    /// The keys of the documents of a kind that carry a term, ascending.
    ///
    /// A key may lead to no document; whoever asks looks at what the document says.
    ///
    /// - Parameter partition: the only one looked at; nil for all of the shard.
    func keys(
        of kind: DocumentKey.Kind, carrying term: String, in shard: ShardID, partition: String?
    ) throws(StoreFailure) -> [DocumentKey]

    /// The shards in which something carries a term that concerns a user, up to a last one.
    func shards(concerning user: UserID, upTo last: ShardID) throws(StoreFailure) -> Set<ShardID>

    /// The participant states of a conversation, ascending by user.
    func participantStates(
        of conversation: ConversationID, in shard: ShardID
    ) throws(StoreFailure) -> [Document]

    /// The counted runs of a level that hold something of a span, and where that begins behind all
    /// of them the last, ascending; some that hold nothing of it may be among them.
    ///
    /// A run that is damaged is left out: what it held is counted one by one. So are all, where a
    /// store keeps none.
    func countedRuns(
        of conversation: ConversationID, in shard: ShardID, level: UInt8,
        from start: HybridTimestamp, to end: HybridTimestamp
    ) throws(StoreFailure) -> [CountedRun]

    /// The documents of which some last seq is counted in `ours` and not in `theirs`, in order of
    /// seq, without an upper bound; at least one, unless there is none.
    func changes(
        in shard: ShardID, lackedBy theirs: Vector, of ours: Vector, after cursor: Dot?,
        bytesMax: Int
    ) throws(StoreFailure) -> (encodedDocuments: [EncodedDocument], next: Dot?)

    /// Counts a shard anew, without these documents. It reads all of them: some microseconds each.
    func remainder(
        of shard: ShardID, without bad: [DocumentKey]
    ) throws(StoreFailure) -> Remainder
}

extension DocumentReader {
    package func countedRuns(
        of conversation: ConversationID, in shard: ShardID, level: UInt8,
        from start: HybridTimestamp, to end: HybridTimestamp
    ) throws(StoreFailure) -> [CountedRun] { [] }

    package func shards(
        concerning user: UserID, upTo last: ShardID
    ) throws(StoreFailure) -> Set<ShardID> {
        var found: Set<ShardID> = []
        for shard in (0...last.number).map(ShardID.init) {
            for (kind, term) in Term.concerning(user) where !found.contains(shard) {
                let keys = try keys(of: kind, carrying: term, in: shard, partition: nil)
                if !keys.isEmpty { found.insert(shard) }
            }
        }
        return found
    }
}

/// A durable store.
///
/// A commit's result comes back as `Node.onCommitted`, in order of tickets.
package protocol Store: DocumentReader, Maintenance, AnyObject, Sendable {
    /// Commits the writes of all these shards in one transaction, on a thread of its own.
    ///
    /// After a commit failed, every one handed in before `resume` fails too: they build on it.
    ///
    /// - Parameter drops: copies that go with all that is in them, before anything is written.
    func commit(
        _ writes: [ShardWrite], drops: [ShardID], settings: [Setting], ticket: UInt64)

    func resume()

    /// How many bytes wait to be committed.
    var queuedBytes: Int { get }

    /// What it takes of the disk; nil where there is none, or it cannot be asked.
    var usage: StoreUsage? { get }
}

extension Store {
    package var usage: StoreUsage? { nil }
}

/// What a store takes of its disk, in bytes.
package struct StoreUsage: Hashable, Sendable {
    package let databaseBytes: UInt64
    /// Of the log in front of the database.
    package let logBytes: UInt64
    /// What is left for this process on the disk.
    package let freeBytes: UInt64

    package init(databaseBytes: UInt64, logBytes: UInt64, freeBytes: UInt64) {
        self.databaseBytes = databaseBytes
        self.logBytes = logBytes
        self.freeBytes = freeBytes
    }
}

/// Something that the node keeps on disk beside its shards.
package struct Setting: Hashable, Sendable {
    package let name: String
    package let value: [UInt8]
}

/// Where random bits come from.
package protocol Entropy: AnyObject, Sendable {
    func next() -> UInt64
}

extension Entropy {
    package func nextID() -> RandomID { RandomID(high: next(), low: next()) }
}

/// What time it is.
package protocol Clock: AnyObject, Sendable {
    /// Monotonic; what everything that waits uses.
    var milliseconds: UInt64 { get }
    /// Since 1970; only for stamps, and for the edit window.
    var wallMilliseconds: UInt64 { get }
    /// Monotonic, and finer: for measuring alone, nothing is decided by it.
    var microseconds: UInt64 { get }
}

extension Clock {
    package var microseconds: UInt64 { milliseconds * 1_000 }
}

/// A connection to another node.
///
/// Bytes that come in are handed to `Node.onBytes`.
package protocol Channel: AnyObject, Sendable {
    var id: UInt64 { get }
    /// The host at the other end, without a port.
    var source: String { get }
    func send(_ bytes: [UInt8])
    /// How many bytes wait to be taken by the network.
    var queuedBytes: Int { get }
    /// Stops reading, and goes on.
    func setPaused(_ isPaused: Bool)
    /// Ends it, once what was sent is out or cannot be; nothing that comes in counts any more.
    func close()
}

extension Channel {
    package var source: String { "" }
}

/// What the process does for its node.
package protocol Host: AnyObject, Sendable {
    /// Comes back as `Node.onChannel` or `Node.onDialFailed`.
    func dial(_ address: String)
    /// The node serves.
    func onReady()
    /// The process must end.
    func end(_ ending: Ending)
    /// Has another turn follow without waiting for anything.
    func turnAgain()
    /// Takes lines of clients, or lets them wait.
    func setClientsPaused(_ isPaused: Bool)
    func log(_ level: LogLevel, _ line: String)
    /// Whether lines of the level `debug` are written.
    var isDebugging: Bool { get }
    /// The memory that the process holds, in bytes.
    var residentBytes: UInt64 { get }
    /// What the process takes of the machine; nil where there is none.
    var usage: ProcessUsage? { get }
    /// What it limits itself.
    var limits: [Limit] { get }
}

extension Host {
    package var isDebugging: Bool { false }
    package var usage: ProcessUsage? { nil }
    package var limits: [Limit] { [] }
}

/// What a process takes of its machine.
package struct ProcessUsage: Hashable, Sendable {
    package let residentBytes: UInt64
    package let virtualBytes: UInt64
    /// On all of its threads.
    package let cpuMicroseconds: UInt64
    package let openDescriptors: UInt64
    package let descriptorsMax: UInt64
    /// Since 1970.
    package let startedAtMilliseconds: UInt64

    package init(
        residentBytes: UInt64, virtualBytes: UInt64, cpuMicroseconds: UInt64,
        openDescriptors: UInt64, descriptorsMax: UInt64, startedAtMilliseconds: UInt64
    ) {
        self.residentBytes = residentBytes
        self.virtualBytes = virtualBytes
        self.cpuMicroseconds = cpuMicroseconds
        self.openDescriptors = openDescriptors
        self.descriptorsMax = descriptorsMax
        self.startedAtMilliseconds = startedAtMilliseconds
    }
}

package enum LogLevel: String, Comparable, CaseIterable, Sendable {
    case error, warn, info, debug

    package static func < (left: LogLevel, right: LogLevel) -> Bool {
        left.rank < right.rank
    }

    private var rank: Int {
        switch self {
        case .error: 0
        case .warn: 1
        case .info: 2
        case .debug: 3
        }
    }
}

/// Why a node ends its process, in a sentence for the person who started it.
package enum Ending: Hashable, Sendable {
    /// Asked to.
    case shutdown
    /// Told otherwise than the cluster is.
    case badOption(String)
    /// The folder or the name is not this node's to use.
    case unusable(String)
    /// The disk cannot be trusted any more.
    case diskFailed(String)
}

/// All that a node is handed by its process.
package struct NodePorts: Sendable {
    package let executor: any SerialExecutor
    package let store: any Store
    package let entropy: any Entropy
    package let clock: any Clock
    package let host: any Host

    package init(
        executor: any SerialExecutor, store: any Store, entropy: any Entropy, clock: any Clock,
        host: any Host
    ) {
        self.executor = executor
        self.store = store
        self.entropy = entropy
        self.clock = clock
        self.host = host
    }
}

/// What a session names with its next requests, to hand on without looking into it.
package typealias UnsettledOperation = Stamp

/// Where replies go once they may be sent.
package protocol ReplySink: AnyObject, Sendable {
    func onSettled(_ number: UInt64, _ outcome: ReplyResult)
    /// Some of its replies may be said: `.stored`, all at once.
    ///
    /// - Parameter replies: by their slots, ascending.
    func onStored(_ replies: ArraySlice<(slot: ReplySlot, stored: Stored)>)
    /// What it has seen of a shard; nil for nothing.
    func sessionVector(of shard: ShardID) -> SessionVector?
    /// What a copy has to hold to answer it.
    func constraint(on shard: ShardID) -> ReadConstraint?
    /// Copies that are about to be shown to it, or were written to.
    func onSeen(_ observations: [Observation])
    /// A copy holds what it has seen.
    func onLevel(_ observation: Observation)
    func forgetReplica(of shard: ShardID)
    /// It is about to be told that operations of a process, up to this one, may be executed yet.
    func onUnsettled(_ last: UnsettledOperation)

    /// Something happened to the user that is watched.
    ///
    /// - Parameter token: what comes back with it is told the rest.
    /// - Returns: whether the client is full: `isStillFull` is due with each tick.
    func onEvent(_ event: WatchedEvent, token: String?) -> Bool

    /// Whether a client that was full still is; one that stays so is cut off.
    func isStillFull() -> Bool
}

/// One that does not care what it has seen, and watches nobody.
extension ReplySink {
    package func onStored(_ replies: ArraySlice<(slot: ReplySlot, stored: Stored)>) {
        for (slot, stored) in replies { onSettled(slot.number, .stored(stored)) }
    }

    package func sessionVector(of shard: ShardID) -> SessionVector? { nil }
    package func constraint(on shard: ShardID) -> ReadConstraint? { nil }
    package func onSeen(_ observations: [Observation]) {}
    package func onLevel(_ observation: Observation) {}
    package func forgetReplica(of shard: ShardID) {}
    package func onUnsettled(_ last: UnsettledOperation) {}
    package func onEvent(_ event: WatchedEvent, token: String?) -> Bool { false }
    package func isStillFull() -> Bool { false }
}
