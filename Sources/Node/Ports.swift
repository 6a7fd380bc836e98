import CRDT
import Chat
import Replication
import StorePort
import Wire

/// A source of random bits.
package protocol Entropy: AnyObject, Sendable {
    func next() -> UInt64
}

extension Entropy {
    package func nextID() -> RandomID { RandomID(high: next(), low: next()) }
}

/// The clocks of a node.
package protocol Clock: AnyObject, Sendable {
    /// The monotonic clock, in milliseconds: for deadlines and intervals.
    var milliseconds: UInt64 { get }
    /// The wall clock, in milliseconds since 1970: for stamps, generated ids, and comparisons with
    /// times that other nodes have set.
    var wallMilliseconds: UInt64 { get }
    /// The monotonic clock in microseconds: for measurements, and for the time limits within a
    /// turn, on which no result depends.
    var microseconds: UInt64 { get }
}

extension Clock {
    package var microseconds: UInt64 { milliseconds * 1_000 }
}

/// A connection to another node.
///
/// The process passes the bytes that arrive on the connection to `Node.onBytes`.
package protocol Channel: AnyObject, Sendable {
    var id: UInt64 { get }
    /// The host of the other node, without a port.
    var source: String { get }
    func send(_ bytes: [UInt8])
    /// The number of bytes that are queued for the network.
    var queuedBytes: Int { get }
    /// Pauses or resumes reading from the connection.
    func setPaused(_ isPaused: Bool)
    /// Closes the connection once all queued bytes are sent or sending has failed; bytes that still
    /// arrive are ignored.
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
    /// Ends the process for the given reason.
    func end(_ ending: Ending)
    /// Schedules another turn of the event loop without waiting for I/O.
    func turnAgain()
    /// Reports changed keys or revocations of access tokens; `takeSigningNews` returns the changes.
    ///
    /// The node calls this method during a turn.
    func onSigningNews()
    /// Pauses or resumes reading from clients.
    func setClientsPaused(_ isPaused: Bool)
    func log(_ level: LogLevel, _ line: String)
    /// Whether the process writes log lines of the level `debug`.
    var isDebugging: Bool { get }
    /// The resident memory of the process, in bytes.
    var residentBytes: UInt64 { get }
    /// The resources that the process uses; nil if the usage is unknown.
    var usage: ProcessUsage? { get }
    /// The limits that the process itself sets.
    var limits: [Limit] { get }
    /// The number of notifications pushed to devices, by the result of the push; empty if the
    /// process pushes no notifications.
    var pushes: [(result: String, count: UInt64)] { get }
}

extension Host {
    package func onSigningNews() {}
    package var isDebugging: Bool { false }
    package var usage: ProcessUsage? { nil }
    package var limits: [Limit] { [] }
    package var pushes: [(result: String, count: UInt64)] { [] }
}

/// The resources of the machine that a process uses.
package struct ProcessUsage: Hashable, Sendable {
    package let residentBytes: UInt64
    package let virtualBytes: UInt64
    /// The processor time of all threads, in microseconds.
    package let cpuMicroseconds: UInt64
    package let openDescriptors: UInt64
    package let descriptorsMax: UInt64
    /// The start of the process, in milliseconds since 1970.
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
    /// An operator requested the shutdown, or the node has left the cluster.
    case shutdown
    /// An option contradicts the settings of the cluster, or is out of range.
    case badOption(String)
    /// The data folder or the name cannot be used by this node.
    case unusable(String)
    /// The disk failed, or its contents cannot be trusted.
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

/// An operation that may still be executed; a session repeats this opaque value in requests.
package typealias UnsettledOperation = Stamp

/// The kinds of clients, which differ in their permissions.
package enum ClientKind: Sendable {
    /// An operator, or an app that acts on behalf of all its users.
    case `operator`
    /// A user with an access token that an app has issued.
    case appUser
    /// A user who has signed in to an account of the cluster.
    case accountUser
}

/// The receiver of replies and events: a session, or a step of the node's own requests.
package protocol ReplySink: AnyObject, Sendable {
    func onSettled(_ number: UInt64, _ outcome: ReplyResult)
    /// Delivers several `.stored` replies, which may be sent to the client now.
    ///
    /// - Parameter replies: the replies, ascending by slot.
    func onStored(_ replies: ArraySlice<(slot: ReplySlot, stored: Stored)>)
    /// Releases the memory reserved for a list of unknown size; from then on memory is reserved for
    /// each part of the list by its size.
    func onListDelayed(_ number: UInt64)
    /// Reserves memory for a list or a part of a list; returns false if too little is available.
    ///
    /// - Parameters:
    ///   - bytes: the size of the list or the part as it is sent between nodes.
    ///   - isFurther: whether memory is reserved for the list already; the reservation then grows.
    func reserveList(_ number: UInt64, _ bytes: Int, isFurther: Bool) -> Bool
    /// Returns the session's vector of a shard; nil if the session has seen nothing of the shard.
    func sessionVector(of shard: ShardID) -> SessionVector?
    /// The kind of client, as determined at its sign-in.
    var clientKind: ClientKind { get }
    /// Returns the condition that a replica has to meet before it may answer the session.
    func constraint(on shard: ShardID) -> ReadConstraint?
    /// Records the replicas whose content the session is about to see, or that executed its writes.
    func onSeen(_ observations: [Observation])
    /// Records that the session has received the events up to this state of a replica.
    func onTold(_ observation: Observation)
    /// Records a write that was executed for the session and that its reply does not name.
    ///
    /// - Parameter isHere: whether a shard replica of this node executed the write.
    func onWritten(_ write: Write, isHere: Bool)
    /// Records that a replica contains everything that the session has seen.
    func onCaughtUp(_ observation: Observation)
    func forgetReplica(of shard: ShardID)
    /// Records that the session is about to learn that operations of a process, up to `last`, may
    /// have been executed.
    func onUnsettled(_ last: UnsettledOperation)

    /// Delivers an event of the user whom the session watches.
    ///
    /// - Parameter token: the resume token of the event; a client that resumes with it receives the
    ///   events after this event.
    /// - Returns: whether the client reads too slowly; each tick then calls `isStillFull`.
    func onEvent(_ event: WatchedEvent, token: String?) -> Bool

    /// Whether a slow client still reads too slowly; a client that stays slow is disconnected.
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
