import CRDT
import LineProtocol
import Wire

/// The phases of a run, and the checks of every node at its end.
extension ClusterWorld {
    /// The limit of the time in which nodes form a cluster, in microseconds.
    private static let formMicroseconds: UInt64 = 10_000_000
    /// The limit of the time in which nodes are in sync once all faults have ended, in
    /// microseconds: a silent connection is given up after 6 s, and a node that stops has 3.
    private static let levelMicroseconds: UInt64 = 25_000_000
    /// The limit of the time in which a member joins or leaves once all faults have ended, in
    /// microseconds; the longest move is an eviction followed by a return.
    private static let moveMicroseconds: UInt64 = 40_000_000
    /// The interval in which an operator repeats `FORGET` for members that never return, in
    /// microseconds.
    private static let forgetMicroseconds: UInt64 = 2_000_000
    /// The age that a co-owner's confirmations may have when a node reports that it is in sync, in
    /// microseconds.
    private static let confirmedMicroseconds: UInt64 = 2_000_000
    /// The time after which no request is under way and no typing is shown, in microseconds: a
    /// request is given up after 3 s, and typing ends after 6.
    private static let idleMicroseconds: UInt64 = 6_100_000
    /// The time after which a stamp is certainly later than every earlier one, in microseconds:
    /// clocks differ by less.
    private static let apartMicroseconds: UInt64 = 300_000
    /// The limit of the time for one exchange in the quiet phase, in microseconds.
    private static let questionMicroseconds: UInt64 = 5_000_000

    func run() {
        push(.look, after: 0)
        if plan.textBytes != nil { coverage.count("tight queues") }
        for machine in members {
            restart(machine.index, after: networkRandom.between(0...300_000))
        }
        let isFormed = run(until: ClusterWorld.formMicroseconds) { [members] in
            members.allSatisfy { $0.process?.isReady ?? false }
        }
        guard isFormed else { return fail(.formed, "not every node is ready") }
        suffer()
        guard settle() else { return }
        if plan.losesCarrier {
            loseCarrier()
            guard settle() else { return }
        }
        guard hearOut() else { return }
        afterwards()
    }

    private func suffer() {
        clientsUntil = now + plan.chaosMilliseconds * 1_000
        for (index, fault) in plan.faults.enumerated() {
            push(.fault(index), after: fault.at * 1_000)
        }
        for mover in movers { push(.move(mover.move.node), after: mover.move.at * 1_000) }
        for index in 0..<plan.clients {
            clients.append(ClusterClient(index))
            push(.client(index), after: clientRandom.between(0...100_000))
        }
        beginWatchers()
        beginPhones()
        beginNumbering()
        beginPushes()
        _ = run(until: clientsUntil)
        // The last fault may begin with the end of the chaos; every fault ends by itself.
        let last = plan.faults.map { $0.at + $0.milliseconds }.max() ?? 0
        let end = clientsUntil - plan.chaosMilliseconds * 1_000 + last * 1_000
        _ = run(until: max(end, clientsUntil) + 1_000)
        heal()
    }

    private func heal() {
        trace("heal", 0)
        // Clients that still have a connection end their lines.
        for client in clients { act(client) }
        for client in numbering { act(client) }
        for machine in members where plan.faults.contains(where: \.isBlock) {
            _ = order("UNBLOCK *", codes: [], to: machine.index)
        }
        let end = now + ClusterWorld.moveMicroseconds
        while finding == nil, now < end, !movers.allSatisfy(\.isOver) {
            forgetAgain()
            _ = run(until: now + ClusterWorld.forgetMicroseconds) { [movers] in
                movers.allSatisfy(\.isOver)
            }
        }
        guard finding == nil else { return }
        for mover in movers where !mover.isOver {
            fail(
                .placed, "n\(mover.move.node + 1) is not through: \(mover.move.kind), \(mover.step)"
            )
        }
    }

    // MARK: Exchanges

    /// Sends lines to a node on a connection of their own, and runs until they are answered.
    ///
    /// - Returns: the answers; nil after a violation, or if the node takes no clients.
    private func ask(_ requests: [ClusterRequest], of index: Int, as user: String)
        -> [ClusterAnswer]?
    {
        guard let visit = openVisit(to: index, as: user) else { return nil }
        ask(requests, on: visit)
        let isAnswered = run(until: now + ClusterWorld.questionMicroseconds) {
            visit.answers.count >= requests.count || visit.session == nil
        }
        guard isAnswered, visit.answers.count == requests.count else { return nil }
        endLines(of: visit)
        return visit.answers
    }

    func needed(
        _ requests: [ClusterRequest], of index: Int, as user: String = ClusterClient.user(0)
    ) -> [ClusterAnswer] {
        if let answers = ask(requests, of: index, as: user) { return answers }
        fail(.answered, "n\(index + 1) does not answer in the quiet: \(requests[0].text)")
        return []
    }

    // MARK: Convergence

    /// Waits until every node reports that all members are alive and in sync.
    private func settle() -> Bool {
        let began = now
        var last = ""
        while finding == nil, now < began + ClusterWorld.levelMicroseconds {
            guard let unsettled = firstUnsettled() else { return finding == nil }
            last = unsettled
            _ = run(until: now + 200_000)
        }
        fail(.level, last)
        return false
    }

    /// Waits until no client or device has a connection: a change that is accepted after the last
    /// reads would be in none of them.
    ///
    /// A client with many open requests waits for each of them, however well in sync the nodes are.
    ///
    /// - Returns: false if a violation was found.
    func hearOut() -> Bool {
        let isOpen = { [clients, devices = phones + pushed, numbering] in
            clients.contains { $0.visit != nil } || devices.contains { $0.visit != nil }
                || numbering.contains { $0.visit != nil || !$0.abandoned.isEmpty }
        }
        guard isOpen() else { return finding == nil }
        coverage.count("heard out in the quiet")
        _ = run(until: now + ClusterWorld.answerMicrosecondsMax) { !isOpen() }
        if isOpen() { fail(.answered, "somebody still waits in the quiet for what they asked") }
        return finding == nil
    }

    /// Returns what the first node that is not in sync reports; nil if all are.
    private func firstUnsettled() -> String? {
        for machine in members {
            if let unsettled = unsettled(machine.index) { return unsettled }
        }
        return nil
    }

    /// Returns the reason why a node is not in sync; nil if it is.
    private func unsettled(_ index: Int) -> String? {
        let name = "n\(index + 1)"
        let requests = [ClusterRequest(.status, "STATUS"), ClusterRequest(.members, "MEMBERS")]
        guard let answers = ask(requests, of: index, as: ClusterClient.user(0)) else {
            return "\(name) takes no clients"
        }
        if let unsettled = unsettled(answers[1].lines("MEMBER"), at: index) {
            return "\(name) \(unsettled)"
        }
        let status = answers[0].lines("NODE").first
        guard status?.isTrue("converged") ?? false else {
            return "\(name) is not level with the others"
        }
        // The node measures the free space at each tick.
        guard status?["disk"] != "full" else { return "\(name) says that its disk is full" }
        return unsettledClock(of: name, members: members.count, status)
    }

    /// The time after the last disturbance for which a node may still believe a wrong clock, in
    /// microseconds: a measurement takes at most 500 ms, the next probe comes a second later, and
    /// both are evaluated at a tick.
    private static let measuredMicroseconds: UInt64 = 2_000_000

    /// Returns what a node does not know of its clock yet; nil if it knows that it is right.
    private func unsettledClock(of name: String, members: Int, _ status: ReplyFields?) -> String? {
        guard !plan.hasWrongClock || now >= (disturbedAt ?? 0) + ClusterWorld.measuredMicroseconds
        else {
            return "\(name) may know only what clocks said before they were corrected"
        }
        let offset = (status?["clock"]).flatMap { Int64($0.dropLast("ms".count)) }
        guard members == 1 || offset != nil else {
            return "\(name) has compared its clock with nobody's"
        }
        guard (offset ?? 0).magnitude <= WallTime.maxOffsetMillisecondsDefault else {
            return "\(name) says that its clock is wrong"
        }
        return nil
    }

    /// Returns what a node's member table has wrong; nil if it is right.
    private func unsettled(_ lines: [ReplyFields], at index: Int) -> String? {
        let alive = lines.filter { $0["state"] == "alive" }.compactMap { $0["name"] }
        guard alive == members.map(\.name).sorted() else {
            return "does not see every member alive"
        }
        let gone = machines.filter { $0.isGone || $0.isOut }.map(\.name)
        for line in lines where line["state"] != "alive" {
            guard let name = line["name"], gone.contains(name) else { return "sees another member" }
            let isEvicted = line.isTrue("evicted")
            guard line["state"] != "left" || isEvicted else { continue }
            // The node that was told of a departure may have been wiped before it told the others,
            // and a node that dies while it announces its departure is dead to them. An evicted
            // node may hold what no other does, and a minority evicts nobody: these have to be
            // forgotten by an operator.
            if isEvicted || !isEvictedByThemselves(lines) {
                _ = order("FORGET \(name)", codes: [409], to: index)
            }
            return "waits for \(name)"
        }
        return nil
    }

    /// Whether the remaining members evict the dead ones without an operator.
    private func isEvictedByThemselves(_ lines: [ReplyFields]) -> Bool {
        let count = lines.count { $0["state"] != "left" || $0.isTrue("evicted") }
        return plan.moves.allSatisfy { $0.kind == .evict } && members.count * 2 > count
    }

    // MARK: Final reads

    private func afterwards() {
        // A conversation of which every replica was destroyed is created again; what is left then
        // shows.
        let first = members[0].index
        for answer in needed(conversations.map(createLine), of: first) where answer.code != nil {
            fail(.answered, "n\(first + 1) refuses \(answer.summary) in the quiet")
        }
        preparePhones()
        preparePushes()
        checkNumbered()
        _ = run(until: now + ClusterWorld.apartMicroseconds)
        for machine in members { writeToAll(at: machine.index) }
        checkPushes()
        awaitPurges()
        // A node's report about the others is at most two seconds old: not older than these writes.
        _ = run(until: now + ClusterWorld.confirmedMicroseconds)
        guard settle() else { return }
        settleWatchers()
        checkDigests()
        checkReads()
        checkPhones()
        emptyPhones()
        checkFiles()
        checkLists()
        checkBlocks()
        checkAccounts()
        checkProfiles()
        checkTyping()
        let typist = beginTyping()
        _ = run(until: now + ClusterWorld.idleMicroseconds)
        expectNoTyping("six seconds after they said so")
        typist.map(endLines)
        dismissWatchers()
        checkNothingWaits()
        checkPhonesAreEmpty()
        checkRemovals()
        checkPushesOverRestarts()
    }

    /// Checks that a message sent in the quiet phase reaches all of its owners.
    private func writeToAll(at index: Int) {
        let name = ClusterMessage.Name(id: "last.\(index)", conversation: conversations[0])
        let request = expectations.send(
            expectations.add(name, from: ClusterClient.user(0), text: "last \(index)"))
        let answers = needed([ClusterRequest(.set, "SET ack=all"), request], of: index)
        guard let replicas = answers.last?.fields?["replicas"] else {
            return fail(.answered, "n\(index + 1) takes no message in the quiet")
        }
        checkTime(answers.last?.fields?["at"], at: index)
        let parts = replicas.split(separator: "/")
        guard parts.count == 2, parts[0] == parts[1] else {
            return fail(.level, "a message to n\(index + 1) is on \(replicas) owners in the quiet")
        }
    }

    /// Checks that all owners of a shard print the same `DIGEST` line, and no other node prints
    /// one.
    private func checkDigests() {
        var said: [Int: (line: [String], by: Int)] = [:]
        for machine in members {
            let answers = needed([ClusterRequest(.digest, "DIGEST")], of: machine.index)
            let lines = answers.flatMap { $0.lines("DIGEST") }
            let held = lines.compactMap { $0["shard"].flatMap { Int($0) } }
            let owned = (0..<plan.shards).filter { shard in
                owners(of: ShardID(UInt16(shard))).contains(machine.index)
            }
            guard held == owned || finding != nil else {
                return fail(.placed, "n\(machine.index + 1) owns \(owned) and holds \(held)")
            }
            for (shard, fields) in zip(held, lines) {
                let line = fields.pairs.map { "\($0.key)=\($0.value)" }
                guard let other = said[shard], other.line != line else {
                    said[shard] = (line, machine.index)
                    continue
                }
                fail(.equal, "n\(machine.index + 1) \(line), n\(other.by + 1) \(other.line)")
            }
        }
    }

    private func checkReads() {
        for index in 0..<plan.clients {
            let user = ClusterClient.user(index)
            let histories = conversations.map {
                ClusterRequest(
                    .history(conversation: $0, isWhole: true),
                    "HISTORY \($0) \(user) limit=\(LineLimits.historyMax)")
            }
            // The list of a message's texts is the same for all of its readers.
            let named = index == 0 ? expectations.names : []
            let edits = named.map {
                ClusterRequest(.edits($0), "EDITS \($0.conversation) \($0.id) \(user)")
            }
            checkReads(histories + edits, by: user)
        }
    }

    /// Checks that the owners of a conversation answer reads correctly and equally.
    private func checkReads(_ requests: [ClusterRequest], by user: String) {
        var first: [Int: (said: [ReplyLine], by: Int)] = [:]
        for machine in members where finding == nil {
            let asked = requests.indices.filter {
                isOwner(machine.index, of: requests[$0].kind.conversation)
            }
            guard !asked.isEmpty else { continue }
            let answers = needed(asked.map { requests[$0] }, of: machine.index, as: user)
            guard answers.count == asked.count else { return }
            check(answers, to: asked.map { requests[$0] }, by: user, at: machine.index)
            for (index, answer) in zip(asked, answers) {
                let said = answer.data + [answer.status]
                guard let other = first[index], other.said != said else {
                    first[index] = (said, machine.index)
                    continue
                }
                fail(.equal, "n\(machine.index + 1) says \(said), n\(other.by + 1) \(other.said)")
            }
        }
    }

    private func isOwner(_ machine: Int, of conversation: String?) -> Bool {
        conversation.map { owners(of: $0).contains(machine) } ?? true
    }

    private func check(
        _ answers: [ClusterAnswer], to requests: [ClusterRequest], by user: String, at machine: Int
    ) {
        var shown: [String: ReplyFields] = [:]
        for answer in answers {
            for line in answer.lines("MESSAGE") { shown[line["id"] ?? ""] = line }
        }
        let node = "n\(machine + 1)"
        for (place, name) in expectations.names.enumerated()
        where isOwner(machine, of: name.conversation) {
            guard let message = expectations.messages[name.id] else { continue }
            check(message, as: shown[name.id], by: user, at: node)
            checkWatchers(of: user, name, at: place, as: shown[name.id], node: node)
        }
        for (answer, request) in zip(answers, requests) {
            if case .history(let conversation, _) = request.kind {
                let lines = answer.lines("MESSAGE")
                checkMarks(told: user, in: conversation, lines, node: node)
            }
            guard case .edits(let name) = request.kind, let message = expectations.messages[name.id]
            else { continue }
            check(answer.lines("EDIT").compactMap { $0["text"] }, of: message, at: node)
        }
    }

    private func check(
        _ message: ClusterMessage, as line: ReplyFields?, by user: String, at node: String
    ) {
        let id = message.name.id
        if message.isAcknowledged(.hidden(from: user)), !message.restoresAsked.contains(user),
            line != nil
        {
            fail(.deleted, "\(node) shows \(id) to \(user), who deleted it")
        }
        if message.isAcknowledged(.sent), line == nil, !message.hidesAsked.contains(user) {
            fail(.kept, "\(node) lacks \(id), which was acknowledged")
        }
        if message.isAcknowledged(.retracted), let line, !line.isTrue("deletedForEveryone") {
            fail(.deleted, "\(node) shows \(id), which is deleted for everyone")
        }
    }

    private func check(_ texts: [String], of message: ClusterMessage, at node: String) {
        let id = message.name.id
        if message.isAcknowledged(.retracted), !texts.isEmpty {
            fail(.deleted, "\(node) shows texts of \(id), which is deleted for everyone")
        }
        guard !message.mayShowDeleted else { return }
        for edit in message.acknowledgedEdits where !texts.contains(edit) {
            fail(.kept, "\(node) lacks the text '\(edit)' of \(id), which was acknowledged")
        }
    }
}
