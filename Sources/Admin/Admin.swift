import CRDT
import Chat
import LineProtocol
import Node
import Replication
import Wire

/// The settings of one connection, and what it has written and seen.
package struct ConnectionState: Sendable {
    /// The owners for which the replies to its writes wait.
    package var ackLevel: Replication.AckLevel
    /// The acknowledged writes of the connection.
    package private(set) var writes: [ShardID: Vector] = [:]
    /// The session vectors: what the connection was shown, and by which replicas.
    package internal(set) var sessionVectors = SessionVectors()
    /// What the connection has seen, and replicas that answered it later lacked.
    var missed: [ShardID: Vector] = [:]
    /// Operations of the connection, or of those whose tokens it brought, that may still be
    /// executed.
    package internal(set) var unsettled = Unsettled()
    /// The shards of other nodes of which the connection has seen changes that are not known to be
    /// on a majority of the owners.
    var awaitingMajority: Set<ShardID> = []
    /// Whether the connection may be shown nothing older than what it has seen, even where the
    /// members that can be reached have less; true once it has brought a token.
    package var isStrict = false
    /// Whether a write that is stored on fewer owners than its level asks for is answered with 504.
    package var isAckStrict = false

    /// The most ranges of seqs kept for one replica.
    ///
    /// Beyond it they become one range: `WAIT` then waits for writes of other connections too,
    /// never for too few.
    static let rangesMax = 1_024

    package init(ackLevel: Replication.AckLevel) { self.ackLevel = ackLevel }

    /// Records an acknowledged write.
    ///
    /// - Parameter isHere: whether a shard replica of this node executed it.
    package mutating func recordWrite(_ write: Write, isHere: Bool) {
        if isHere { sessionVectors.recordObservation(Observation(write.shard, nil, by: .here)) }
        if !write.isOnMajority { awaitingMajority.insert(write.shard) }
        writes[write.shard, default: Vector()].insert(write.context, rangesMax: Self.rangesMax)
    }
}

extension Vector {
    /// Adds seqs; where a replica then has more than `rangesMax` ranges, each replica's become one.
    mutating func insert(_ context: Context, rangesMax: Int) {
        insert(context)
        if entries.contains(where: { $0.seqs.ranges.count > rangesMax }) { self = enclosing }
    }
}

/// The way in which a request is answered.
package enum Answer: Sendable {
    case now(Response)
    /// The response is there, and may leave once the node has reported that it is on disk.
    ///
    /// - seen: the shard replicas that it shows.
    case whenStored(Response, seen: [Observation])
    /// After the node has reported the result.
    case later(DeferredReply)
    /// After all earlier replies, and once `copies` owners store this connection's writes.
    case whenFirst(copies: Int, milliseconds: UInt64)
    /// By `report`, after all earlier replies: a report shows what is on disk, and so includes
    /// everything that this connection did before.
    indirect case reportWhenFirst(Request)
    /// By `begin`, after all earlier replies, for the same reason.
    indirect case beginWhenFirst(Request)
}

/// A response that is not there yet.
///
/// Only the node's result makes it, so nothing is acknowledged that is not stored.
package struct DeferredReply: Sendable {
    enum Form: Sendable {
        /// The acknowledgement of a write.
        case written(Receipt, in: ShardID)
        /// A response that is made later, by another node or by a task of this one, such as a
        /// scrub.
        ///
        /// - bytes: the size assumed for the response until it is there.
        case awaited(bytes: Int)
    }

    /// The part of a list that is asked for: a connection keeps the place of each reply, and most
    /// replies are no part.
    private enum Part: Sendable {
        case whole
        indirect case page(ListPage)
    }

    let form: Form
    /// Whether a write that is stored on too few owners is answered with 504.
    let isStrict: Bool
    private let part: Part

    /// - Parameter page: the part of a list that is asked for.
    init(form: Form, isStrict: Bool = false, page: ListPage = .whole) {
        self.form = form
        self.isStrict = isStrict
        part = page == .whole ? .whole : .page(page)
    }

    /// The part of a list that is asked for.
    private var page: ListPage { if case .page(let page) = part { page } else { .whole } }

    /// The size assumed for a listing of other nodes until it arrives, in bytes; it keeps one
    /// connection from requesting more at once than may wait for it.
    static let listingBytes = 64 << 10

    /// The bytes that the reply is assumed to have.
    package var bytesCount: Int {
        switch form {
        case .awaited(let bytes): bytes
        case .written: 0
        }
    }

    /// Whether the response is made later, so that nothing of it is here yet.
    package var isMadeElsewhere: Bool {
        if case .awaited = form { return true }
        return false
    }

    /// Whether a shard replica of this node executed the write that it acknowledges.
    package var isWrittenHere: Bool {
        if case .written = form { return true }
        return false
    }

    /// Returns the response, and the write that it acknowledges.
    package func settle(_ outcome: ReplyResult) -> (Response, write: Write?) {
        switch (outcome, form) {
        case (.stored(let stored), .written(let receipt, let shard)),
            (.answered(.written(let receipt, let shard), let stored?), _):
            let write = Write(shard: shard, context: receipt.context, stored)
            return (Response(to: receipt, stored, isStrict: isStrict), write)
        default: return (Response(outcome, page), nil)
        }
    }
}

/// The translation of requests into calls to the node, and of its results into replies.
package struct Admin: Sendable {
    let node: Node
    /// Limits of the sessions and connections above, for `HELP limits`.
    private let limits: [Limit]

    /// - Parameter limits: the limits of the sessions and connections above, for `HELP limits`.
    package init(_ node: Node, limits: [Limit] = []) {
        self.node = node
        self.limits = limits
    }

    /// All limits, those of the line protocol first.
    var allLimits: [Limit] {
        Limit.ofLines + limits + Limit.ofTheNode + node.assumeIsolated { $0.hostLimits }
    }

    /// Answers a request.
    ///
    /// - Parameter slot: the slot at which the node reports the result of a reply that waits.
    package func answer(
        _ request: Request, for slot: ReplySlot, on connection: inout ConnectionState
    ) -> Answer {
        switch request {
        case .write(let mutation, let isMinted):
            write(mutation, isMinted: isMinted, for: slot, on: &connection)
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
            // The session passes `AUTH` on only where the node has no key.
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
        _ mutation: Mutation, isMinted: Bool, for slot: ReplySlot,
        on connection: inout ConnectionState
    ) -> Answer {
        let handling = handle(
            mutation, isMinted: isMinted, level: connection.ackLevel, for: slot,
            having: connection.sessionVectors, after: connection.unsettled)
        return answer(handling, showing: mutation.partition, on: &connection, sizeEstimate: 0)
    }

    private func seed(for slot: ReplySlot, on connection: inout ConnectionState) -> Answer {
        let (level, vectors) = (connection.ackLevel, connection.sessionVectors)
        let unsettled = connection.unsettled
        let reply = node.assumeIsolated {
            $0.seed(level: level, for: slot, having: vectors, after: unsettled)
        }
        return answer(reply, showing: nil, on: &connection, sizeEstimate: 0)
    }

    /// Has the node execute a write; a call of its own, so that the session vectors are not shared
    /// when they change, and so not copied.
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

    /// Returns the answer for the node's reply.
    ///
    /// - Parameters:
    ///   - partition: the partition whose shard replica on this node the reply shows; nil for all
    ///     of them.
    ///   - bytes: the size assumed where another node makes the reply.
    func answer(
        _ handling: Reply, showing partition: String?, _ page: ListPage = .whole,
        on connection: inout ConnectionState, sizeEstimate bytes: Int
    ) -> Answer {
        switch handling {
        case .awaited:
            return .later(
                DeferredReply(
                    form: .awaited(bytes: bytes), isStrict: connection.isAckStrict, page: page))
        case .here(.written(let receipt, let shard), _):
            return .later(
                DeferredReply(
                    form: .written(receipt, in: shard), isStrict: connection.isAckStrict))
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
