import CRDT
import LineProtocol
import Wire

/// The death of a node whose clients carry tokens, while all other nodes are in sync.
///
/// The invariant: two seconds after a death, each living node accepts every token as long as a
/// majority of the owners of each shard lives, whatever the clients did until then.
extension ClusterWorld {
    /// The time after a death from which no token may be refused, in microseconds.
    private static let deathMicroseconds: UInt64 = 2_000_000
    /// The longest cut behind which a token waits, in microseconds.
    private static let cutMicrosecondsMax: UInt64 = 300_000
    /// The time within which a token stands for what is on a majority, in microseconds: nodes wait
    /// for 1 s at most.
    private static let provenMicroseconds: UInt64 = 950_000
    /// The time for which clients make load on all nodes meanwhile, in microseconds.
    private static let loadMicroseconds: UInt64 = 3_000_000

    /// Kills a node just when it has answered with a token, and carries the token to all others.
    func loseCarrier() {
        let victim = clientRandom.below(machines.count)
        clientsUntil = now + ClusterWorld.loadMicroseconds
        for client in clients {
            push(.client(client.index), after: clientRandom.between(0...20_000))
        }
        guard let token = carry(from: victim) else { return }
        coverage.count("token of a killed node")
        disturbedAt = now
        // A machine that loses its power sends nothing of what is in transit.
        if clientRandom.chance(percent: 70) {
            for machine in machines where machine.index != victim {
                breakConnections(victim, machine.index)
            }
        }
        kill(victim)
        _ = run(until: now + ClusterWorld.deathMicroseconds)
        let isExact = saysAll(token)
        coverage.count(isExact ? "token that names nothing" : "token that names vectors")
        for machine in members where machine.index != victim && finding == nil {
            bring(token, to: machine.index, from: victim, isExact: isExact)
        }
        restart(victim, after: 0)
        _ = run(until: max(now, clientsUntil) + 1_000)
        for client in clients { act(client) }
    }

    /// Writes and reads at a node, and returns a token of that, just as it arrives; nil if there is
    /// none, or if the node may have given up waiting for the others.
    private func carry(from victim: Int) -> ClusterToken? {
        guard let client = clients.first, let visit = openVisit(to: victim, as: client.user) else {
            return nil
        }
        defer { leave(visit) }
        let level = clientRandom.pick(["local", "majority"])
        let requests = conversations.map(createLine) + [ClusterRequest(.set, "SET ack=\(level)")]
        ask(requests, on: visit)
        isolate(victim, by: 1)
        ask([send(client, to: clientRandom.pick(conversations))], on: visit)
        ask(conversations.map { history(client, of: $0) }, on: visit)
        ask([chats(client), ClusterRequest(.token, "TOKEN")], on: visit)
        let (askedAt, count) = (now, requests.count + conversations.count + 3)
        let isAnswered = { visit.answers.count == count || visit.session == nil }
        let cut = clientRandom.between(0...ClusterWorld.cutMicrosecondsMax)
        _ = run(until: now + cut, or: isAnswered)
        isolate(victim, by: -1)
        _ = run(until: askedAt + ClusterWorld.provenMicroseconds, or: isAnswered)
        guard visit.answers.count == count else { return nil }
        return visit.answers.last?.fields?["token"].map {
            ClusterToken(text: $0, knowledge: visit.known)
        }
    }

    /// Begins or ends a cut between a node and all others.
    private func isolate(_ index: Int, by change: Int) {
        for machine in machines where machine.index != index {
            for pair in [[index, machine.index], [machine.index, index]] {
                cuts[pair, default: 0] += change
            }
            if change < 0 { mend(index, machine.index) }
        }
    }

    /// Whether a token names no vector, which the others may not know.
    private func saysAll(_ token: ClusterToken) -> Bool {
        do throws(WireError) {
            return try Token(text: token.text).isPlain
        } catch {
            return true
        }
    }

    /// - Parameter isExact: whether no answer may be a refusal.
    private func bring(
        _ token: ClusterToken, to index: Int, from victim: Int, isExact: Bool
    ) {
        let requests =
            [ClusterRequest(.since(token), "SINCE \(token.text)")]
            + conversations.map { history(clients[0], of: $0) } + [chats(clients[0])]
        let answers = needed(requests, of: index)
        guard isExact, let refusal = answers.first(where: { $0.code != nil }) else { return }
        fail(
            .reads,
            "n\(index + 1) answers \(refusal.summary) to the token of n\(victim + 1), which is dead"
        )
    }
}
