import CRDT
import Chat
import Node
import Replication
import StorePort
import Wire

/// The simulated users: few users, conversations and messages, so that their writes collide.
struct Clients {
    struct Session {
        let user: UserID
        let node: Int
        /// The number of its last action; a wake-up with another number is stale.
        var turn = 0
        var left: Int
        /// The request whose reply the session waits for.
        var awaited: Int?
        /// Operations that were answered "may be done" and may be executed late, as the product
        /// records them.
        var unsettled = Unsettled()
        /// The same for the last four processes, kept apart from the code under test.
        var lost: [ProcessCounter] = []
        /// The mutation that undoes the last of them; the session's next request.
        var undoing: Mutation?

        mutating func lose(_ operation: Stamp) {
            unsettled.insertOperation(operation)
            let last = ProcessCounter(process: operation.process, counter: operation.counter)
            lost = Array((lost.filter { $0.process != last.process } + [last]).suffix(4))
        }
    }

    var sessions: [Session] = []
    let conversations: [ConversationID]
    let users: [UserID]
    /// Per conversation, the message ids that requests refer to.
    var messages: [[MessageID]]
    /// Per conversation, the users who requested to leave.
    var leavers: [[UserID]]
    /// Earlier requests, to be repeated.
    var asked: [Asked] = []
    var texts = 0
    /// The refresh tokens that sign-ins were given, of which many were replaced since.
    var refreshTokens: [RefreshToken] = []
    /// The sign-ins of which a client was told that they have ended, with the request.
    var endedSignIns: [SignInID: Mutation] = [:]
    /// The messages that were sent with a file.
    var messagesWithFiles: [Mutation] = []

    struct Asked {
        let mutation: Mutation
        let level: AckLevel
        let node: Int
    }

    init(_ plan: Plan, _ random: inout SeededRandom) {
        users = ["ann", "ben", "cleo", "dan"].prefix(2 + random.below(3)).map {
            UserID(checked: $0)
        }
        let count = 1 + random.below(3)
        conversations = (0..<count).map { ConversationID(checked: "c\($0)") }
        let pool = 3 + random.below(6)
        leavers = conversations.map { _ in [] }
        messages = conversations.map { _ in (0..<pool).map { MessageID(checked: "m\($0)") } }
        for index in 0..<(3 + random.below(4)) {
            sessions.append(
                Session(
                    user: users[index % users.count],
                    node: index < plan.nodes ? index : random.below(plan.nodes),
                    left: 20 + random.below(60)))
        }
    }
}

/// One request, until its reply.
struct Request {
    enum State {
        case open
        case answered
        case failed
    }

    enum Kind {
        /// The dots that are stored once the write is answered, the document whose changes they
        /// are, and the mutation.
        case write(Context, DocumentKey, Mutation)
        case query(AnyQuery, AnyFindings, deletionsKnown: Int)
    }

    let session: Int
    let user: UserID
    let address: Shell.Address
    let shard: Int
    let kind: Kind
    let askedAt: UInt64
    /// The operation, if the client's device has numbered it.
    var ofDevice: Stamp?
    var state = State.open
}

extension World {
    /// How long a client waits for a reply before it continues, in microseconds.
    private static let patienceMicroseconds: UInt64 = 1_600_000

    func onSession(_ index: Int, _ turn: Int) throws(Violation) {
        let session = clients.sessions[index]
        guard session.turn == turn, session.left > 0, !conditions.isFair else { return }
        if let awaited = session.awaited, requests[awaited].state != .answered {
            coverage.count("unanswered")
            clients.sessions[index].awaited = nil
        }
        let burst = workRandom.chance(percent: 20) ? 1 + workRandom.below(6) : 1
        for _ in 0..<burst { try act(index, at: session.node) }
        try arriveLate()
        rest(index)
    }

    private func rest(_ index: Int) {
        clients.sessions[index].left -= 1
        clients.sessions[index].turn += 1
        let turn = clients.sessions[index].turn
        let think = workRandom.between(500...90_000)
        let waits = clients.sessions[index].awaited != nil && workRandom.chance(percent: 50)
        push(.session(index, turn: turn), after: waits ? World.patienceMicroseconds : think)
    }

    /// Continues the session that waited for this reply.
    func onReply(to number: Int) {
        let index = requests[number].session
        guard clients.sessions.indices.contains(index), clients.sessions[index].awaited == number
        else { return }
        clients.sessions[index].awaited = nil
        clients.sessions[index].turn += 1
        push(
            .session(index, turn: clients.sessions[index].turn),
            after: workRandom.between(500...50_000))
    }

    /// Undoes a request that was not answered, through another node if there is one.
    private func undo(_ mutation: Mutation, _ index: Int, at node: Int) throws(Violation) {
        let others = nodes.indices.filter { $0 != node && nodes[$0].shell != nil }
        let other = others.isEmpty ? node : workRandom.pick(others)
        try submit(mutation, .local, index, at: other, isFresh: false)
    }

    func act(_ index: Int, at node: Int) throws(Violation) {
        if let mutation = clients.sessions[index].undoing {
            clients.sessions[index].undoing = nil
            return try undo(mutation, index, at: node)
        }
        if plan.hasDevices, deviceRandom.chance(percent: 50) {
            return try actAsDevice(index, at: node)
        }
        let draw = workRandom.below(100)
        if draw < 22 {
            try ask(index, at: node)
        } else if draw < 32, !clients.asked.isEmpty {
            let back = min(clients.asked.count, 1 + workRandom.below(12))
            let asked = clients.asked[clients.asked.count - back]
            if asked.node != node { coverage.count("repeated elsewhere") }
            try submit(asked.mutation, asked.level, index, at: node, isFresh: false)
        } else {
            let (mutation, isFresh) = mutation(by: clients.sessions[index].user)
            let level = workRandom.pick([AckLevel.local, .local, .majority, .majority, .all])
            if mutation.action.signInBegun == nil {
                clients.asked.append(Clients.Asked(mutation: mutation, level: level, node: node))
            }
            try submit(mutation, level, index, at: node, isFresh: isFresh)
        }
    }

    // MARK: Writes

    func mutation(by user: UserID) -> (Mutation, isFresh: Bool) {
        if plan.hasAccounts, accountRandom.chance(percent: 30) { return (accountChange(), false) }
        if plan.hasFiles, fileRandom.chance(percent: 30) { return (fileChange(by: user), false) }
        if plan.hasBlocks, blockRandom.chance(percent: 15) { return (blockChange(by: user), false) }
        if workRandom.chance(percent: 10) { return (own(by: user), false) }
        let conversationIndex = workRandom.below(clients.conversations.count)
        let conversation = clients.conversations[conversationIndex]
        let isCreated = ledger.entries(of: .conversation(conversation)).isEmpty == false
        let draw = isCreated ? workRandom.below(100) : workRandom.below(8)
        if draw < 5 { return (creation(of: conversation, by: user, isCreated), false) }
        if draw < 34 { return sending(in: conversationIndex, by: user) }
        let mutation =
            draw < 80
            ? aboutMessage(draw, in: conversationIndex, by: user)
            : ofUser(draw, in: conversationIndex, by: user)
        return (mutation, false)
    }

    private func aboutMessage(
        _ draw: Int, in conversationIndex: Int, by user: UserID
    ) -> Mutation {
        let isPinning = draw >= 69 && workRandom.chance(percent: 60)
        let id =
            isPinning ? favorite(in: conversationIndex) : target(in: conversationIndex, by: user)
        let action: any MessageAction =
            switch draw {
            case ..<49: EditMessage(text: text())
            case ..<57: HideMessage()
            case ..<62: RetractMessage()
            case ..<69: RestoreMessage()
            case ..<76: PinMessage()
            default: UnpinMessage()
            }
        return Mutation(action, of: id, in: clients.conversations[conversationIndex], by: user)
    }

    /// Draws an action about a conversation's participants, or about the user's own state in it.
    private func ofUser(_ draw: Int, in conversationIndex: Int, by user: UserID) -> Mutation {
        let conversation = clients.conversations[conversationIndex]
        func own(_ action: some ParticipantAction) -> Mutation {
            Mutation(action, in: conversation, by: user)
        }
        let upTo =
            workRandom.chance(percent: 50)
            ? nil : workRandom.pick(clients.messages[conversationIndex])
        switch draw {
        case ..<85:
            let invitation = InviteUser(invitee(to: conversationIndex))
            return Mutation(invitation, in: conversation, by: user)
        case ..<87:
            clients.leavers[conversationIndex].append(user)
            // Apps, whose users have accounts, may ask again for what was done.
            let leave = LeaveConversation(mayHaveLeft: plan.hasAccounts)
            return Mutation(leave, in: conversation, by: user)
        case ..<91: return own(ArchiveChat())
        case ..<94: return own(UnarchiveChat())
        case ..<96: return own(MarkRead(upTo))
        case ..<98: return own(HideChat())
        default: return own(MarkDelivered(upTo))
        }
    }

    /// Mostly a user who left: inviting a participant changes nothing.
    private func invitee(to conversationIndex: Int) -> UserID {
        let leavers = clients.leavers[conversationIndex]
        let isBack = !leavers.isEmpty && workRandom.chance(percent: 60)
        return workRandom.pick(isBack ? leavers : clients.users)
    }

    private func creation(
        of conversation: ConversationID, by user: UserID, _ isCreated: Bool
    ) -> Mutation {
        let title = workRandom.chance(percent: 70) ? "room" : text()
        let users = workRandom.chance(percent: isCreated ? 70 : 96) ? clients.users : [user]
        let create = CreateConversation(
            participants: users.sorted(), title: title, isByAccount: plan.hasAccounts)
        return Mutation(create, in: conversation, by: user)
    }

    private func sending(in conversationIndex: Int, by user: UserID) -> (Mutation, isFresh: Bool) {
        let conversation = clients.conversations[conversationIndex]
        let isFresh = workRandom.chance(percent: 35)
        let id: MessageID
        if isFresh {
            let time = HybridTimestamp(milliseconds: milliseconds)
            id = MessageID.minted(at: time, entropy: workRandom.next())
            clients.messages[conversationIndex].append(id)
        } else {
            id = workRandom.pick(clients.messages[conversationIndex])
        }
        let send = SendMessage(type: .text, item: nil, text: text())
        return (Mutation(send, of: id, in: conversation, by: user), isFresh)
    }

    /// Draws a message to act upon, preferably one of the user's own.
    private func target(in conversationIndex: Int, by user: UserID) -> MessageID {
        let conversation = clients.conversations[conversationIndex]
        for _ in 0..<4 {
            let id = workRandom.pick(clients.messages[conversationIndex])
            let first = ledger.entries(of: .message(id, in: conversation)).first
            if first?.mutation.user == user { return id }
        }
        return workRandom.pick(clients.messages[conversationIndex])
    }

    /// Draws one of the two messages that are pinned and unpinned all the time.
    private func favorite(in conversationIndex: Int) -> MessageID {
        clients.messages[conversationIndex][workRandom.below(2)]
    }

    /// Returns a text that is no part of any other text.
    func text() -> String {
        clients.texts += 1
        return "<text \(clients.texts)>"
    }

    // MARK: Reads

    private func ask(_ index: Int, at node: Int) throws(Violation) {
        let conversationIndex = workRandom.below(clients.conversations.count)
        let query: any Query
        if workRandom.chance(percent: 25) {
            let shown = workRandom.pick(ChatsQuery.Shown.allCases)
            let queries: [any Query] = [
                PinsQuery(clients.conversations[conversationIndex]), ChatsQuery(shown),
                UnreadQuery(), ItemsQuery(), ProfileQuery(of: workRandom.pick(clients.users)),
            ]
            query = workRandom.pick(queries)
        } else if workRandom.chance(percent: 30) {
            query = EditsQuery(
                workRandom.pick(clients.messages[conversationIndex]),
                in: clients.conversations[conversationIndex])
        } else {
            let id = workRandom.pick(clients.messages[conversationIndex])
            let place = workRandom.pick([
                HistoryQuery.Place.newest, .newest, .before(id), .after(id),
            ])
            let (conversation, limit) = (
                clients.conversations[conversationIndex], workRandom.pick([1, 3, 10, 100])
            )
            query =
                place == .after(id) && limit == 1
                ? MessageQuery(id, in: conversation)
                : HistoryQuery(conversation, place: place, limit: limit)
        }
        try ask(query, index, at: node)
    }

    func ask(_ base: any Query, _ index: Int, at node: Int) throws(Violation) {
        let query = AnyQuery(base)
        let shard = shard(of: query)
        guard let node = route(shard, from: nodes[node]), let shell = node.shell else { return }
        let user = clients.sessions[index].user
        let number = requests.count
        let answer: (findings: AnyFindings, isSettled: Bool)
        do throws(ShardFailure) {
            answer = try shell.machines[shard].answer(
                query, for: user,
                slot: ReplySlot(session: UInt64(index), number: UInt64(number)),
                in: world(of: node, shell))
        } catch {
            try onAskingFailed(error, node, shell)
            return
        }
        let kind = Request.Kind.query(
            query, answer.findings, deletionsKnown: node.deletions.count)
        requests.append(
            Request(
                session: index, user: user, address: shell.address, shard: shard, kind: kind,
                askedAt: now))
        coverage.count("\(type(of: base))")
        try checkNotBehind(node, shard, shell)
        if answer.isSettled {
            try onShown(number)
        } else {
            coverage.count("shown later")
        }
        scheduleTurn(shell)
    }

    /// Returns the shard of the query's partition; for a list over all shards, a random one, whose
    /// part is read.
    private func shard(of query: AnyQuery) -> Int {
        guard let partition = query.partition else { return workRandom.below(plan.shards) }
        return Int(ShardID(of: partition, count: UInt16(plan.shards)).number)
    }

    func onAskingFailed(
        _ failure: ShardFailure, _ node: SimNode, _ shell: Shell
    ) throws(Violation) {
        switch failure {
        case .refused(let refusal): coverage.count("refused \(refusal)")
        case .notReady: coverage.count("not ready")
        case .behind: coverage.count("behind")
        case .stale: coverage.count("stale")
        case .untimely(let timeliness, _): coverage.count("untimely: \(timeliness)")
        case .store(.badRecord), .store(.badIndex):
            noticeBadDocuments(node, shell)
        case .store(let failure):
            throw Violation(
                invariant: .badRecord, explanation: "\(node.name) cannot read: \(failure)")
        case .unreachable, .unanswered, .overloaded, .clock, .badFrame, .unsupported:
            throw Violation(
                invariant: .badRecord,
                explanation: "\(node.name), asked by a client, said \(failure)")
        }
    }
}
