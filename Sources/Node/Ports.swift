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
    /// Reports that keys or revocations of access tokens have changed: `takeSigningNews` has them.
    ///
    /// It is called while the node works.
    func onSigningNews()
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
