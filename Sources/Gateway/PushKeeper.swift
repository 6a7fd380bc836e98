import JSON
import LineProtocol
import Node
import Session
import Wire

/// A request that tells a device of a notification.
package struct PushRequest: Sendable {
    package let url: String
    package let headers: [(name: String, value: String)]
    package let body: [UInt8]
    /// Whether the operator has named the address, and not a user.
    package let isWebhook: Bool
}

/// The surroundings of what pushes notifications.
package protocol PushHost: LineHost {
    /// Sends a request.
    ///
    /// - Parameter onDone: called on the loop's thread, with the status of the response, or nil
    ///   where there was none.
    /// - Returns: false where too many are on their way.
    func post(_ request: PushRequest, onDone: @escaping @Sendable (Int?) -> Void) -> Bool
    func log(_ line: String)
}

/// The pusher of what `NOTIFICATIONS` lists to the devices of users.
///
/// The first living owner of a user's shard watches the user and tells the devices, each
/// notification at least once: where it dies in between, the next owner tells again what was not
/// acknowledged, with the same ids. A notification stays listed, so that its withdrawal is told,
/// too, until `keptMax` later ones are.
package actor PushKeeper {
    /// What became of pushes: the values of the label `result` of `grapevine_notify_total`.
    package enum Outcome: String, CaseIterable, Sendable {
        case delivered, failed
        /// The push service knows the device no more, which was removed.
        case dropped
    }

    private struct Device {
        let token: String
        /// The notifications that were told, as `kind id`; of those that are listed.
        var told: Set<String> = []
        var failures = 0
        /// When the device is told again after a failure, in milliseconds.
        var retryAt: UInt64 = 0
        /// The first notification that was taken off the list last.
        var takenFirst: String?
    }

    /// A device with the token by which it is told: what is under way to an earlier one says
    /// nothing of the present one.
    private struct Target {
        let user: String
        let device: String
        let token: String
    }

    private struct User {
        let shard: Int
        var watch: Session?
        var devices: [String: Device] = [:]
        /// Whether the user is one of `dirty`.
        var isDirty = false
        var isBusy = false
        /// Whether the last look at the shard found the user.
        var isThere = true
    }

    /// How often the devices of some shards are looked at, in milliseconds, and of how many: a new
    /// device is known within two seconds.
    private static let scanMilliseconds: UInt64 = 100
    private static let shardsPerScan = 4
    /// The most users whose devices one node tells.
    private static let usersMax = 50_000
    /// The most users whose devices are told at a time.
    private static let busyMax = 16
    /// The notifications of a device that stay listed after they were told.
    private static let keptMax = 16
    /// The most notifications that are taken off a device's list at a time.
    private static let takenMax = 64
    /// The first and the longest pause after failures, in milliseconds.
    private static let pauseMin: UInt64 = 1_000
    private static let pauseMax: UInt64 = 300_000

    private nonisolated let executor: any SerialExecutor
    private nonisolated let tasks: LoopTaskExecutor
    private nonisolated let host: any PushHost
    private nonisolated let desk: LineDesk
    private nonisolated let clock: any Clock
    private nonisolated let format: PushFormat
    private var users: [String: User] = [:]
    /// The users of whom there may be news, in the order in which they are told.
    private var dirty: [String] = []
    private var busy = 0
    private var isScanning = false
    private var scanAt: UInt64 = 0
    /// The next shard to look at.
    private var shard = 0
    private var shardCount = 1
    package private(set) var counts: [Outcome: UInt64] = [:]

    package init(
        _ format: PushFormat, host: any PushHost, clock: any Clock, executor: any SerialExecutor
    ) {
        self.format = format
        self.host = host
        self.clock = clock
        self.executor = executor
        tasks = LoopTaskExecutor(of: executor)
        desk = LineDesk(host: host, executor: executor)
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Looks at the next shard, and tells devices of what is new; called at each tick.
    package func onTick() {
        let now = clock.milliseconds
        if !isScanning, now >= scanAt {
            isScanning = true
            scanAt = now + PushKeeper.scanMilliseconds
            Task(executorPreference: tasks) { [self] in await scanNext() }
        }
        let waiting = dirty
        dirty = []
        for name in waiting { tellOrWait(name, now: now) }
    }

    /// Tells the devices of a user, unless it is not time yet, or too many are being told.
    private func tellOrWait(_ name: String, now: UInt64) {
        guard let user = users[name], user.isDirty else { return }
        let isDue = user.devices.values.contains { now >= $0.retryAt }
        guard isDue, !user.isBusy, busy < PushKeeper.busyMax else { return dirty.append(name) }
        busy += 1
        users[name]?.isBusy = true
        users[name]?.isDirty = false
        Task(executorPreference: tasks) { [self] in await tell(name) }
    }

    // MARK: Devices

    private func scanNext() async {
        defer { isScanning = false }
        for _ in 0..<PushKeeper.shardsPerScan { await scan() }
    }

    private func scan() async {
        let shard = shard
        self.shard = shard + 1 < shardCount ? shard + 1 : 0
        switch await desk.ask(["SUBSCRIBERS \(shard)"]) {
        case .success(let reply): onScan(of: shard, reply)
        // Another node holds it now, or nobody does.
        case .failure: onScan(of: shard, LineCall.Reply())
        }
        guard self.shard == 0, case .success(let reply) = await desk.ask(["SHARDS"]) else { return }
        shardCount = max(1, reply.lines.count)
    }

    private func onScan(of shard: Int, _ reply: LineCall.Reply) {
        let before = users.filter { $0.value.shard == shard }.keys.sorted()
        for name in before { users[name]?.isThere = false }
        for (_, fields) in reply.lines where fields.isTrue("first") {
            guard let name = fields["user"], let device = fields["device"],
                let token = fields["token"], format.takes(token),
                users[name] != nil || users.count < PushKeeper.usersMax
            else { continue }
            var user = users[name] ?? User(shard: shard)
            user.isThere = true
            let isNew = user.devices[device]?.token != token
            if isNew { user.devices[device] = Device(token: token) }
            users[name] = user
            if isNew { onNews(of: name) }
            if user.watch == nil { watch(name) }
        }
        for name in before where users[name]?.isThere == false { remove(name) }
    }

    private func remove(_ name: String) {
        guard let user = users.removeValue(forKey: name), let watch = user.watch else { return }
        host.closeSession(watch)
    }

    // MARK: Events

    private func watch(_ name: String) {
        let session = host.openSession(replyingTo: WatchOutput(of: name, for: self))
        users[name]?.watch = session
        onNews(of: name)
        let line = Array("WATCH \(name) tokens=off\n".utf8)
        line.withUnsafeBytes { bytes in
            // SAFETY: the session reads the bytes during this call, on the loop's thread, only.
            nonisolated(unsafe) let bytes = bytes
            session.assumeIsolated { $0.onBytes(bytes) }
        }
    }

    /// Notes that a user may have to be notified of something.
    func onNews(of name: String) {
        guard users[name]?.isDirty == false else { return }
        users[name]?.isDirty = true
        dirty.append(name)
    }

    /// Has a user watched anew, whose watch has ended.
    func onWatchEnded(of name: String) {
        guard let watch = users[name]?.watch else { return }
        users[name]?.watch = nil
        Task(executorPreference: tasks) { [self] in await close(watch) }
    }

    private func close(_ session: Session) { host.closeSession(session) }

    // MARK: Pushes

    /// The state of a device, unless it has another token now.
    private subscript(target: Target) -> Device? {
        get {
            let state = users[target.user]?.devices[target.device]
            return state?.token == target.token ? state : nil
        }
        set {
            guard self[target] != nil else { return }
            users[target.user]?.devices[target.device] = newValue
        }
    }

    private func tell(_ name: String) async {
        defer {
            busy -= 1
            users[name]?.isBusy = false
        }
        for device in (users[name]?.devices.keys.sorted() ?? []) {
            guard let state = users[name]?.devices[device] else { continue }
            guard clock.milliseconds >= state.retryAt else {
                onNews(of: name)
                continue
            }
            await tell(Target(user: name, device: device, token: state.token))
        }
    }

    private func tell(_ target: Target) async {
        let reply: LineCall.Reply
        switch await desk.ask(["NOTIFICATIONS \(target.user) \(target.device)"]) {
        case .success(let list): reply = list
        // The device was removed; one that is added again is found by a look at its shard.
        case .failure(let error) where error.code == 404:
            self[target] = nil
            return
        case .failure: return onFailure(of: target)
        }
        let listed = reply.lines.map(\.fields)
        let badge = listed.isEmpty ? 0 : await unread(of: target.user)
        for fields in listed {
            let key = PushKeeper.key(of: fields)
            guard isPushed(target) else { return }
            guard self[target]?.told.contains(key) == false,
                let notification = PushNotification(
                    fields, to: target.device, of: target.user, badge: badge),
                let request = format.request(
                    notification, to: target.token, wallMilliseconds: clock.wallMilliseconds)
            else { continue }
            guard await push(request, key, to: target) else { return }
        }
        // Some nodes did not answer: what is missing was told, or is to be told.
        guard reply.status?.isTrue("partial") != true else { return pause(target) }
        self[target]?.told.formIntersection(listed.map(PushKeeper.key))
        let surplus = min(max(0, listed.count - PushKeeper.keptMax), PushKeeper.takenMax)
        await takeOff(listed.prefix(surplus).compactMap { $0["id"] }, of: target)
    }

    private func unread(of user: String) async -> Int {
        guard case .success(let reply) = await desk.ask(["UNREAD \(user)"]) else { return 0 }
        return reply.status?["total"].flatMap { Int($0) } ?? 0
    }

    private static func key(of fields: ReplyFields) -> String {
        "\(fields["kind"] ?? "") \(fields["id"] ?? "")"
    }

    /// Takes notifications that were told off a device's list, each by itself: another node may
    /// have listed an earlier message meanwhile, of which nobody was told.
    private func takeOff(_ ids: [String], of target: Target) async {
        guard isPushed(target), let first = ids.first else { return }
        // Whoever made the list does not know yet what was taken off it.
        guard self[target]?.takenFirst != first else { return pause(target) }
        self[target]?.takenFirst = first
        let place = "\(target.user) \(target.device)"
        let lines = ids.map { "NOTIFIED \(place) \($0) only=true" }
        guard case .success = await desk.ask(lines) else { return onFailure(of: target) }
        onNews(of: target.user)
    }

    /// Whether this node still tells a device: the next one knows nothing of what was told here, so
    /// that nothing may be taken from the list once the device is looked after elsewhere.
    private func isPushed(_ target: Target) -> Bool {
        #if PlantedBugs
            if PlantedBug.pushedAfterMove.isOn { return true }
        #endif
        return self[target] != nil
    }

    /// - Returns: false where the device is told nothing more for now.
    private func push(_ request: PushRequest, _ key: String, to target: Target) async -> Bool {
        let status: Int? = await withCheckedContinuation { continuation in
            let isSent = host.post(request) { continuation.resume(returning: $0) }
            if !isSent { continuation.resume(returning: nil) }
        }
        switch status {
        case .some(200..<300):
            counts[.delivered, default: 0] += 1
            self[target]?.told.insert(key)
            self[target]?.failures = 0
            return true
        // A web server answers 404 also where the operator's address is a wrong one.
        case .some(let status) where status == 410 || status == 404 && !request.isWebhook:
            counts[.dropped, default: 0] += 1
            host.log("push service knows a device no more; it is removed status=\(status)")
            let token = spelledValue(target.token)
            _ = await desk.ask(["DEVICE REMOVE \(target.user) \(target.device) token=\(token)"])
            self[target] = nil
            return false
        default:
            onFailure(of: target)
            return false
        }
    }

    private func onFailure(of target: Target) {
        counts[.failed, default: 0] += 1
        guard let failures = self[target]?.failures else { return }
        self[target]?.failures = failures + 1
        let milliseconds = PushKeeper.pauseMin << UInt64(min(failures, 20))
        pause(target, for: min(milliseconds, PushKeeper.pauseMax))
    }

    private func pause(_ target: Target, for milliseconds: UInt64 = pauseMin) {
        self[target]?.retryAt = clock.milliseconds + milliseconds
        onNews(of: target.user)
    }
}

/// The output of a session that watches a user for the pusher.
final class WatchOutput: SessionOutput {
    private unowned let keeper: PushKeeper
    private let user: String

    init(of user: String, for keeper: PushKeeper) {
        self.user = user
        self.keeper = keeper
    }

    func write(_ bytes: [UInt8]) {
        // What changed is asked for; an event says only that something may have.
        let text = bytes[...]
        guard text.starts(with: "ERR".utf8) else {
            return keeper.assumeIsolated { [user] in $0.onNews(of: user) }
        }
        finish()
    }

    func flush() {}
    var queuedBytes: Int { 0 }
    func setReadingPaused(_ isPaused: Bool) {}
    func finish() { keeper.assumeIsolated { [user] in $0.onWatchEnded(of: user) } }
    func abort() { finish() }
}
