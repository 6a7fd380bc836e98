import CRDT
import LineProtocol

/// A place where a user types.
struct TypingPlace: Hashable, Comparable {
    let conversation: String
    let user: String

    static func < (left: TypingPlace, right: TypingPlace) -> Bool {
        (left.conversation, left.user) < (right.conversation, right.user)
    }
}

/// The typing notices of one connection about one place; times in microseconds.
struct TypingWord {
    let machine: Int
    /// The number of notices without an answer.
    var open = 0
    /// The latest time at which a notice was accepted.
    var saidBy: UInt64 = 0
    /// The same by the wall clock of its machine, in milliseconds since 1970; the greatest such
    /// time.
    var wallMilliseconds: UInt64 = 0
    /// The time at which the connection ended the notice, or was closed.
    var endedAt: UInt64?
    /// Whether the process is gone, and not only the connection.
    var isOfDead = false

    mutating func noteSaid(at machine: ClusterMachine, _ now: UInt64) {
        saidBy = now
        noteWall(machine, at: now)
    }

    mutating func noteWall(_ machine: ClusterMachine, at now: UInt64) {
        wallMilliseconds = max(wallMilliseconds, machine.wallMilliseconds(at: now))
    }
}

/// The checks of typing: whose is shown, and for how long.
extension ClusterWorld {
    /// The time for which typing is shown after its last notice, in microseconds.
    private static let shownMicroseconds: UInt64 = 6_000_000
    /// The time for which it is shown after its connection closed, if nothing delays the event.
    private static let closedMicroseconds: UInt64 = 1_000_000
    /// The limit of the time in which its end is noticed and reaches a client, in microseconds: a
    /// late tick, and a slow reply.
    private static let noticeMicroseconds: UInt64 = 250_000

    func typingLine(_ client: ClusterClient, in conversation: String) -> ClusterRequest {
        let isOn = clientRandom.chance(percent: 75)
        let place = TypingPlace(conversation: conversation, user: client.user)
        return typingLine(place, isOn: isOn)
    }

    private func typingLine(_ place: TypingPlace, isOn: Bool) -> ClusterRequest {
        ClusterRequest(
            .type(place, isOn: isOn),
            "TYPING \(place.conversation) \(place.user) \(isOn ? "on" : "off")")
    }

    // MARK: Notices

    func noteTypingAsked(_ request: ClusterRequest, on visit: ClusterVisit) {
        guard case .type(let place, let isOn) = request.kind, isOn else { return }
        let machine = machines[visit.address.machine]
        var word = typing[place]?[visit.id] ?? TypingWord(machine: machine.index)
        if word.open == 0 { word.wallMilliseconds = 0 }
        word.noteWall(machine, at: now)
        word.open += 1
        typing[place, default: [:]][visit.id] = word
    }

    func noteTypingAnswered(
        _ answer: ClusterAnswer, _ request: ClusterRequest, on visit: ClusterVisit
    ) {
        if case .send(let name) = request.kind, answer.code == nil {
            noteSent(by: TypingPlace(conversation: name.conversation, user: visit.user), on: visit)
        }
        guard case .type(let place, let isOn) = request.kind else { return }
        if isOn { typing[place]?[visit.id]?.open -= 1 }
        guard answer.code == nil else { return }
        if isOn { typing[place]?[visit.id]?.noteSaid(at: machines[visit.address.machine], now) }
        typing[place]?[visit.id]?.endedAt = isOn ? nil : now
    }

    /// Ends a notice when its user sends a message; a notice that is still open begins after it.
    private func noteSent(by place: TypingPlace, on visit: ClusterVisit) {
        guard let word = typing[place]?[visit.id], word.open == 0, word.endedAt == nil else {
            return
        }
        typing[place]?[visit.id]?.endedAt = now
    }

    /// Ends all notices of a connection that is closed or whose process is gone.
    func noteTypingEnd(of visit: ClusterVisit) {
        for place in typing.keys {
            guard var word = typing[place]?[visit.id] else { continue }
            if word.open > 0 { word.noteSaid(at: machines[visit.address.machine], now) }
            word.open = 0
            word.endedAt = word.endedAt ?? now
            word.isOfDead = process(visit.address) == nil
            typing[place]?[visit.id] = word
        }
    }

    // MARK: Events

    func hearTyping(_ event: ReplyFields, on visit: ClusterVisit) {
        let place = TypingPlace(
            conversation: event["conversation"] ?? "", user: event["by"] ?? "")
        guard event.isTrue("on") else {
            visit.typing.remove(place)
            return
        }
        visit.typing.insert(place)
        judgeTyping(on: visit)
    }

    /// Checks that every place where a watcher sees typing may still be shown.
    func judgeTyping(on visit: ClusterVisit) {
        let machine = machines[visit.address.machine]
        // A stopped process sends no events.
        guard now > machine.pausedUntil + ClusterWorld.noticeMicroseconds else { return }
        for place in visit.typing.sorted() {
            let words = typing[place] ?? [:]
            guard !words.values.contains(where: { mayShow($0, at: machine) }) else {
                continue
            }
            let last = words.values.map(\.saidBy).max() ?? 0
            fail(
                .typing,
                "\(machine.name) shows \(visit.user) that \(place.user) types in "
                    + "\(place.conversation), last said at \(last / 1_000) ms")
        }
    }

    private func mayShow(_ word: TypingWord, at machine: ClusterMachine) -> Bool {
        guard word.open == 0 else { return true }
        var until = word.saidBy + ClusterWorld.shownMicroseconds
        if mayBelieveForLonger(word, machine) { until += machine.suspendedMicroseconds }
        if let endedAt = word.endedAt, !word.isOfDead,
            isCalm(word.machine, machine.index, since: endedAt)
        {
            until = min(until, endedAt + ClusterWorld.closedMicroseconds)
        }
        return now <= until + ClusterWorld.noticeMicroseconds
    }

    /// Whether a machine that was suspended may still show a notice, since its wall clock does not
    /// show yet that the notice is over.
    ///
    /// The wall clocks of two machines may differ; a machine's own notice is compared with its own
    /// clock.
    private func mayBelieveForLonger(_ word: TypingWord, _ machine: ClusterMachine) -> Bool {
        guard machine.suspendedMicroseconds > 0 else { return false }
        let apart =
            word.machine == machine.index ? 0 : WallTime.maxOffsetMillisecondsDefault
        let late = ClusterWorld.shownMicroseconds + ClusterWorld.noticeMicroseconds
        return machine.wallMilliseconds(at: now) <= word.wallMilliseconds + apart + late / 1_000
    }

    /// Whether nothing kept two machines from hearing each other since `moment`.
    private func isCalm(_ one: Int, _ other: Int, since moment: UInt64) -> Bool {
        let last = max(machines[one].disturbedAt ?? 0, machines[other].disturbedAt ?? 0)
        guard one != other else {
            return machines[one].pausedUntil < moment
        }
        guard last > 0 || mayOwnersChange else { return true }
        return !mayOwnersChange && last + ClusterWorld.disturbanceMicroseconds < moment
    }

    // MARK: The quiet phase

    /// Checks that typing is shown at once on every node, and that it ends when its connection
    /// closes.
    func checkTyping() {
        let place = TypingPlace(conversation: conversations[0], user: ClusterClient.user(0))
        for machine in members where finding == nil {
            guard let visit = beginTyping(place, at: machine) else { return }
            leave(visit)
            _ = run(until: now + ClusterWorld.closedMicroseconds)
            // Typing of other users may still be shown if their node is gone.
            expectNoTyping("whose connection was closed") { $0 == place }
        }
    }

    /// Starts typing without any further notice.
    func beginTyping() -> ClusterVisit? {
        beginTyping(
            TypingPlace(conversation: conversations[0], user: ClusterClient.user(0)),
            at: members[members.count - 1])
    }

    private func beginTyping(_ place: TypingPlace, at machine: ClusterMachine) -> ClusterVisit? {
        guard let visit = openVisit(to: machine.index, as: place.user) else {
            fail(.answered, "\(machine.name) takes no clients in the quiet")
            return nil
        }
        ask([typingLine(place, isOn: true)], on: visit)
        let isShown = run(until: now + ClusterWorld.closedMicroseconds) { [watchers] in
            !visit.answers.isEmpty
                && watchers.allSatisfy { $0.visit?.typing.contains(place) ?? false }
        }
        guard !isShown, finding == nil else { return visit }
        fail(.typing, "not everybody is shown that \(place.user) types at \(machine.name)")
        return nil
    }

    /// Checks that no typing is shown at the given places.
    func expectNoTyping(_ why: String, of isMeant: (TypingPlace) -> Bool = { _ in true }) {
        for watcher in watchers {
            guard let place = watcher.visit?.typing.filter(isMeant).min() else { continue }
            fail(.typing, "\(watcher.user) is shown that \(place.user) types, \(why)")
        }
    }
}
