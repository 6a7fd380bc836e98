import CRDT
import Chat
import Replication
import Wire

/// A client's request that depends on what users are to each other, in several steps: that is asked
/// for, and then the request is executed.
///
/// It takes steps where this node cannot say at once whom one of the users has blocked, as an owner
/// of the shard that is ready, and where somebody adds users who has signed in to an account. Where
/// nobody can be reached who can say it, a read is executed by what this node was told last, and
/// whoever is added is added: a cut must not take away what can be done on its side, and what a
/// blocked user sends is hidden at each read in any case.
struct BlockCheck: Sendable {
    enum Request: Sendable {
        case read(AnyQuery)
        case write(Mutation, isMinted: Bool, AckLevel, after: Unsettled)
        /// What is told to the watchers of the user; nothing is executed.
        case watch
    }

    enum Step: Sendable {
        /// Which of the users to be added have accounts is asked.
        ///
        /// Can transition to: `acquaintance`.
        case accounts
        /// To which conversations others have added the first of these users is asked, and, where
        /// those are many, whom the user knows of `among`.
        ///
        /// Can transition to: `acquaintance`, `blocks`.
        case acquaintance(of: ArraySlice<UserID>, among: [UserID])
        /// How much the user has uploaded and not sent is asked.
        ///
        /// Can transition to: `execution`.
        case unsentBytes
        /// Who has blocked whom is asked.
        ///
        /// Can transition to: `execution`.
        case blocks
        case execution
    }

    let slot: ReplySlot
    let user: UserID
    let request: Request
    /// What the connection had seen of each shard when it made the request; later steps show what
    /// it has seen by then.
    let sessionVectors: SessionVectors
    var step = Step.blocks
    /// The slot number of the present step.
    var number: UInt64 = 1
    /// The result of the present step, until the disks that it needs have it.
    var kept: Completion?

    /// The most checks at a time.
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

    /// The query of the present step, and the user in whose name it is asked; nil where the request
    /// itself is executed.
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

    /// Returns the step that follows the answer to the present one, or why the request is refused.
    ///
    /// Where not all shards have answered, they may: see above.
    func step(after outcome: Completion) -> Result<Step, Refusal> {
        switch step {
        // Each further question might take as long to go unanswered.
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
            // Nearly always the number of conversations is enough, and no message has to be read.
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

/// The running checks of a node, and what they were told last.
struct BlockChecks: Sendable {
    /// By the session number of their steps.
    var running: [UInt64: BlockCheck] = [:]
    /// By client session, the numbers of its requests that wait for checks, with those of the
    /// checks.
    private var clients: [UInt64: [UInt64: UInt64]] = [:]
    /// The watched users who are asked for.
    private var watched: Set<UserID> = []
    /// Those whose step was answered at once.
    var settled: [UInt64] = []
    /// By user, the checks of additions that have not ended; the first is under way, so that many
    /// at once are each judged by what the others have done.
    private var additions: [UserID: [UInt64]] = [:]
    /// Those whose turn among the additions of their user has come.
    private(set) var ready: [UInt64] = []
    /// Whom users of other nodes' shards have blocked; for those who have blocked somebody.
    private var known: [UserID: BlockedSenders] = [:]

    /// The most watched users who are asked for at a time.
    private static let watchedMax = 256
    /// The most users of whom it is known; of more, all are forgotten.
    private static let knownMax = 1_024

    func isRunning(_ slot: ReplySlot) -> Bool { clients[slot.session]?[slot.number] != nil }

    /// The checks that a connection waits for, ascending.
    func ids(of session: UInt64) -> [UInt64] { clients[session]?.values.sorted() ?? [] }

    /// Whether whom a watched user has blocked is asked already, or cannot be at present.
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
    /// - Returns: whether it is the first of its user, and may begin.
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
