import CRDT
import Chat
import Replication
import Wire

/// A client's request that depends on relations between users: the first steps query these
/// relations, and the last step executes the request.
///
/// Steps are needed if this node is not a ready owner of the shard that contains a user's blocks,
/// and if a user who has signed in to an account adds other users. If no node can answer a step, a
/// read uses the blocks that this node has received last, and users are added without a check: a
/// partition must not prevent the request, and each read hides messages of blocked users anyway.
struct BlockCheck: Sendable {
    enum Request: Sendable {
        case read(AnyQuery)
        case write(Mutation, isMinted: Bool, AckLevel, after: Unsettled)
        /// No request: the check only queries the blocks for the events of a watched user.
        case watch
    }

    enum Step: Sendable {
        /// The query which of the users to be added have accounts.
        ///
        /// Can transition to: `acquaintance`.
        case accounts
        /// The query to which conversations others have added the first of these users and, if
        /// there are many, which users of `among` that user knows.
        ///
        /// Can transition to: `acquaintance`, `blocks`.
        case acquaintance(of: ArraySlice<UserID>, among: [UserID])
        /// The query how many bytes the user has uploaded and not sent.
        ///
        /// Can transition to: `execution`.
        case unsentBytes
        /// The query which users have blocked others.
        ///
        /// Can transition to: `execution`.
        case blocks
        case execution
    }

    let slot: ReplySlot
    let user: UserID
    let request: Request
    /// The changes of each shard that the connection had seen when it made the request; later steps
    /// include the changes that it has seen by then.
    let sessionVectors: SessionVectors
    var step = Step.blocks
    /// The slot number of the present step.
    var number: UInt64 = 1
    /// The result of the present step, while it waits for disks.
    var kept: Completion?

    /// The greatest number of checks at a time.
    static let countMax = 65_536

    var isOfWatcher: Bool {
        if case .watch = request { return true }
        return false
    }

    /// Whether the request itself is being executed.
    var isExecuting: Bool {
        if case .execution = step { return true }
        return false
    }
}

// MARK: Steps

extension BlockCheck {
    /// The users whom the request adds to a conversation, ascending.
    private var guests: [UserID] { mutation?.guests ?? [] }

    private var mutation: Mutation? {
        if case .write(let mutation, _, _, _) = request { return mutation }
        return nil
    }

    /// The query of the present step, and the user in whose name it is asked; nil in the last step.
    var question: (query: AnyQuery, user: UserID)? {
        switch step {
        case .accounts: return (AnyQuery(AccountUsersQuery(among: guests)), user)
        case .acquaintance(let guests, let others):
            guard let guest = guests.first, let conversation = mutation?.conversation else {
                return nil
            }
            let question = Acquaintance.Question(beside: conversation, others: others)
            return (AnyQuery(AcquaintanceQuery(question)), guest)
        case .unsentBytes:
            guard let key = mutation?.key, key.kind == .file, let file = FileID(key.id),
                let conversation = mutation?.conversation
            else { return nil }
            return (AnyQuery(UnsentBytesQuery(besides: file, in: conversation)), user)
        case .blocks where guests.isEmpty: return (AnyQuery(BlocksQuery(of: user)), user)
        case .blocks: return (AnyQuery(BlockersQuery(among: guests)), user)
        case .execution: return nil
        }
    }

    /// Returns the step after the answer to the present step, or the reason to refuse the request.
    ///
    /// A request is not refused if some shards have not answered.
    func step(after outcome: Completion) -> Result<Step, Refusal> {
        switch step {
        // Further queries are skipped, since each query might also end at its time limit.
        case .accounts where !outcome.isWhole, .acquaintance where !outcome.isWhole:
            return .success(.blocks)
        case .accounts:
            guard let users: [UserID] = outcome.findings() else { return .success(.blocks) }
            let haveAccounts = Set(users).isSuperset(of: guests)
            return haveAccounts ? .success(step(for: guests[...])) : .failure(.userNotFound)
        case .acquaintance(let left, among: let others):
            guard let found: Acquaintance = outcome.findings(), found.isFull, !found.isIn,
                !found.knows(user)
            else { return .success(step(for: left.dropFirst())) }
            guard others.isEmpty else { return .failure(.tooManyStrangers) }
            // Nearly always, the number of conversations decides, and no message has to be read.
            let adders = found.adders.filter { $0 != user }.prefix(NamesQuery.usersMax - 1)
            return .success(.acquaintance(of: left, among: (adders + [user]).sorted()))
        case .unsentBytes:
            let unsent: UnsentBytes? = outcome.findings()
            return unsent.map { $0.count >= File.unsentBytesMax } ?? false
                ? .failure(.tooManyUnsentBytes) : .success(.execution)
        case .blocks, .execution: return .success(.execution)
        }
    }

    private func step(for guests: ArraySlice<UserID>) -> Step {
        guests.isEmpty ? .blocks : .acquaintance(of: guests, among: [])
    }
}

extension Completion {
    /// Whether all shards have answered a query.
    var isWhole: Bool {
        if case .found(_, isPartial: false) = self { return true }
        return false
    }
}

/// The running checks of a node, and the blocks that earlier checks have found.
struct BlockChecks: Sendable {
    /// The running checks by the session number of their steps.
    var running: [UInt64: BlockCheck] = [:]
    /// By client session, the number of each request that waits for a check, with the check's id.
    private var clients: [UInt64: [UInt64: UInt64]] = [:]
    /// The watched users whose blocks are being queried.
    private var watched: Set<UserID> = []
    /// The checks whose step was answered at once.
    var settled: [UInt64] = []
    /// By user, the unfinished checks of additions; only the first one runs, so that each addition
    /// is checked after the effects of the earlier additions.
    private var additions: [UserID: [UInt64]] = [:]
    /// The checks that have become the first among their user's additions.
    private(set) var ready: [UInt64] = []
    /// The blocked users by user; only for users of other nodes' shards who have blocked somebody.
    private var known: [UserID: BlockedSenders] = [:]

    /// The greatest number of watched users whose blocks are queried at a time.
    private static let watchedMax = 256
    /// The greatest number of entries of `known`; all entries are removed when this limit is
    /// reached.
    private static let knownMax = 1_024

    func isRunning(_ slot: ReplySlot) -> Bool { clients[slot.session]?[slot.number] != nil }

    /// The checks that a connection waits for, ascending.
    func ids(of session: UInt64) -> [UInt64] { clients[session]?.values.sorted() ?? [] }

    /// Returns whether a watched user's blocks are being queried, or cannot be queried at present.
    func isAsked(of user: UserID) -> Bool {
        watched.contains(user) || watched.count >= BlockChecks.watchedMax
    }

    mutating func add(_ check: BlockCheck, as id: UInt64) {
        running[id] = check
        if check.isOfWatcher {
            watched.insert(check.user)
        } else {
            clients[check.slot.session, default: [:]][check.slot.number] = id
        }
    }

    /// Adds a check of an addition.
    ///
    /// - Returns: whether the check is the first of its user, so that it may begin.
    mutating func addAddition(_ id: UInt64, by user: UserID) -> Bool {
        additions[user, default: []].append(id)
        return additions[user]?.count == 1
    }

    mutating func takeReady() -> [UInt64] {
        defer { ready = [] }
        return ready
    }

    private mutating func removeAddition(_ id: UInt64, by user: UserID) {
        guard var ids = additions[user], let index = ids.firstIndex(of: id) else { return }
        ids.remove(at: index)
        additions[user] = ids.isEmpty ? nil : ids
        if index == 0, let next = ids.first { ready.append(next) }
    }

    mutating func remove(_ id: UInt64) {
        guard let check = running.removeValue(forKey: id) else { return }
        removeAddition(id, by: check.user)
        if check.isOfWatcher {
            watched.remove(check.user)
        } else {
            clients[check.slot.session]?[check.slot.number] = nil
            if clients[check.slot.session]?.isEmpty ?? false { clients[check.slot.session] = nil }
        }
    }

    func senders(blockedBy user: UserID) -> BlockedSenders { known[user] ?? .none }

    mutating func note(_ senders: BlockedSenders, blockedBy user: UserID) {
        if known.count >= BlockChecks.knownMax { known = [:] }
        known[user] = senders.isEmpty ? nil : senders
    }
}
