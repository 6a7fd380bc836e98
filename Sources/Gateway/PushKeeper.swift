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
    }

    private struct User {
        let shard: Int
        var watch: Session?
        var devices: [String: Device] = [:]
        /// Whether there may be news.
        var isDirty = true
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
    /// The longest pause after failures, in milliseconds (five minutes).
    private static let pauseMax: UInt64 = 300_000

    private nonisolated let executor: any SerialExecutor
    private nonisolated let host: any PushHost
    private nonisolated let desk: LineDesk
    private nonisolated let clock: any Clock
    private nonisolated let format: PushFormat
    private var users: [String: User] = [:]
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
            Task {
                for _ in 0..<PushKeeper.shardsPerScan { await scan() }
                isScanning = false
            }
        }
        for (name, user) in users where user.isDirty && !user.isBusy && busy < PushKeeper.busyMax {
            let isDue = user.devices.values.contains { now >= $0.retryAt }
            guard isDue else { continue }
            busy += 1
            users[name]?.isBusy = true
            users[name]?.isDirty = false
            Task {
                await tell(name)
                busy -= 1
                users[name]?.isBusy = false
            }
        }
    }

    // MARK: Devices

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
        for name in users.keys where users[name]?.shard == shard { users[name]?.isThere = false }
        for (_, fields) in reply.lines where fields.isTrue("first") {
            guard let name = fields["user"], let device = fields["device"],
                let token = fields["token"], format.takes(token),
                users[name] != nil || users.count < PushKeeper.usersMax
            else { continue }
            var user = users[name] ?? User(shard: shard)
            user.isThere = true
            if user.devices[device]?.token != token {
                user.devices[device] = Device(token: token)
                user.isDirty = true
            }
            users[name] = user
            if user.watch == nil { watch(name) }
        }
        for name in users.keys where users[name]?.isThere == false { remove(name) }
    }

    private func remove(_ name: String) {
        guard let user = users.removeValue(forKey: name), let watch = user.watch else { return }
        host.closeSession(watch)
    }

    // MARK: Events

    private func watch(_ name: String) {
        let session = host.openSession(replyingTo: WatchOutput(of: name, for: self))
        users[name]?.watch = session
        users[name]?.isDirty = true
        let line = Array("WATCH \(name) tokens=off\n".utf8)
        line.withUnsafeBytes { bytes in
            // SAFETY: the session reads the bytes during this call, on the loop's thread, only.
            nonisolated(unsafe) let bytes = bytes
            session.assumeIsolated { $0.onBytes(bytes) }
        }
    }

    /// Notes that a user may have to be notified of something.
    func onNews(of name: String) { users[name]?.isDirty = true }

    /// Has a user watched anew, whose watch has ended.
    func onWatchEnded(of name: String) {
        guard let watch = users[name]?.watch else { return }
        users[name]?.watch = nil
        Task { host.closeSession(watch) }
    }

    // MARK: Pushes

    private func tell(_ name: String) async {
        for device in (users[name]?.devices.keys.sorted() ?? []) {
            guard let state = users[name]?.devices[device], clock.milliseconds >= state.retryAt
            else {
                users[name]?.isDirty = true
                continue
            }
            await tell(device, of: name)
        }
    }

    private func tell(_ device: String, of name: String) async {
        guard case .success(let reply) = await desk.ask(["NOTIFICATIONS \(name) \(device)"]) else {
            return onFailure(of: device, of: name)
        }
        let listed = reply.lines.map(\.fields)
        var badge = 0
        if !listed.isEmpty, case .success(let unread) = await desk.ask(["UNREAD \(name)"]) {
            badge = unread.status?["total"].flatMap { Int($0) } ?? 0
        }
        for fields in listed {
            let key = "\(fields["kind"] ?? "") \(fields["id"] ?? "")"
            guard let state = users[name]?.devices[device], !state.told.contains(key) else {
                continue
            }
            guard let notification = PushNotification(fields, to: device, of: name, badge: badge),
                let request = format.request(
                    notification, to: state.token, wallMilliseconds: clock.wallMilliseconds)
            else { continue }
            guard await push(request, key, to: device, of: name) else { return }
        }
        let keys = listed.map { "\($0["kind"] ?? "") \($0["id"] ?? "")" }
        users[name]?.devices[device]?.told.formIntersection(keys)
        let surplus = listed.count - PushKeeper.keptMax
        if surplus > 0, let id = listed[surplus - 1]["id"] {
            _ = await desk.ask(["NOTIFIED \(name) \(device) \(id)"])
            onNews(of: name)
        }
    }

    /// - Returns: false where the device is told nothing more for now.
    private func push(
        _ request: PushRequest, _ key: String, to device: String, of name: String
    ) async -> Bool {
        let status: Int? = await withCheckedContinuation { continuation in
            let isSent = host.post(request) { continuation.resume(returning: $0) }
            if !isSent { continuation.resume(returning: nil) }
        }
        switch status {
        case .some(200..<300):
            counts[.delivered, default: 0] += 1
            users[name]?.devices[device]?.told.insert(key)
            users[name]?.devices[device]?.failures = 0
            return true
        // A web server answers 404 also where the operator's address is a wrong one.
        case .some(let status) where status == 410 || status == 404 && !request.isWebhook:
            counts[.dropped, default: 0] += 1
            host.log("push service knows a device no more; it is removed status=\(status)")
            _ = await desk.ask(["DEVICE REMOVE \(name) \(device)"])
            users[name]?.devices[device] = nil
            return false
        default:
            onFailure(of: device, of: name)
            return false
        }
    }

    private func onFailure(of device: String, of name: String) {
        counts[.failed, default: 0] += 1
        guard let failures = users[name]?.devices[device]?.failures else { return }
        let pause = min(1_000 << UInt64(min(failures, 20)), PushKeeper.pauseMax)
        users[name]?.devices[device]?.failures = failures + 1
        users[name]?.devices[device]?.retryAt = clock.milliseconds + pause
        users[name]?.isDirty = true
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
