import CRDT
import Chat
import Replication
import Wire

/// The reasons for which a store does not do what was requested.
package enum StoreFailure: Error, Hashable, Sendable {
    /// The disk is full: nothing was written.
    case full
    /// The bytes of a document are not what was written.
    case badRecord(DocumentKey)
    /// A row of an index of the shard's documents is not what was written.
    case badIndex
    /// Another program has locked the database: nothing was written.
    case locked
    /// Any other failure: what was being done, and what the system said.
    case failed(String)
}

/// The write of one shard in a commit: what has changed, and the header that counts it.
package struct ShardWrite: Sendable {
    package let shard: ShardID
    package let header: ReplicaHeader
    /// The row that the header builds on, if that has changed.
    package let base: [UInt8]?
    package let records: [Record]
    /// Documents that are set aside because their bytes are bad.
    ///
    /// The counted runs of their conversations are removed with them.
    package let removed: [DocumentKey]
    /// The counted runs that have changed.
    package let runs: [CountedRunWrite]
    /// Whether the indexes of the shard are made anew from its documents.
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

/// The rest of a shard on disk without its bad documents.
package struct Remainder: Sendable {
    package let header: ReplicaHeader
    /// All documents whose bytes are bad: those known before, and those found while counting.
    package let bad: [DocumentKey]

    package init(header: ReplicaHeader, bad: [DocumentKey]) {
        self.header = header
        self.bad = bad
    }
}

/// Read access to the documents on disk.
///
/// Reads are synchronous and see only what is committed.
package protocol DocumentReader {
    func document(_ key: DocumentKey, in shard: ShardID) throws(StoreFailure) -> Document?

    /// Hands out the messages of a page in the page's direction, until `handing` returns false.
    func history(
        of conversation: ConversationID, in shard: ShardID, page: HistoryPage,
        handing: (Document) -> Bool
    ) throws(StoreFailure)

    /// The keys of the documents of a kind under a term of the index, ascending.
    ///
    /// A key may be out of date: the caller has to look at the document.
    ///
    /// - Parameter partition: the only partition looked at; nil for all of the shard.
    func keys(
        of kind: DocumentKey.Kind, carrying term: String, in shard: ShardID, partition: String?
    ) throws(StoreFailure) -> [DocumentKey]

    /// The first keys of the documents of a kind under a term of the index, ascending, behind
    /// `last`; fewer than `limit` only where there are no more.
    func keys(
        of kind: DocumentKey.Kind, carrying term: String, in shard: ShardID,
        after last: DocumentKey?, limit: Int
    ) throws(StoreFailure) -> [DocumentKey]

    /// The shards up to `last` whose index has a term that concerns a user.
    func shards(concerning user: UserID, upTo last: ShardID) throws(StoreFailure) -> Set<ShardID>

    /// The participant states of a conversation, ascending by user.
    func participantStates(
        of conversation: ConversationID, in shard: ShardID
    ) throws(StoreFailure) -> [Document]

    /// Returns the counted runs of a level that overlap a span, ascending, and maybe others; if the
    /// span begins behind all runs, the last one.
    ///
    /// A damaged run is left out, so that its messages are counted one by one. A store without
    /// counted runs returns none.
    func countedRuns(
        of conversation: ConversationID, in shard: ShardID, level: UInt8,
        from start: HybridTimestamp, to end: HybridTimestamp
    ) throws(StoreFailure) -> [CountedRun]

    /// The documents with a last seq that is in `ours` and not in `theirs`, in order of seq and
    /// without an upper bound; at least one, unless there is none.
    func changes(
        in shard: ShardID, lackedBy theirs: Vector, of ours: Vector, after cursor: Dot?,
        bytesMax: Int
    ) throws(StoreFailure) -> (encodedDocuments: [EncodedDocument], next: Dot?)

    /// Counts a shard anew without these documents.
    ///
    /// Reads all of the shard: some microseconds for each document.
    func remainder(
        of shard: ShardID, without bad: [DocumentKey]
    ) throws(StoreFailure) -> Remainder
}

extension DocumentReader {
    package func keys(
        of kind: DocumentKey.Kind, carrying term: String, in shard: ShardID,
        after last: DocumentKey?, limit: Int
    ) throws(StoreFailure) -> [DocumentKey] {
        let keys = try keys(of: kind, carrying: term, in: shard, partition: nil)
        return Array(keys.lazy.filter { key in last.map { $0 < key } ?? true }.prefix(limit))
    }

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
/// The result of a commit is reported to `Node.onCommitted`, in the order of tickets.
package protocol Store: DocumentReader, Maintenance, AnyObject, Sendable {
    /// Commits the writes of all these shards in one transaction, on a thread of its own.
    ///
    /// After a failed commit, all commits handed in before `resume` fail too, because they build on
    /// it.
    ///
    /// - Parameter drops: shards whose replicas are deleted before anything is written.
    func commit(
        _ writes: [ShardWrite], drops: [ShardID], settings: [Setting], ticket: UInt64)

    /// Accepts commits again after one has failed.
    func resume()

    /// The number of bytes that wait to be committed.
    var queuedBytes: Int { get }

    /// The disk space that the store uses; nil if it has none, or cannot tell.
    var usage: StoreUsage? { get }
}

extension Store {
    package var usage: StoreUsage? { nil }
}

/// The disk space that a store uses, in bytes.
package struct StoreUsage: Hashable, Sendable {
    package let databaseBytes: UInt64
    /// The size of SQLite's write-ahead log.
    package let logBytes: UInt64
    /// The space on the disk that this process may still use.
    package let freeBytes: UInt64

    package init(databaseBytes: UInt64, logBytes: UInt64, freeBytes: UInt64) {
        self.databaseBytes = databaseBytes
        self.logBytes = logBytes
        self.freeBytes = freeBytes
    }
}

/// A value that the node stores besides its shards.
package struct Setting: Hashable, Sendable {
    package let name: String
    package let value: [UInt8]
}

/// A source of random bits.
package protocol Entropy: AnyObject, Sendable {
    func next() -> UInt64
}

extension Entropy {
    package func nextID() -> RandomID { RandomID(high: next(), low: next()) }
}

/// The clocks of a node.
package protocol Clock: AnyObject, Sendable {
    /// Monotonic: for everything that waits.
    var milliseconds: UInt64 { get }
    /// Since 1970: for stamps, the edit window, generated ids and typing notices; everything else
    /// that waits uses the monotonic clock.
    var wallMilliseconds: UInt64 { get }
    /// Monotonic, and finer: for measurements, and for the time limits within a turn, on which no
    /// result depends.
    var microseconds: UInt64 { get }
}

extension Clock {
    package var microseconds: UInt64 { milliseconds * 1_000 }
}

/// A connection to another node.
///
/// Bytes that arrive are handed to `Node.onBytes`.
package protocol Channel: AnyObject, Sendable {
    var id: UInt64 { get }
    /// The host at the other end, without a port.
    var source: String { get }
    func send(_ bytes: [UInt8])
    /// The number of bytes that the network has not taken yet.
    var queuedBytes: Int { get }
    /// Pauses or resumes reading.
    func setPaused(_ isPaused: Bool)
    /// Closes the connection once everything is sent, or cannot be; bytes that still arrive are
    /// ignored.
    func close()
}

extension Channel {
    package var source: String { "" }
}

/// The services that the process offers to its node.
package protocol Host: AnyObject, Sendable {
    /// Dials an address; the result is reported to `Node.onChannel` or `Node.onDialFailed`.
    func dial(_ address: String)
    /// Reports that the node is ready to serve.
    func onReady()
    /// Ends the process.
    func end(_ ending: Ending)
    /// Schedules another turn without waiting for I/O.
    func turnAgain()
    /// Pauses or resumes reading from clients.
    func setClientsPaused(_ isPaused: Bool)
    func log(_ level: LogLevel, _ line: String)
    /// Whether log lines of the level `debug` are written.
    var isDebugging: Bool { get }
    /// The resident memory of the process, in bytes.
    var residentBytes: UInt64 { get }
    /// The resources that the process uses; nil if they are not known.
    var usage: ProcessUsage? { get }
    /// The limits that the process sets itself.
    var limits: [Limit] { get }
    /// The notifications that were pushed to devices, by what became of them; empty where none are.
    var pushes: [(result: String, count: UInt64)] { get }
}

extension Host {
    package var isDebugging: Bool { false }
    package var usage: ProcessUsage? { nil }
    package var limits: [Limit] { [] }
    package var pushes: [(result: String, count: UInt64)] { [] }
}

/// The resources of the machine that a process uses.
package struct ProcessUsage: Hashable, Sendable {
    package let residentBytes: UInt64
    package let virtualBytes: UInt64
    /// The processor time of all threads.
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

/// The reason for which a node ends its process, in a sentence for the operator.
package enum Ending: Hashable, Sendable {
    /// An operator asked for it.
    case shutdown
    /// An option contradicts what the cluster has fixed.
    case badOption(String)
    /// The data folder or the name cannot be used by this node.
    case unusable(String)
    /// The disk cannot be trusted any more.
    case diskFailed(String)
}

/// The services that a node gets from its process.
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

/// An operation that a session names in its next requests, without looking into it.
package typealias UnsettledOperation = Stamp

/// The kinds of clients, of which some may do less.
package enum ClientKind: Sendable {
    /// An operator, or an app that acts for all of its users.
    case `operator`
    /// A user whom an app has given a token.
    case appUser
    /// A user who has signed in to an account of the cluster.
    case accountUser
}

/// The receiver of replies and events: a session, or a step of the node's own requests.
package protocol ReplySink: AnyObject, Sendable {
    func onSettled(_ number: UInt64, _ outcome: ReplyResult)
    /// Hands over several replies that are `.stored` and may be sent now.
    ///
    /// - Parameter replies: the replies, ascending by slot.
    func onStored(_ replies: ArraySlice<(slot: ReplySlot, stored: Stored)>)
    /// Forgets what was reserved for a list whose size was not known: from now on it is reserved by
    /// the sizes of its parts.
    func onListDelayed(_ number: UInt64)
    /// Reserves memory for a list or a part of it; false where there is none.
    ///
    /// - Parameters:
    ///   - bytes: the size on its way between nodes.
    ///   - isFurther: whether the list has memory already: then it is given more.
    func reserveList(_ number: UInt64, _ bytes: Int, isFurther: Bool) -> Bool
    /// Returns the session's vector of a shard; nil if the session has seen nothing of it.
    func sessionVector(of shard: ShardID) -> SessionVector?
    /// As what the client has signed in.
    var clientKind: ClientKind { get }
    /// Returns the condition that a replica has to meet before it may answer the session.
    func constraint(on shard: ShardID) -> ReadConstraint?
    /// Notes the replicas whose content the session is about to see, or has written to.
    func onSeen(_ observations: [Observation])
    /// Notes that the session was told events up to this state of a replica.
    func onTold(_ observation: Observation)
    /// Notes a write that the session is about to be told of, in a reply that does not name it.
    ///
    /// - Parameter isHere: whether a shard replica of this node executed it.
    func onWritten(_ write: Write, isHere: Bool)
    /// Notes that a replica holds what the session has seen.
    func onCaughtUp(_ observation: Observation)
    func forgetReplica(of shard: ShardID)
    /// Notes that the session is about to be told that operations of a process, up to this one, may
    /// be done.
    func onUnsettled(_ last: UnsettledOperation)

    /// Hands over an event of the user whom the session watches.
    ///
    /// - Parameter token: the token from which a client that resumes gets the events that follow.
    /// - Returns: whether the client does not keep up: then `isStillFull` is called with each tick.
    func onEvent(_ event: WatchedEvent, token: String?) -> Bool

    /// Whether a client that did not keep up still does not; one that stays so is disconnected.
    func isStillFull() -> Bool
}

/// Defaults for sinks without session guarantees and without events.
extension ReplySink {
    package func onStored(_ replies: ArraySlice<(slot: ReplySlot, stored: Stored)>) {
        for (slot, stored) in replies { onSettled(slot.number, .stored(stored)) }
    }

    package var clientKind: ClientKind { .operator }
    package func onListDelayed(_ number: UInt64) {}
    package func reserveList(_ number: UInt64, _ bytes: Int, isFurther: Bool) -> Bool { true }
    package func sessionVector(of shard: ShardID) -> SessionVector? { nil }
    package func constraint(on shard: ShardID) -> ReadConstraint? { nil }
    package func onSeen(_ observations: [Observation]) {}
    package func onTold(_ observation: Observation) {}
    package func onWritten(_ write: Write, isHere: Bool) {}
    package func onCaughtUp(_ observation: Observation) {}
    package func forgetReplica(of shard: ShardID) {}
    package func onUnsettled(_ last: UnsettledOperation) {}
    package func onEvent(_ event: WatchedEvent, token: String?) -> Bool { false }
    package func isStillFull() -> Bool { false }
}
