import Admin
import CRDT
import Chat
import JSON
import LineProtocol
import Node
import Session
import Wire

/// An HTTP request that pushes a notification to a device.
package struct PushRequest: Sendable {
    package let url: String
    package let headers: [(name: String, value: String)]
    package let body: [UInt8]
    /// Whether the URL is that of the operator's webhook, and not from a user's subscription.
    package let isWebhook: Bool
}

/// The services that `PushWorker` needs from its program: an HTTP client, sessions and a log.
package protocol PushHost: OwnRequestHost {
    /// Sends an HTTP request to a push service or to the operator's webhook.
    ///
    /// - Parameter onDone: called on the loop's thread with the HTTP status of the response, or
    ///   with nil if there was no response.
    /// - Returns: false, without sending, if too many requests are in flight.
    func post(_ request: PushRequest, onDone: @escaping @Sendable (Int?) -> Void) -> Bool
    func log(_ line: String)
}

/// The worker that pushes to each device the notifications that `NOTIFICATIONS` lists for it.
///
/// Of the nodes that own a user's shard, the first live one in placement order watches the user's
/// events and pushes each notification at least once. It records each push in the device's
/// document, so that the next first live owner does not repeat the push. If a node dies before it
/// records a push, the next first live owner repeats the push with the same ID. It leaves the
/// newest notifications on the device's list after their push: if the message of one is deleted,
/// the notification becomes a withdrawal, which is pushed, too.
package actor PushWorker {
    /// The outcomes of pushes: the values of the label `result` of `grapevine_notify_total`.
    package enum Outcome: String, CaseIterable, Sendable {
        case delivered, failed
        /// The push service refused the notification permanently, so it is skipped.
        case refused
        /// The device was removed, for example because the push service reports that it is gone.
        case dropped
    }

    /// A device with one push token; if the device replaces the token, its push state starts anew.
    private struct Target: Hashable {
        let user: UserID
        let device: DeviceID
        let token: String
    }

    private struct User {
        let shard: ShardID
        var watch: Session?
        var devices: [DeviceID: PushedDevice] = [:]
        /// Whether the last scan of the shard found devices of the user.
        var isThere = true
    }

    /// The interval between two scans for devices to push to, in milliseconds.
    private static let scanMilliseconds: UInt64 = 100
    /// The number of shards that one scan reads: with 64 shards, a new device is found within 2 s.
    private static let shardsPerScan = 4
    /// The maximum number of users to whose devices one node pushes.
    private static let usersMax = 50_000
    /// How long a node that has become a shard's first live owner waits before it pushes, in
    /// milliseconds, because the previous first owner notices the change, and stops pushing, only
    /// within 2 seconds.
    private static let graceMilliseconds: UInt64 = 3_000
    /// The number of pushes to one device that are recorded together in the device's document.
    private static let recordedMax = 16

    private nonisolated let executor: any SerialExecutor
    private nonisolated let tasks: LoopTaskExecutor
    private nonisolated let host: any PushHost
    private nonisolated let requests: OwnRequests
    private nonisolated let clock: any Clock
    private nonisolated let format: PushFormat
    private var users: [UserID: User] = [:]
    /// The devices whose notification lists have to be read, in the order in which they were
    /// queued.
    private var queue: [Target] = []
    private var slots = PushSlots()
    private var isDraining = false
    /// For each shard whose first live owner in placement order is this node: since when, in
    /// milliseconds.
    private var firstSince: [ShardID: UInt64] = [:]
    private var isScanning = false
    private var scanAt: UInt64 = 0
    /// The number of the shard that the next scan for devices reads.
    private var shard: UInt16 = 0
    private var shardCount: UInt16 = 1
    package private(set) var counts: [Outcome: UInt64] = [:]

    package init(
        _ format: PushFormat, host: any PushHost, clock: any Clock, executor: any SerialExecutor
    ) {
        self.format = format
        self.host = host
        self.clock = clock
        self.executor = executor
        tasks = LoopTaskExecutor(of: executor)
        requests = OwnRequests(host: host, executor: executor)
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Scans the next shards for devices, and pushes to queued devices; called at each timer tick.
    package func onTick() {
        let now = clock.milliseconds
        if !isScanning, now >= scanAt {
            isScanning = true
            scanAt = now + PushWorker.scanMilliseconds
            Task(executorPreference: tasks) { [self] in await scanNext() }
        }
        let waiting = queue
        queue = []
        for target in waiting where !begin(target, now: now) { queue.append(target) }
    }

    /// Stops starting pushes; those in flight are still recorded, so that no other node repeats
    /// them.
    package func drain() { isDraining = true }

    /// Whether pushes to devices are in progress.
    package var isBusy: Bool { !slots.isEmpty }

    /// Starts pushing the notifications on a device's list to the device.
    ///
    /// - Returns: false if the device has to wait.
    private func begin(_ target: Target, now: UInt64) -> Bool {
        guard let user = users[target.user], let device = self[target], let dueAt = device.dueAt
        else {
            self[target]?.isQueued = false
            return true
        }
        let since = firstSince[user.shard] ?? now
        let holder = PushSlots.Holder(
            user: target.user.text, server: device.server, isSlow: device.isSlow)
        guard now >= dueAt, now >= since + PushWorker.graceMilliseconds, !device.isBusy,
            slots.take(for: holder)
        else { return false }
        self[target]?.isBusy = true
        self[target]?.isQueued = false
        self[target]?.hasNews = false
        Task(executorPreference: tasks) { [self] in await tell(target, as: holder) }
        return true
    }

    private func tell(_ target: Target, as holder: PushSlots.Holder) async {
        await tell(target)
        slots.giveBack(of: holder)
        self[target]?.isBusy = false
        enqueue(target)
    }

    /// Queues a device for pushes if its notification list has to be read.
    private func enqueue(_ target: Target) {
        guard let device = self[target], device.dueAt != nil, !device.isQueued, !device.isBusy
        else { return }
        self[target]?.isQueued = true
        queue.append(target)
    }

    // MARK: Devices

    private func scanNext() async {
        defer { isScanning = false }
        for _ in 0..<PushWorker.shardsPerScan { await scan() }
    }

    private func scan() async {
        let shard = ShardID(shard)
        self.shard = shard.number + 1 < shardCount ? shard.number + 1 : 0
        switch await requests.ask([.subscribers(shard)]) {
        case .success(.report(.subscribers(let subscribers, let isFirst))):
            onScan(of: shard, subscribers, isFirst: isFirst)
        // The shard has another first owner or no owner, or this node is not ready.
        case .success, .failure: onScan(of: shard, [], isFirst: false)
        }
        guard self.shard == 0,
            case .success(.report(.shards(let shards))) = await requests.ask([.shards])
        else { return }
        shardCount = UInt16(clamping: max(1, shards.count))
    }

    private func onScan(of shard: ShardID, _ subscribers: [Subscriber], isFirst: Bool) {
        firstSince[shard] = isFirst ? firstSince[shard] ?? clock.milliseconds : nil
        let before = users.filter { $0.value.shard == shard }.keys.sorted()
        for name in before { users[name]?.isThere = false }
        for subscriber in subscribers where subscriber.isFirst {
            let (name, device) = (subscriber.device.user, subscriber.device.id)
            let token = subscriber.device.token
            guard users[name] != nil || users.count < PushWorker.usersMax else { continue }
            let target = Target(user: name, device: device, token: token)
            let known = self[target]
            // Each scan finds all devices, but only the token of a new device is parsed.
            guard let server = known?.server ?? format.server(of: token) else { continue }
            var user = users[name] ?? User(shard: shard)
            user.isThere = true
            if known == nil {
                user.devices[device] = PushedDevice(
                    token: token, server: server,
                    registeredAt: subscriber.device.registered.milliseconds)
            }
            users[name] = user
            if known == nil { enqueue(target) }
            if user.watch == nil { watch(name) }
        }
        for name in before where users[name]?.isThere == false { remove(name) }
    }

    private func remove(_ name: UserID) {
        guard let user = users.removeValue(forKey: name), let watch = user.watch else { return }
        host.closeSession(watch)
    }

    // MARK: Events

    private func watch(_ name: UserID) {
        let session = host.openSession(replyingTo: WatchOutput(of: name, for: self))
        users[name]?.watch = session
        onNews(of: name)
        let watch = Request.Watch(user: name, since: nil, hasTokens: false)
        session.assumeIsolated { $0.submit(.watch(watch), nil) }
    }

    /// Queues all devices of a user for pushes, because their notification lists may have changed.
    func onNews(of name: UserID) {
        for (device, state) in users[name]?.devices.sorted(by: { $0.key < $1.key }) ?? [] {
            onNews(of: Target(user: name, device: device, token: state.token))
        }
    }

    private func onNews(of target: Target) {
        self[target]?.hasNews = true
        enqueue(target)
    }

    /// Closes the push worker's session for a user, because the node has ended the session's event
    /// stream; the next scan of the user's shard for devices opens another session.
    func onWatchEnded(of name: UserID) {
        guard let watch = users[name]?.watch else { return }
        users[name]?.watch = nil
        Task(executorPreference: tasks) { [self] in await close(watch) }
    }

    private func close(_ session: Session) { host.closeSession(session) }

    // MARK: Pushes

    /// The push state of a device with this push token; nil if the device is unknown or has
    /// replaced the token.
    private subscript(target: Target) -> PushedDevice? {
        get {
            let state = users[target.user]?.devices[target.device]
            return state?.token == target.token ? state : nil
        }
        set {
            guard self[target] != nil else { return }
            users[target.user]?.devices[target.device] = newValue
        }
    }

    private func tell(_ target: Target) async {
        let listing: Listing
        switch await requests.ask([.notifications(target.device, of: target.user, .whole)]) {
        case .success(.found(let found)): listing = found
        // The device was removed; a scan of the shard finds the device if it is added again.
        case .failure(let error) where error.code == 404:
            self[target] = nil
            return
        case .success, .failure:
            counts[.failed, default: 0] += 1
            self[target]?.onListFailed(now: clock.milliseconds)
            return
        }
        guard let views: [NotificationView] = listing.findings.value() else { return }
        let listed = views.map(ListedPush.init)
        await push(listed, to: target)
        // Some nodes did not answer, so notifications may be missing from the list.
        guard !listing.isPartial else {
            self[target]?.onListPartial(now: clock.milliseconds)
            return
        }
        self[target]?.onListed(listed, now: clock.milliseconds)
        let isGivenUp = self[target]?.isGivenUp(
            by: listed, now: clock.milliseconds, wallMilliseconds: clock.wallMilliseconds)
        if isGivenUp ?? false { return await remove(target, "no push was taken for a week") }
        await record(self[target]?.unrecorded(of: listed) ?? [], of: target)
        await takeSurplus(of: listed, of: target)
    }

    /// Pushes the notifications on a device's list that are new, or have to be retried now.
    private func push(_ listed: [ListedPush], to target: Target) async {
        let due = self[target]?.due(of: listed, now: clock.milliseconds) ?? []
        guard !due.isEmpty else { return }
        guard await isHolder(target) else {
            return await remove(target, "another user has its token")
        }
        let badge = await unread(of: target.user)
        var unrecorded: [ListedPush] = []
        for push in due {
            guard isPushed(target), !isDraining else { break }
            let began = clock.milliseconds
            let verdict = await post(push, to: target, badge: badge)
            if verdict == .delivered { unrecorded.append(push) }
            if verdict == .gone { return await remove(target, "the push service knows it no more") }
            let mayFollow = self[target]?.onPushed(
                push, verdict, began: began, now: clock.milliseconds)
            guard mayFollow ?? false else { break }
            if unrecorded.count == PushWorker.recordedMax {
                await record(unrecorded, of: target)
                unrecorded = []
            }
        }
        // The pushes are recorded even if another node now pushes to the device.
        await record(unrecorded, of: target)
    }

    /// Records pushes in the device's document; if that fails, they are recorded after the device's
    /// notification list is read again.
    private func record(_ pushed: [ListedPush], of target: Target) async {
        guard !pushed.isEmpty else { return }
        #if PlantedBugs
            if PlantedBug.pushNotRecorded.isOn { return self[target]?.onRecorded(pushed) ?? () }
        #endif
        let notes = pushed.map {
            Request.write(
                Mutation(
                    NotePushed($0.id, as: $0.view.kind), on: target.device, by: target.user))
        }
        guard case .success = await requests.ask(notes) else {
            self[target]?.onListFailed(now: clock.milliseconds)
            return
        }
        self[target]?.onRecorded(pushed)
    }

    /// Removes old notifications from a device's list, each by its own ID.
    ///
    /// Removing all notifications up to a certain one would also remove those that another node has
    /// meanwhile added before it and that were not pushed.
    private func takeSurplus(of listed: [ListedPush], of target: Target) async {
        guard isPushed(target) else { return }
        guard let ids = self[target]?.takeSurplus(of: listed) else {
            self[target]?.onListPartial(now: clock.milliseconds)
            return
        }
        guard !ids.isEmpty else { return }
        let removals = ids.map {
            Request.write(Mutation(AcknowledgeAlone($0), on: target.device, by: target.user))
        }
        guard case .success = await requests.ask(removals) else {
            self[target]?.onListFailed(now: clock.milliseconds)
            return
        }
        self[target]?.hasNews = true
    }

    /// Whether the device's user is the last user who registered the device's push token, because
    /// pushes to a token are only for that user; also true if no registration can be read.
    private func isHolder(_ target: Target) async -> Bool {
        let query = HoldersQuery(ofToken: FieldText(target.token))
        guard
            case .success(.found(let listing)) = await requests.ask([
                .read(query, of: Mutation.cluster)
            ]),
            let holders: [TokenHolder] = listing.findings.value(), let last = holders.max()
        else { return true }
        return last.user == target.user
    }

    private func unread(of user: UserID) async -> Int {
        guard
            case .success(.found(let listing)) = await requests.ask([.read(UnreadQuery(), of: user)]
            )
        else { return 0 }
        return listing.total ?? 0
    }

    /// Whether this node still pushes to a device; if not, the node must not remove notifications
    /// from the device's list, because the node that now pushes does not know this node's pushes.
    private func isPushed(_ target: Target) -> Bool {
        self[target] != nil
    }

    private func post(
        _ push: ListedPush, to target: Target, badge: Int
    ) async -> PushVerdict {
        let verdict = await answer(to: push, to: target, badge: badge)
        switch verdict {
        case .delivered: counts[.delivered, default: 0] += 1
        case .refused: counts[.refused, default: 0] += 1
        case .failed: counts[.failed, default: 0] += 1
        case .gone, .unsent: break
        }
        return verdict
    }

    private func answer(
        to push: ListedPush, to target: Target, badge: Int
    ) async -> PushVerdict {
        let notification = PushNotification(
            view: push.view, user: target.user, device: target.device, badge: badge)
        // A notification that cannot be encoded now cannot be encoded later either.
        guard
            let request = format.request(
                notification, to: target.token, wallMilliseconds: clock.wallMilliseconds)
        else { return .refused }
        var isSent = true
        let status: Int? = await withCheckedContinuation { continuation in
            isSent = host.post(request) { continuation.resume(returning: $0) }
            if !isSent { continuation.resume(returning: nil) }
        }
        guard isSent else { return .unsent }
        return PushVerdict(status: status, isWebhook: request.isWebhook)
    }

    /// Removes a device, unless it now has another push token.
    private func remove(_ target: Target, _ reason: String) async {
        counts[.dropped, default: 0] += 1
        host.log("device removed: \(reason) device=\(target.device)")
        let removal = RemoveToken(FieldText(target.token))
        _ = await requests.ask([.write(Mutation(removal, on: target.device, by: target.user))])
        self[target] = nil
    }
}

/// The receiver of the output of a session in which the push worker watches the events of one user.
///
/// Each event makes the worker read the notification lists of the user's devices.
private final class WatchOutput: ValueOutput {
    private unowned let worker: PushWorker
    private let user: UserID

    init(of user: UserID, for worker: PushWorker) {
        self.user = user
        self.worker = worker
    }

    // Events are not encoded, because the worker only reads the notification lists after each
    // event.
    var eventForm: EventForm { .none }

    func write(_ events: [ToldEvent]) -> Int {
        worker.assumeIsolated { [user] in $0.onNews(of: user) }
        return 0
    }

    func receive(_ response: Response) -> Int {
        if response.error == nil {
            worker.assumeIsolated { [user] in $0.onNews(of: user) }
        } else {
            finish()
        }
        return 0
    }

    func finish() { worker.assumeIsolated { [user] in $0.onWatchEnded(of: user) } }
    func abort() { finish() }
}
