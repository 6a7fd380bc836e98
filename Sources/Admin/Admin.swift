import CRDT
import Chat
import LineProtocol
import Node
import Replication
import Wire

/// What one connection has set, and what it has written.
package struct ConnectionState: Sendable {
    /// How many owners the replies to its writes wait for.
    package var ackLevel: Replication.AckLevel
    /// What it wrote, of what has been acknowledged.
    package private(set) var writes: [ShardID: Vector] = [:]
    /// What it was shown, and by whom.
    package internal(set) var sessionVectors = SessionVectors()
    /// What it asked for, here or where it comes from, and may be executed yet.
    package internal(set) var unsettled = Unsettled()
    /// Whether it may be shown nothing older than that, whatever cannot be reached: it came with a
    /// token.
    package var isStrict = false
    /// Whether a write that is stored on fewer owners than its level asks for is answered 504.
    package var isLevelStrict = false

    /// The most ranges of seqs kept for one replica.
    ///
    /// Beyond it they become one: `WAIT` then waits for other connections' writes too, never for
    /// too few.
    static let rangesMax = 1_024

    package init(ackLevel: Replication.AckLevel) { self.ackLevel = ackLevel }

    /// - Parameter isHere: whether a copy of this node carried it out.
    package mutating func note(_ write: Write, isHere: Bool) {
        if isHere { sessionVectors.note(Observation(write.shard, nil, by: .here)) }
        writes[write.shard, default: Vector()].insert(write.context, rangesMax: Self.rangesMax)
    }
}

extension Vector {
    /// Adds some seqs; becomes one range for each replica where one has more than so many.
    mutating func insert(_ context: Context, rangesMax: Int) {
        insert(context)
        if entries.contains(where: { $0.seqs.ranges.count > rangesMax }) { self = enclosing }
    }
}

/// One write of a connection's, by what names it.
package struct Write: Hashable, Sendable {
    package let shard: ShardID
    package let context: Context
}

/// How a request is answered.
package enum LineAnswer: Sendable {
    case now([UInt8])
    /// Once the node says that it is stored.
    case later(DeferredReply)
    /// Once every reply before it is out, and then so many copies of this connection's writes.
    case whenFirst(copies: Int, milliseconds: UInt64)
    /// By `report`, once every reply before it is out: it tells of what is on disk, and so of all
    /// that this connection did before.
    case reportWhenFirst(Request)
    /// By `begin`, once every reply before it is out, for the same reason.
    case beginWhenFirst(Request)
}

/// A reply that may not be sent yet.
///
/// It becomes bytes only through what the node settled: nothing is acknowledged that is not stored.
package struct DeferredReply: Sendable {
    enum Form: Sendable {
        /// Data lines and their status line.
        case whole([UInt8])
        /// The status line of a write, which it acknowledges.
        case written(Receipt, in: ShardID)
        /// Nothing yet: others answer.
        ///
        /// - bytes: what the reply counts for until it is there.
        case awaited(bytes: Int)
    }

    let form: Form
    /// Whether a write that is stored on too few owners is answered 504.
    var isStrict = false
    /// The copies that it shows.
    package var seen: [Observation] = []

    /// What a listing that others make counts for until it is there, in bytes: so that one
    /// connection does not ask for more at once than it may have waiting.
    static let listingBytes = 64 << 10

    /// How many bytes of it are written already, or are to be reckoned with.
    package var bytesCount: Int {
        switch form {
        case .whole(let bytes): bytes.count
        case .awaited(let bytes): bytes
        case .written: 0
        }
    }

    /// Whether others answer, so that nothing of it is here yet.
    package var isMadeElsewhere: Bool {
        if case .awaited = form { return true }
        return false
    }

    /// Whether what it acknowledges was carried out by a copy of this node.
    package var isWrittenHere: Bool {
        if case .written = form { return true }
        return false
    }

    /// The reply, and what it acknowledges.
    package func settle(_ outcome: ReplyResult) -> (bytes: [UInt8], write: Write?) {
        switch outcome {
        case .stored(let stored):
            return settle(stored)
        case .failed(let failure):
            return (LineError(.store(failure)).reply, nil)
        case .scrubbed(let report):
            return (Admin.reply(with: report), nil)
        case .backedUp(let report):
            return (Admin.reply(with: report), nil)
        case .refused(let failure):
            return (LineError(failure).reply, nil)
        case .watching(let token):
            return (ReplyWriter.status { $0.pair("token", token) }, nil)
        case .answered(.written(let receipt, let shard), let stored?):
            let write = Write(shard: shard, context: receipt.context)
            return (reply(to: receipt, stored), write)
        case .answered(let outcome, _):
            return (Admin.reply(with: outcome), nil)
        case .level:
            return (ReplyWriter.status { _ in }, nil)
        case .copies:
            preconditionFailure("only WAIT waits for copies")
        }
    }

    private func settle(_ stored: Stored) -> (bytes: [UInt8], write: Write?) {
        switch form {
        case .whole(let bytes):
            return (bytes, nil)
        case .written(let receipt, let shard):
            let write = Write(shard: shard, context: receipt.context)
            return (reply(to: receipt, stored), write)
        case .awaited:
            preconditionFailure("a reply is settled by what it waits for")
        }
    }

    /// The write stays, whatever is said of it.
    private func reply(to receipt: Receipt, _ stored: Stored) -> [UInt8] {
        guard !isStrict || stored.isEnough else {
            return LineError(504, "Stored on \(stored.on) of \(stored.owners) owners").reply
        }
        return Admin.reply(to: receipt, stored)
    }
}

/// Answers one request by asking the node.
package struct Admin: Sendable {
    let node: Node
    /// What is limited by those who ask it.
    private let limits: [Limit]

    /// - Parameter limits: what is limited by those who ask it, for `HELP limits` to tell.
    package init(_ node: Node, limits: [Limit] = []) {
        self.node = node
        self.limits = limits
    }

    /// Everything that is limited, of the line first.
    var allLimits: [Limit] {
        Limit.ofLines + limits + Limit.ofTheNode + node.assumeIsolated { $0.hostLimits }
    }

    /// - Parameter slot: where the node says what became of a reply that waits.
    package func answer(
        _ request: Request, for slot: ReplySlot, on connection: inout ConnectionState
    ) -> LineAnswer {
        switch request {
        case .create, .send, .edit, .delete, .restore, .invite, .leaveChat, .pin, .unpin, .archive,
            .unarchive, .read, .delivered, .actionAdd, .actionEdit, .actionDone, .actionUndone,
            .actionDelete, .hideChat:
            write(request, for: slot, on: &connection)
        case .profile(let profile):
            profile.isShown
                ? read(.profile(profile.user), by: profile.user, slot: slot, on: &connection)
                : write(request, for: slot, on: &connection)
        case .seed:
            seed(for: slot, on: &connection)
        case .deviceAdd, .deviceRemove, .viewing, .notified:
            write(request, for: slot, on: &connection)
        case .chat(let it):
            read(.chat(it.conversation), by: it.user, slot: slot, on: &connection)
        case .marks(let it):
            read(.marks(it.conversation), by: it.user, slot: slot, on: &connection)
        case .devices(let user):
            read(.devices(of: user), by: user, slot: slot, on: &connection)
        case .actions(let user):
            read(.actions, by: user, slot: slot, on: &connection)
        case .history(let history):
            read(history, for: slot, on: &connection)
        case .edits(let message):
            read(message, for: slot, on: &connection)
        case .pinned(let it):
            read(.pinned(it.conversation), by: it.user, slot: slot, on: &connection)
        case .chats(let chats):
            list(chats, for: slot, on: &connection)
        case .unread(let user):
            read(.unread, by: user, slot: slot, on: &connection)
        case .set(let it):
            set(it, on: &connection)
        case .wait(let wait):
            .whenFirst(copies: wait.replicas, milliseconds: wait.timeout.wholeMilliseconds)
        case .auth:
            // A session hands on what it has no keys for.
            .now(LineError.nodeHasNoKey.reply)
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
        case .token, .status, .ready, .metrics, .members, .shards, .owners, .digest, .vector:
            .reportWhenFirst(request)
        }
    }

    private func set(_ it: Request.SetLevel, on connection: inout ConnectionState) -> LineAnswer {
        connection.ackLevel =
            switch it.level {
            case .local: .local
            case .majority: .majority
            case .all: .all
            }
        connection.isLevelStrict = it.isStrict
        return .now(
            ReplyWriter.status {
                $0.pair("ack", it.level)
                $0.flag("strict", it.isStrict)
            })
    }

    /// What `WAIT` says once it settled.
    package static func reply(toWait outcome: ReplyResult) -> [UInt8] {
        guard case .copies(let copies, let isEnough) = outcome else {
            preconditionFailure("WAIT waits for copies")
        }
        guard isEnough else {
            return LineError(504, "Stored on \(copies) owners, not on as many as asked").reply
        }
        return ReplyWriter.status { $0.pair("replicas", copies) }
    }
}

// MARK: Writes

extension Admin {
    private func write(
        _ request: Request, for slot: ReplySlot, on connection: inout ConnectionState
    ) -> LineAnswer {
        let isMinted =
            switch request {
            case .send(let send): send.message == nil
            case .actionAdd(let action): action.item == nil
            default: false
            }
        let (handling, partition) = handle(
            request, isMinted: isMinted, level: connection.ackLevel, for: slot,
            having: connection.sessionVectors, after: connection.unsettled)
        return answer(handling, showing: partition, on: &connection, sizeEstimate: 0)
    }

    private func seed(for slot: ReplySlot, on connection: inout ConnectionState) -> LineAnswer {
        let level = connection.ackLevel
        return answer(
            node.assumeIsolated { $0.seed(level: level, for: slot) }, showing: nil,
            on: &connection, sizeEstimate: 0)
    }

    /// A call of its own, so that nobody else holds the sights when they change.
    ///
    /// - Returns: what the node made of the write, and the partition that it is in.
    private func handle(
        _ request: Request, isMinted: Bool, level: Replication.AckLevel, for slot: ReplySlot,
        having sessionVectors: SessionVectors, after unsettled: Unsettled
    ) -> (Reply, partition: String) {
        node.assumeIsolated { node in
            guard let mutation = mutation(of: request, mintedBy: node) else {
                preconditionFailure("a request that writes is a mutation")
            }
            let partition = mutation.partition
            let handling = node.handle(
                mutation, isMinted: isMinted, level: level, for: slot, having: sessionVectors,
                after: unsettled)
            return (handling, partition)
        }
    }

    /// What the node made of a request, as a reply.
    ///
    /// - Parameters:
    ///   - partition: of which it shows the copy here; nil for all copies.
    ///   - bytes: what it counts for where others answer.
    func answer(
        _ handling: Reply, showing partition: String?,
        on connection: inout ConnectionState, sizeEstimate bytes: Int
    ) -> LineAnswer {
        switch handling {
        case .awaited:
            return .later(
                DeferredReply(form: .awaited(bytes: bytes), isStrict: connection.isLevelStrict))
        case .here(.written(let receipt, let shard), _):
            return .later(
                DeferredReply(
                    form: .written(receipt, in: shard), isStrict: connection.isLevelStrict))
        case .here(let outcome, let isSettled):
            let bytes = Admin.reply(with: outcome)
            let seen =
                outcome.showsCopy ? node.assumeIsolated { $0.observations(of: partition) } : []
            guard isSettled else {
                return .later(DeferredReply(form: .whole(bytes), seen: seen))
            }
            connection.note(seen)
            return .now(bytes)
        }
    }

    /// The status line of a write.
    static func reply(to receipt: Receipt, _ stored: Stored) -> [UInt8] {
        ReplyWriter.status {
            $0.pair("id", receipt.message)
            $0.pair("id", receipt.item)
            $0.pair("at", time: (receipt.editedAt ?? receipt.sentAt)?.lineTime)
            if receipt.message != nil {
                $0.pair("replicas", stored.on, of: stored.owners)
            }
            $0.pair("unread", receipt.unread)
        }
    }

    /// - Parameter node: makes the ids that the request leaves to it.
    private func mutation(of request: Request, mintedBy node: isolated Node) -> Mutation? {
        switch request {
        case .create(let it):
            Mutation(
                .create(participants: it.participants, title: it.title.isEmpty ? nil : it.title),
                in: it.conversation, by: it.creator)
        case .send(let it):
            Mutation(
                .send(
                    it.message ?? node.mintMessageID(), type: it.type, item: it.item,
                    text: it.text), in: it.conversation, by: it.sender)
        case .edit(let it):
            Mutation(
                .edit(it.message, text: it.text), in: it.conversation, by: it.user)
        case .delete(let it):
            Mutation(
                it.scope == .everyone ? .retract(it.message) : .hide(it.message),
                in: it.conversation, by: it.user)
        case .restore(let it):
            Mutation(.restore(it.message), in: it.conversation, by: it.user)
        case .pin(let it):
            Mutation(.pin(it.message), in: it.conversation, by: it.user)
        case .unpin(let it):
            Mutation(.unpin(it.message), in: it.conversation, by: it.user)
        default:
            participation(of: request) ?? own(of: request, mintedBy: node) ?? device(of: request)
        }
    }

    /// Who is in a conversation, and what each makes of it for themselves.
    private func participation(of request: Request) -> Mutation? {
        switch request {
        case .invite(let it): Mutation(.invite(it.user), in: it.conversation, by: it.by)
        case .leaveChat(let it): Mutation(.leave, in: it.conversation, by: it.user)
        case .archive(let it): Mutation(.archive, in: it.conversation, by: it.user)
        case .unarchive(let it): Mutation(.unarchive, in: it.conversation, by: it.user)
        case .hideChat(let it): Mutation(.hideChat, in: it.conversation, by: it.user)
        case .read(let it): Mutation(.read(it.message), in: it.conversation, by: it.user)
        case .delivered(let it): Mutation(.deliver(it.message), in: it.conversation, by: it.user)
        default: nil
        }
    }
}
