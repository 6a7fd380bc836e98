import CRDT
import Chat
import LineProtocol
import Node
import Replication
import Wire

/// The settings of one connection, and the changes that it has written and seen.
package struct ConnectionState: Sendable {
    /// The number of owners for which the replies to the connection's writes wait.
    package var ackLevel: Replication.AckLevel
    /// The acknowledged writes of the connection.
    package private(set) var writes: [ShardID: Vector] = [:]
    /// The session vectors: the changes shown to the connection, and the replicas that showed them.
    package internal(set) var sessionVectors = SessionVectors()
    /// The changes that the connection has seen and that a replica that later answered it lacked.
    var missed: [ShardID: Vector] = [:]
    /// The operations that may still be executed, of the connection or of connections whose tokens
    /// this client presented.
    package internal(set) var unsettled = Unsettled()
    /// The shards whose changes, seen by the connection, a majority of the owners may not store
    /// yet.
    var awaitingMajority: Set<ShardID> = []
    /// Whether the connection must be shown nothing older than the state it has seen, even if the
    /// reachable members have only an older state; true once the client has presented a token.
    package var isStrict = false
    /// Whether a write that fewer owners than the level requires have stored is answered with 504.
    package var isAckStrict = false

    /// The most ranges of seqs that are stored for one replica.
    ///
    /// Above this number the ranges are merged into one range: `WAIT` then also waits for writes of
    /// other connections, and never for too few writes.
    static let rangesMax = 1_024

    package init(ackLevel: Replication.AckLevel) { self.ackLevel = ackLevel }

    /// Records an acknowledged write of the connection.
    ///
    /// - Parameter isHere: whether a shard replica of this node executed the write.
    package mutating func recordWrite(_ write: Write, isHere: Bool) {
        if isHere { sessionVectors.recordObservation(Observation(write.shard, nil, by: .here)) }
        if !write.isOnMajority { awaitingMajority.insert(write.shard) }
        writes[write.shard, default: Vector()].insert(write.context, rangesMax: Self.rangesMax)
    }
}

extension Vector {
    /// Adds seqs; if a replica then has more than `rangesMax` ranges, the ranges of each replica
    /// are merged into one.
    mutating func insert(_ context: Context, rangesMax: Int) {
        insert(context)
        if entries.contains(where: { $0.seqs.ranges.count > rangesMax }) { self = enclosing }
    }
}

/// The way in which a request is answered.
package enum Answer: Sendable {
    case now(Response)
    /// The response is made, and is sent once the node has reported that its changes are on disk.
    ///
    /// - seen: the shard replicas that the response shows.
    case whenStored(Response, seen: [Observation])
    /// The response is made after the node has reported the result.
    case later(DeferredReply)
    /// The response follows all earlier replies, once `copies` owners store the connection's
    /// writes.
    case whenFirst(copies: Int, milliseconds: UInt64)
    /// `report` makes the response after all earlier replies: a report shows the state on disk, and
    /// so includes everything that this connection did before.
    indirect case reportWhenFirst(Request)
    /// `begin` executes the request after all earlier replies, so that it sees their effects.
    indirect case beginWhenFirst(Request)
}

/// A response that is not made yet.
///
/// Only the node's result makes the response, so no write is acknowledged that is not stored.
package struct DeferredReply: Sendable {
    enum Form: Sendable {
        /// The acknowledgement of a write.
        case written(Receipt, in: ShardID)
        /// A response that is made later, by another node or by a task of this node, such as a
        /// scrub.
        ///
        /// - bytes: the size assumed for the response until it is made.
        case awaited(bytes: Int)
    }

    /// The requested part of a list.
    ///
    /// A page is stored indirectly, since a connection keeps this value for each reply, and few
    /// replies are pages.
    private enum Part: Sendable {
        case whole
        indirect case page(ListPage)
    }

    let form: Form
    /// Whether a write that too few owners have stored is answered with 504.
    let isStrict: Bool
    /// The times that the acknowledgement of a write shows.
    private let times: AckTimes
    private let part: Part

    /// - Parameter page: the part of a list that the client requested.
    init(
        form: Form, isStrict: Bool = false, times: AckTimes = .standard, page: ListPage = .whole
    ) {
        self.form = form
        self.isStrict = isStrict
        self.times = times
        part = page == .whole ? .whole : .page(page)
    }

    /// The part of a list that the client requested.
    private var page: ListPage { if case .page(let page) = part { page } else { .whole } }

    /// The size assumed for a listing of other nodes until it arrives, in bytes.
    ///
    /// The assumption keeps one connection from requesting more at once than may wait for that
    /// connection.
    static let listingBytes = 64 << 10

    /// The size in bytes that the reply is assumed to have.
    package var bytesCount: Int {
        switch form {
        case .awaited(let bytes): bytes
        case .written: 0
        }
    }

    /// Whether the response is made later, so that no part of the response exists here yet.
    package var isMadeElsewhere: Bool {
        if case .awaited = form { return true }
        return false
    }

    /// Whether a shard replica of this node executed the acknowledged write.
    package var isWrittenHere: Bool {
        if case .written = form { return true }
        return false
    }

    /// Returns the response for the node's result, and the write that the response acknowledges.
    package func settle(_ outcome: ReplyResult) -> (Response, write: Write?) {
        switch (outcome, form) {
        case (.stored(let stored), .written(let receipt, let shard)),
            (.answered(.written(let receipt, let shard), let stored?), _):
            let write = Write(shard: shard, context: receipt.context, stored)
            return (Response(to: receipt, stored, isStrict: isStrict, times: times), write)
        default: return (Response(outcome, page), nil)
        }
    }
}

/// The translation of requests into calls to the node, and of the node's results into replies.
package struct Admin: Sendable {
    let node: Node
    /// The limits of the sessions and connections that use this object, for `HELP limits`.
    private let limits: [Limit]

    /// - Parameter limits: the limits of the calling sessions and connections, for `HELP limits`.
    package init(_ node: Node, limits: [Limit] = []) {
        self.node = node
        self.limits = limits
    }

    /// All limits of the node, beginning with the limits of the line protocol.
    var allLimits: [Limit] {
        Limit.ofLines + limits + Limit.ofTheNode + node.assumeIsolated { $0.hostLimits }
    }

    /// Answers a request, or returns how the request will be answered later.
    ///
    /// - Parameter slot: the slot to which the node reports the result if the reply has to wait.
    package func answer(
        _ request: Request, for slot: ReplySlot, on connection: inout ConnectionState
    ) -> Answer {
        switch request {
        case .write(let mutation, let isMinted, let times):
            write(mutation, isMinted: isMinted, times: times, for: slot, on: &connection)
        case .read(let query, let user):
            read(query, by: user, slot: slot, on: &connection)
        case .list(let query, let user, let page):
            read(query, by: user, page, slot: slot, on: &connection)
        case .seed:
            seed(for: slot, on: &connection)
        case .set(let it):
            set(it, on: &connection)
        case .wait(let wait):
            .whenFirst(copies: wait.replicas, milliseconds: wait.timeout.wholeMilliseconds)
        case .auth:
            // The session passes an `AUTH` request on only if the node has no key.
            .now(.failed(.nodeHasNoKey))
        case .help, .ping, .shutdown:
            .now(report(request, to: connection))
        case .block, .unblock, .join, .leave, .forget:
            .now(operate(request))
        case .since(let token):
            since(token, on: &connection)
        case .watch(let watch):
            self.watch(watch, on: &connection)
        case .backup, .scrub, .unwatch, .notifications:
            .beginWhenFirst(request)
        case .typing(let typing):
            type(typing, for: slot, on: &connection)
        case .token, .status, .ready, .metrics, .members, .shards, .owners, .digest, .vector,
            .files, .subscribers:
            .reportWhenFirst(request)
        }
    }

    private func set(_ it: Request.SetLevel, on connection: inout ConnectionState) -> Answer {
        connection.ackLevel =
            switch it.level {
            case .local: .local
            case .majority: .majority
            case .all: .all
            }
        connection.isAckStrict = it.isStrict
        return .now(.level(it))
    }
}

// MARK: Writes

extension Admin {
    private func write(
        _ mutation: Mutation, isMinted: Bool, times: AckTimes, for slot: ReplySlot,
        on connection: inout ConnectionState
    ) -> Answer {
        let handling = handle(
            mutation, isMinted: isMinted, level: connection.ackLevel, for: slot,
            having: connection.sessionVectors, after: connection.unsettled)
        return answer(
            handling, showing: mutation.partition, times: times, on: &connection, sizeEstimate: 0)
    }

    private func seed(for slot: ReplySlot, on connection: inout ConnectionState) -> Answer {
        let (level, vectors) = (connection.ackLevel, connection.sessionVectors)
        let unsettled = connection.unsettled
        let reply = node.assumeIsolated {
            $0.seed(level: level, for: slot, having: vectors, after: unsettled)
        }
        return answer(reply, showing: nil, on: &connection, sizeEstimate: 0)
    }

    /// Calls the node to execute a write.
    ///
    /// This is a function of its own, so that the session vectors have one owner when they change,
    /// and are not copied.
    private func handle(
        _ mutation: Mutation, isMinted: Bool, level: Replication.AckLevel, for slot: ReplySlot,
        having sessionVectors: SessionVectors, after unsettled: Unsettled
    ) -> Reply {
        let request = (mutation, isMinted, level, slot, sessionVectors, unsettled)
        return node.assumeIsolated(with: request) { node, request in
            let (mutation, isMinted, level, slot, sessionVectors, unsettled) = request
            return node.handle(
                mutation, isMinted: isMinted, level: level, for: slot, having: sessionVectors,
                after: unsettled)
        }
    }

    /// Returns the answer that corresponds to the node's reply.
    ///
    /// - Parameters:
    ///   - partition: the partition whose shard replica on this node the reply shows; nil for all
    ///     shard replicas of this node.
    ///   - bytes: the size assumed for the reply if another node makes it.
    func answer(
        _ handling: Reply, showing partition: String?, _ page: ListPage = .whole,
        times: AckTimes = .standard, on connection: inout ConnectionState, sizeEstimate bytes: Int
    ) -> Answer {
        switch handling {
        case .awaited:
            return .later(
                DeferredReply(
                    form: .awaited(bytes: bytes), isStrict: connection.isAckStrict, times: times,
                    page: page))
        case .here(.written(let receipt, let shard), _):
            return .later(
                DeferredReply(
                    form: .written(receipt, in: shard), isStrict: connection.isAckStrict,
                    times: times))
        case .here(let outcome, let isSettled):
            let response = Response(outcome, page)
            let seen =
                outcome.showsCopy ? node.assumeIsolated { $0.observations(of: partition) } : []
            guard isSettled else { return .whenStored(response, seen: seen) }
            connection.recordObservations(seen)
            return .now(response)
        }
    }
}
