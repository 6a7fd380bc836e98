import Chat
import Replication
import StorePort
import Wire

/// A client's request for the notifications of a device.
///
/// It has five steps: read the device, check that the sign-in that registered the device is still
/// open, collect candidates from all shards, record in the device the notifications to show, and
/// read the names of the senders.
///
/// Each step is a request of its own, which this node or another member executes. If a step before
/// the last fails, the reply shows nothing, and a repeated request finds the same notifications.
struct NotificationRequest: Sendable {
    /// A step of the request, with the results of the earlier steps.
    enum Step: Sendable {
        /// The device is being read.
        ///
        /// Can transition to: `judging`, or `scatterGather` for a device of no sign-in.
        case reading
        /// The account is being queried for whether the device's sign-in is still open.
        ///
        /// Can transition to: `scatterGather`, `removing`.
        case judging(Device)
        /// The device is being removed, since its sign-in has ended.
        case removing
        /// The shards are being queried for candidates.
        ///
        /// Can transition to: `noting`.
        case scatterGather(Device)
        /// The notifications that the reply will show are being recorded in the device.
        ///
        /// Can transition to: `naming`.
        ///
        /// - isNew: whether some of the notifications are not on the device's list yet.
        case noting([NotificationView], isPartial: Bool, isNew: Bool)
        /// The names of the senders are being read.
        case naming([NotificationView], isPartial: Bool)
    }

    let slot: ReplySlot
    let user: UserID
    let device: DeviceID
    let level: AckLevel
    /// The connection's session vectors: each step has to show at least their changes.
    let sessionVectors: SessionVectors
    var step = Step.reading
    /// The slot number of the request's present step.
    var number: UInt64 = 0
    /// The result of the present step, until the disks that the step depends on have stored it.
    var kept: Completion?

    /// The maximum number of concurrent requests.
    ///
    /// Each request keeps a list in memory, of at most a few megabytes and nearly always of a few
    /// lines.
    static let countMax = 4_096
}

extension Node {
    /// Lists a device's notifications; the reply to `slot` is sent at the end of a turn.
    package func notify(
        _ device: DeviceID, of user: UserID, level: AckLevel, for slot: ReplySlot,
        having sessionVectors: SessionVectors = SessionVectors()
    ) {
        guard notifyings.count < NotificationRequest.countMax else {
            return tellLater(.failed(.overloaded), to: slot)
        }
        let id = SessionBit.notification | takeCallNumber()
        notifyings[id] = NotificationRequest(
            slot: slot, user: user, device: device, level: level, sessionVectors: sessionVectors)
        let sink = StepSink(self, for: sinks[slot.session]) { $0.onStep(of: id, $1, $2) }
        attach(sink, as: id)
        beginStep(.reading, of: id, in: user.text) {
            $0.handle(DeviceQuery(device, of: user), of: user, for: $1, having: sessionVectors)
        }
    }

    /// Starts a step of a request for notifications.
    ///
    /// - Parameter partition: the partition key whose shard is queried; nil for all shards.
    private func beginStep(
        _ step: NotificationRequest.Step, of id: UInt64, in partition: String?,
        by ask: (isolated Node, ReplySlot) -> Reply
    ) {
        guard var notifying = notifyings[id] else { return }
        notifying.step = step
        notifying.number += 1
        notifying.kept = nil
        notifyings[id] = notifying
        turnAgain()
        switch ask(self, ReplySlot(session: id, number: notifying.number)) {
        case .awaited: break
        case .here(let outcome, let isSettled):
            if outcome.showsCopy { sinks[id]?.onSeen(observations(of: partition)) }
            if isSettled { goOn(id, with: outcome) } else { notifyings[id]?.kept = outcome }
        }
    }

    func onStep(of id: UInt64, _ number: UInt64, _ outcome: ReplyResult) {
        guard let notifying = notifyings[id], notifying.number == number else { return }
        switch outcome {
        case .answered(let outcome, _): goOn(id, with: outcome)
        case .stored:
            guard let kept = notifying.kept else { return }
            goOn(id, with: kept)
        case .failed(let failure): goOn(id, with: .failed(.store(failure)))
        default:
            preconditionFailure("a step is a read or a write")
        }
    }

    private func goOn(_ id: UInt64, with outcome: Completion) {
        guard let notifying = notifyings[id] else { return }
        switch (notifying.step, outcome) {
        case (_, .found(let findings, let isPartial)):
            goOn(id, notifying, knowing: findings, isPartial)
        case (.removing, .written), (.removing, .done):
            finishRequest(id, .failed(.refused(.deviceNotFound)))
        case (.noting(let views, let isPartial, _), .written(let receipt, let shard)):
            let write = Write(shard: shard, context: receipt.context, nil)
            sinks[notifying.slot.session]?.onWritten(write, isHere: false)
            name(views, isPartial, notifying, id)
        // All notifications are on the device's list already, so they are shown although the disk
        // is full.
        case (.noting(let views, let isPartial, isNew: false), .failed(.store(.full))):
            name(views, isPartial, notifying, id)
        // The notifications are recorded as shown, so they are sent even if the names cannot be
        // read.
        case (.naming(let views, let isPartial), _):
            finishRequest(id, .found(views, isPartial: isPartial))
        case (_, .failed(let failure)):
            finishRequest(id, .failed(failure))
        case (_, .written), (_, .done):
            // A member has sent a response that does not fit the step.
            finishRequest(id, .failed(.unanswered))
        }
    }

    private func goOn(
        _ id: UInt64, _ notifying: NotificationRequest, knowing findings: AnyFindings,
        _ isPartial: Bool
    ) {
        switch notifying.step {
        case .reading:
            if let device: Device = findings.value() { return judge(device, notifying, id) }
        case .judging(let device):
            switch findings.value(as: SignInStanding.self) {
            case .goesOn: return gather(for: device, notifying, id)
            case .ended: return remove(device, notifying, id)
            case .unknown: return finishRequest(id, .failed(.refused(.signInBehind)))
            case nil: break
            }
        case .scatterGather(let device):
            if let candidates: [NotificationCandidate] = findings.value() {
                return recordShown(candidates, of: device, isPartial, notifying, id)
            }
        case .naming(let views, let isPartial):
            // The notifications are recorded as shown, so they are sent even if the names cannot be
            // read.
            let named = findings.value(as: [NameView].self).map(views.named) ?? views
            return finishRequest(id, .found(named, isPartial: isPartial))
        case .removing, .noting: break
        }
        // A member has sent a response that does not fit the step.
        finishRequest(id, .failed(.unanswered))
    }

    /// Queries whether the sign-in that registered a device is still open: it may have ended on the
    /// other side of a network partition.
    private func judge(_ device: Device, _ notifying: NotificationRequest, _ id: UInt64) {
        guard let signIn = device.signIn else { return gather(for: device, notifying, id) }
        beginStep(.judging(device), of: id, in: signIn.address.text) {
            $0.handle(
                SignInQuery(signIn, of: notifying.user), of: notifying.user, for: $1,
                having: notifying.sessionVectors)
        }
    }

    private func remove(_ device: Device, _ notifying: NotificationRequest, _ id: UInt64) {
        guard let signIn = device.signIn else { return }
        let mutation = Mutation(
            RemoveSignedOut(signIn.id), on: notifying.device, by: notifying.user)
        beginStep(.removing, of: id, in: notifying.user.text) {
            $0.handle(
                mutation, isMinted: false, level: notifying.level, for: $1,
                having: notifying.sessionVectors)
        }
    }

    private func gather(for device: Device, _ notifying: NotificationRequest, _ id: UInt64) {
        guard let query = DueQuery(for: device, of: notifying.user) else {
            return finishRequest(id, .failed(.refused(.deviceNotFound)))
        }
        beginStep(.scatterGather(device), of: id, in: nil) {
            $0.handle(query, of: notifying.user, for: $1, having: notifying.sessionVectors)
        }
    }

    private func recordShown(
        _ candidates: [NotificationCandidate], of device: Device, _ isPartial: Bool,
        _ notifying: NotificationRequest,
        _ id: UInt64
    ) {
        let list = NotificationList(of: device, candidates)
        guard !list.views.isEmpty else {
            return finishRequest(id, .found([NotificationView](), isPartial: isPartial))
        }
        let mutation = Mutation(
            ListNotifications(list.entries, foundBy: device), on: notifying.device,
            by: notifying.user)
        let step = NotificationRequest.Step.noting(
            list.views, isPartial: isPartial, isNew: list.isNew)
        beginStep(step, of: id, in: notifying.user.text) {
            $0.handle(
                mutation, isMinted: false, level: notifying.level, for: $1,
                having: notifying.sessionVectors)
        }
    }

    /// Starts the step that reads the names of the senders.
    private func name(
        _ views: [NotificationView], _ isPartial: Bool, _ notifying: NotificationRequest,
        _ id: UInt64
    ) {
        let users = Set(views.map(\.from)).sorted().prefix(NamesQuery.usersMax)
        beginStep(.naming(views, isPartial: isPartial), of: id, in: nil) {
            $0.handle(
                NamesQuery(among: Array(users)), of: notifying.user, for: $1,
                having: notifying.sessionVectors)
        }
    }

    private func finishRequest(_ id: UInt64, _ outcome: Completion) {
        guard let notifying = notifyings.removeValue(forKey: id) else { return }
        detach(id)
        tellLater(outcome, to: notifying.slot)
    }

    /// Queues a reply for the end of the turn, because `notify` has to return before the reply.
    private func tellLater(_ outcome: Completion, to slot: ReplySlot) {
        notified.append((slot, outcome))
        turnAgain()
    }

    func tellNotified() {
        guard !notified.isEmpty else { return }
        let told = notified
        notified = []
        for (slot, outcome) in told { finish(slot, outcome, nil) }
    }
}

extension [NotificationView] {
    /// Returns these notifications with the names of their senders.
    func named(_ names: [NameView]) -> [NotificationView] {
        let names = Dictionary(names.map { ($0.user, $0.name) }) { one, _ in one }
        return map { view in
            var view = view
            view.fromName = names[view.from]
            return view
        }
    }
}

/// The notifications to show on a device: those on the device's list, and candidates up to the
/// list's capacity.
struct NotificationList {
    /// The notifications to show, oldest first.
    let views: [NotificationView]
    /// The entries to add to the device's list.
    ///
    /// A message that is shown may have been sent several times, and gets one entry for each
    /// sending that a shard found, unless the device lists that sending already.
    ///
    /// A message thus keeps its notification's id, and stays acknowledged, even if another node
    /// finds another sending of the message.
    let entries: [ListedNotification]
    /// Whether the list shows a message of which the device lists no sending yet.
    let isNew: Bool

    init(of device: Device, _ candidates: [NotificationCandidate]) {
        var found: [DocumentKey: NotificationCandidate] = [:]
        for candidate in candidates {
            // Two nodes may both have answered for a shard, with equivalent candidates.
            found[candidate.document] = found[candidate.document] ?? candidate
        }
        let listed = Dictionary(device.listed.map { ($0.document, $0) }) {
            $0.place < $1.place ? $0 : $1
        }
        let unlisted = found.values.filter { $0.entry != nil && listed[$0.document] == nil }
        let capacity = max(0, ListedNotification.countMax - device.listed.count)
        let due = NotificationCandidate.oldest(of: unlisted, capacity)
        let all = (device.listed + due.compactMap(\.entry)).sorted(by: NotificationList.precedes)
        var shown: [(entry: ListedNotification, candidate: NotificationCandidate)] = []
        for entry in all {
            // Each message is shown once, although both sides of a partition may have listed it.
            guard let candidate = found.removeValue(forKey: entry.document) else { continue }
            shown.append((entry, candidate))
        }
        let fitting = NotificationCandidate.prefix(of: shown) { $0.candidate.bytes }
        let areAll = due.count == unlisted.count && fitting.count == shown.count
        shown = fitting
        views = shown.map { entry, candidate in
            NotificationView(of: candidate, listedAs: entry)
        }
        let messages = Set(shown.map(\.entry.document))
        let dots = Set(device.listed.map(\.dot))
        let unrecorded = candidates.lazy.filter { messages.contains($0.document) }
            .compactMap(\.entry).filter { !dots.contains($0.dot) }
            .prefix(ListedNotification.countMax)
        entries = unrecorded.map { entry in
            let entry = listed[entry.document].map(entry.shown(as:)) ?? entry
            return areAll ? entry : entry.consideringItselfOnly
        }
        isNew = !messages.isSubset(of: listed.keys)
    }

    /// Returns whether an entry comes before another.
    ///
    /// Of two sendings with the same id, the pushed sending comes first, because the other sending
    /// may have been listed later.
    private static func precedes(_ left: ListedNotification, _ right: ListedNotification) -> Bool {
        guard left.place == right.place else { return left.place < right.place }
        guard let pushed = left.pushed else { return false }
        return right.pushed.map { pushed > $0 } ?? true
    }
}
