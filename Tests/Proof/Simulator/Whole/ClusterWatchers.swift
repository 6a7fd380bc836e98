import CRDT
import LineProtocol
import Node

/// A client that watches at one node after another, and returns with its last token.
final class ClusterWatcher {
    let index: Int
    let user: String
    /// The watcher's connection; nil if it has none.
    var visit: ClusterVisit?
    /// The token with which it returns.
    var token: String?
    /// The machine to which it connected last.
    var machine: Int?
    var expectations: WatcherExpectations
    /// The index, among all messages, of the first one that it must be told of; nil before
    /// its first answer.
    var dueFrom: Int?
    /// Whether it begins with later messages only, and not with all that exist.
    let beginsLate: Bool
    /// The messages that were announced since it last began to watch; nil if it began with a token.
    var told: Set<String>?

    init(_ index: Int, user: String, beginsLate: Bool) {
        self.index = index
        self.user = user
        self.beginsLate = beginsLate
        expectations = WatcherExpectations(user: user)
    }
}

/// The watchers and the events that they receive.
extension ClusterWorld {
    /// The limit of the time to an answer for a watcher in the quiet phase, in microseconds.
    private static let watchMicroseconds: UInt64 = 5_000_000
    /// The limit of the time after that until all missed events are sent, in microseconds: over a
    /// connection with tight limits, events travel one at a time.
    private static let catchUpMicroseconds: UInt64 = 60_000_000

    func beginWatchers() {
        for index in 0..<plan.watchers {
            let user = ClusterClient.user(watchRandom.below(plan.clients))
            watchers.append(
                ClusterWatcher(index, user: user, beginsLate: watchRandom.chance(percent: 20)))
            push(.watcher(index), after: watchRandom.between(0...50_000))
        }
    }

    // MARK: Requests

    func act(_ watcher: ClusterWatcher) {
        guard !isWatchingOver else { return }
        push(
            .watcher(watcher.index),
            after: watchRandom.between(plan.isRestless ? 1_000...40_000 : 20_000...400_000))
        guard let visit = watcher.visit else { return come(watcher) }
        // Between a new WATCH and its answer no end is told; the answer begins with who types.
        if !visit.open.contains(where: \.isWatch) { judgeTyping(on: visit) }
        guard now < clientsUntil, !visit.hasEnded, visit.session != nil, visit.open.isEmpty,
            visit.isWatching
        else { return }
        switch watchRandom.below(100) {
        case 0..<8: leave(visit)
        case 8..<12: endLines(of: visit)
        case 12..<15: ask([ClusterRequest(.unwatch, "UNWATCH"), watchLine(watcher)], on: visit)
        case 15..<18: ask([watchLine(watcher)], on: visit)
        case 18..<24: ask([ClusterRequest(.status, "STATUS")], on: visit)
        default: break
        }
    }

    private func come(_ watcher: ClusterWatcher) {
        var index = watchRandom.below(machines.count)
        if plan.isRestless, watchRandom.chance(percent: 50) { index = watcher.machine ?? index }
        guard let visit = openVisit(to: index, as: watcher.user) else { return }
        watcher.visit = visit
        visit.watcher = watcher
        if let machine = watcher.machine {
            coverage.count(machine == index ? "watcher came back" : "watcher moved")
        }
        watcher.machine = index
        let isNew = watcher.token == nil && !watcher.beginsLate
        ask([isNew ? ClusterRequest(.token, "TOKEN") : watchLine(watcher)], on: visit)
    }

    private func watchLine(_ watcher: ClusterWatcher) -> ClusterRequest {
        if watcher.token != nil { coverage.count("watcher resumed") }
        let since = watcher.token.map { " since=\($0)" } ?? ""
        return ClusterRequest(
            .watch(isResumed: watcher.token != nil), "WATCH \(watcher.user)" + since)
    }

    /// Records the answer to a watcher's request.
    func noteWatched(_ answer: ClusterAnswer, _ request: ClusterRequest, on visit: ClusterVisit) {
        guard let watcher = visit.watcher else { return }
        switch request.kind {
        case .token:
            // Nothing was written or read on this connection: the token stands for the beginning.
            watcher.token = answer.fields?["token"]
            watcher.dueFrom = 0
            if !visit.hasEnded { ask([watchLine(watcher)], on: visit) }
        case .watch(let isResumed):
            watcher.dueFrom = watcher.dueFrom ?? expectations.names.count
            watcher.token = answer.fields?["token"]
            // Events after a token may come twice.
            watcher.told = isResumed ? nil : []
            visit.isWatching = true
            visit.watchedAt = now
            visit.overtaken = [:]
            visit.typing = []
        case .unwatch:
            visit.isWatching = false
            visit.typing = []
        default: break
        }
    }

    /// Lets a watcher that was refused, or whose token was refused, try another node.
    func noteUnwatched(_ request: ClusterRequest, on visit: ClusterVisit) {
        guard visit.watcher != nil, !visit.hasEnded else { return }
        switch request.kind {
        case .watch, .token: break
        default: return
        }
        coverage.count("watcher refused")
        visit.isWatching = false
        endLines(of: visit)
    }

    // MARK: Events

    func hear(_ event: ReplyFields, on visit: ClusterVisit) {
        guard let watcher = visit.watcher, visit.isWatching else {
            return fail(.answered, "an event where nobody watches: \(event.pairs)")
        }
        let kind = event["kind"] ?? ""
        coverage.count("event \(kind)")
        guard let token = event["token"], token.utf8.count <= Token.textBytesMax else {
            return fail(.sound, "an event without a token: \(event.pairs)")
        }
        watcher.token = token
        if kind == "typing" { return hearTyping(event, on: visit) }
        judge(event, kind, for: watcher)
        if kind == "message" { judgeOrder(event["id"] ?? "", for: watcher, on: visit) }
        let isKnown = watcher.expectations.applyEvent(event)
        guard !isKnown, watcher.dueFrom == 0, let id = event["id"],
            let message = expectations.messages[id], !losses.concern(message.name)
        else { return }
        // A message that was deleted in the commit of its pin is announced with the pin only.
        if ["pin", "unpin"].contains(kind), message.mayShowDeleted { return }
        fail(.reads, "\(watcher.user) is told of the \(kind) of \(id), and not of its sending")
    }

    /// Checks that an event has a cause.
    private func judge(_ event: ReplyFields, _ kind: String, for watcher: ClusterWatcher) {
        if ["pin", "unpin", "read"].contains(kind) { return judgeMark(event, kind) }
        if kind == "profile" { return judgeProfile(event, for: watcher) }
        guard ["message", "edit", "restore", "delete"].contains(kind) else { return }
        let id = event["id"] ?? ""
        guard let message = expectations.messages[id],
            event["conversation"] == message.name.conversation
        else { return fail(.sound, "an event of \(id), which was never sent there") }
        guard kind != "delete" else { return judgeDeletion(event, of: message, for: watcher) }
        judgeMessage(event, by: watcher.user)
        if kind == "restore", !message.restoresAsked.contains(watcher.user) {
            fail(.sound, "\(watcher.user) is told that \(id) is restored, which nobody asked for")
        }
        guard kind == "message", watcher.told?.insert(id).inserted == false else { return }
        // Without faults, a message that was sent once is announced once. Full queues count as one:
        // they end feeds, and what changes while a feed is read again is told twice.
        let isFedOnce = disturbedAt == nil && !hasMoved && plan.textBytes == nil
        guard isFedOnce, message.attempts == 1 else { return }
        fail(.oneChange, "\(watcher.user) is told of the sending of \(id) twice")
    }

    private func judgeDeletion(
        _ event: ReplyFields, of message: ClusterMessage, for watcher: ClusterWatcher
    ) {
        let isCaused =
            event["for"] == "everyone"
            ? message.isRetractionAsked && event["by"] == message.sender
            : event["by"] == watcher.user && message.hidesAsked.contains(watcher.user)
        guard !isCaused else { return }
        fail(.sound, "a deletion of \(message.name.id) that nobody asked for: \(event.pairs)")
    }

    // MARK: The quiet phase

    /// Waits until all watchers are answered and have received all events.
    func settleWatchers() {
        let areAnswered = run(until: now + ClusterWorld.watchMicroseconds) { [watchers] in
            watchers.allSatisfy { $0.visit?.isWatching ?? false }
        }
        guard areAnswered else {
            if finding == nil { fail(.answered, "who watches is not answered in the quiet") }
            return
        }
        let isAllTold = run(until: now + ClusterWorld.catchUpMicroseconds) { [machines, watchers] in
            // The last events may be on their way to the client.
            watchers.allSatisfy { $0.visit?.returning.isEmpty ?? true }
                && machines.allSatisfy { $0.untold == nil }
        }
        guard !isAllTold, finding == nil else { return }
        let reasons = machines.compactMap { machine in
            machine.untold.map { "\(machine.name): \($0)" }
        }
        fail(.answered, "who watches is not told all in the quiet: \(reasons)")
    }

    /// Checks that each of the user's watchers knows a message as a node shows it.
    ///
    /// - Parameters:
    ///   - place: the index of the message among all.
    ///   - line: the line of `HISTORY`; nil if it does not contain the message.
    func checkWatchers(
        of user: String, _ name: ClusterMessage.Name, at place: Int, as line: ReplyFields?,
        node: String
    ) {
        guard !losses.concern(name) else { return }
        for watcher in watchers where watcher.user == user {
            guard let dueFrom = watcher.dueFrom, place >= dueFrom,
                let difference = watcher.expectations.difference(at: name.id, from: line)
            else { continue }
            fail(.reads, "\(user) watches, and of \(name.id) \(difference) on \(node)")
        }
    }

    /// Disconnects all watchers, once all events have been received.
    func dismissWatchers() {
        isWatchingOver = true
        for watcher in watchers {
            if let visit = watcher.visit, !visit.hasEnded { endLines(of: visit) }
        }
    }
}

extension ClusterMachine {
    /// Why some watchers at this node, or told from it, are not up to date; nil if all are.
    var untold: String? {
        guard let node = process?.node else { return nil }
        return executor.run {
            node.assumeIsolated { $0.isTellingLive ? nil : $0.untold }
        }
    }
}
