import LineProtocol

/// Lists over all shards: conversations and action items, read in some runs beside everything else.
///
/// The invariants: a list that is not partial holds everything that its connection, or the token
/// with which it began, has seen of it; and in the quiet all nodes give the same lists.
extension ClusterWorld {
    /// The percentage of requests that concern lists, in those runs.
    private static let listsPercent = 12

    /// Draws a request that reads a list or adds to one; nil in most cases.
    func listRequest(_ client: ClusterClient) -> ClusterRequest? {
        guard plan.readsLists, listRandom.chance(percent: ClusterWorld.listsPercent) else {
            return nil
        }
        switch listRandom.below(4) {
        case 0:
            items += 1
            let id = "i\(items)"
            // Some titles are so long that the list comes from other nodes only when asked again.
            let title = String(repeating: "x", count: listRandom.pick([1, 40, 400]))
            return ClusterRequest(.addItem(id), "ACTION ADD \(client.user) id=\(id) \(title)")
        case 1: return ClusterRequest(.items, "ACTIONS \(client.user)")
        default: return chats(client)
        }
    }

    func chats(_ client: ClusterClient) -> ClusterRequest {
        ClusterRequest(.chats, "CHATS \(client.user)")
    }

    /// Checks a list against what the client knows, and adds to that.
    func judgeList(_ answer: ClusterAnswer, _ request: ClusterRequest, on visit: ClusterVisit) {
        switch request.kind {
        case .addItem(let id): visit.known.items.insert(id)
        case .items:
            let shown = answer.lines("ACTION").map { $0["id"] ?? "" }
            visit.known.items = judge(
                shown, "ACTIONS", answer, knowing: visit.known.items, on: visit)
        case .chats:
            let shown = answer.lines("CHAT").map { $0["id"] ?? "" }
            visit.known.chats = judge(
                shown, "CHATS", answer, knowing: visit.known.chats, on: visit)
            for line in answer.lines("CHAT") { judgeLast(of: line, on: visit) }
        default: break
        }
    }

    /// - Returns: what the client knows from now on.
    private func judge(
        _ shown: [String], _ verb: String, _ answer: ClusterAnswer, knowing known: Set<String>,
        on visit: ClusterVisit
    ) -> Set<String> {
        if Set(shown).count < shown.count { fail(.sound, "\(verb) shows one twice: \(shown)") }
        let missing = known.subtracting(shown).sorted()
        if isPartial(answer) {
            coverage.count("partial list")
        } else if let first = missing.first, visit.goesForward, hasAllDisks {
            fail(.reads, "\(verb) of \(visit.user) lacks \(first), which the client has seen")
        }
        return known.union(shown)
    }

    private func isPartial(_ answer: ClusterAnswer) -> Bool {
        answer.fields?.isTrue("partial") ?? false
    }

    /// Whether no change can have been lost with the only disk that had it.
    private var hasAllDisks: Bool { disksLostAt.isEmpty && !mayOwnersChange }

    /// Checks that a list of conversations shows no earlier message as the last than the client has
    /// seen.
    private func judgeLast(of line: ReplyFields, on visit: ClusterVisit) {
        // Each sending of one message has a place of its own, and the earliest is left once they
        // meet: a list may show another one than a history has.
        guard visit.goesForward, hasAllDisks, let id = line["last"],
            expectations.messages[id]?.attempts == 1, let last = places[id]
        else { return }
        let later = visit.known.present.filter { name in
            guard name.conversation == line["id"], let place = places[name.id] else { return false }
            guard let message = expectations.messages[name.id], message.attempts == 1 else {
                return false
            }
            return place > last && !message.mayShowDeleted
        }
        guard let name = later.min() else { return }
        fail(.reads, "CHATS of \(visit.user) does not know \(name.id), which the client has seen")
    }

    /// Records the places of messages in the order of their conversation.
    func notePlaces(_ answer: ClusterAnswer) {
        for line in answer.lines("MESSAGE") {
            if let id = line["id"], let place = line["seq"] { places[id] = place }
        }
    }

    /// Checks in the quiet that all nodes give the same lists.
    func checkLists() {
        guard plan.readsLists else { return }
        for user in (0..<plan.clients).map(ClusterClient.user) {
            let requests = [
                ClusterRequest(.chats, "CHATS \(user)"), ClusterRequest(.items, "ACTIONS \(user)"),
            ]
            var first: [[ReplyLine]] = []
            for machine in members where finding == nil {
                let answers = needed(requests, of: machine.index, as: user)
                let lists = answers.map(\.data)
                if first.isEmpty { first = lists }
                if lists != first || answers.contains(where: isPartial) {
                    fail(.level, "\(machine.name) lists \(lists) to \(user), another \(first)")
                }
            }
        }
    }
}
