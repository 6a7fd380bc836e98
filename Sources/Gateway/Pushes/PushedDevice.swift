import Chat
import Wire

/// A notification on a device's list of notifications.
struct ListedPush {
    let view: NotificationView

    init(_ view: NotificationView) { self.view = view }

    var id: NotificationID { view.id }
    /// Whether the device's document in the cluster records that the notification was pushed.
    var isPushed: Bool { view.isPushed }

    var key: String { "\(view.kind) \(id)" }

    /// When the notification's message was sent, in milliseconds since 1970, decoded from the
    /// notification's ID.
    var sentAt: UInt64 { (UInt64(id.text.prefix(16), radix: 16) ?? 0) >> 16 }
}

/// The push state of a device: which listed notifications to push, in which order, and when.
///
/// A notification whose push failed is retried with exponential backoff. If the pushes of several
/// notifications in a row fail, the device counts as down. While the device is down, only one push
/// at a time is tried, to probe the device; the newest notification is tried once without delay.
struct PushedDevice {
    private struct Failure {
        var count = 0
        /// When a notification whose push failed is pushed again, in milliseconds.
        var retryAt: UInt64 = 0
    }

    /// The shortest and the longest pause before a failed push to a device is repeated, in
    /// milliseconds; each further failure doubles the pause.
    static let pauseMin: UInt64 = 1_000
    static let pauseMax: UInt64 = 300_000
    /// The number of notifications whose pushes fail in a row before the device counts as down.
    private static let failedMin = 4
    /// The duration from which on a push counts as slow, in milliseconds.
    private static let slowMilliseconds: UInt64 = 2_000
    /// The number of newest notifications that stay on the device's list after their push, so that
    /// the withdrawal of a notification whose message is deleted can be pushed, too.
    private static let keptMax = 16
    /// The maximum number of notifications that are removed from a device's list at a time.
    private static let takenMax = 64
    /// The durations without a successful push after which a device is removed, in milliseconds.
    ///
    /// The device's notification list must show no successful push for the first duration, and this
    /// node must have seen pushes fail for the second.
    private static let givenUpMilliseconds: UInt64 = 7 * 86_400_000
    private static let givenUpHereMilliseconds: UInt64 = 3_600_000

    let token: String
    /// The scheme and the host of the device's push service, or the URL of the webhook.
    let server: String
    /// When the device was registered with this push token, in milliseconds since 1970.
    let registeredAt: UInt64
    /// Whether the device's notification list may have changed since it was last read.
    var hasNews = true
    var isBusy = false
    /// Whether the device is in the push worker's queue.
    var isQueued = false
    /// The keys of listed notifications that were pushed, and of those that the push service
    /// refused permanently; a key consists of a notification's kind and ID.
    private var pushed: Set<String> = []
    private var refused: Set<String> = []
    /// The keys of notifications that were pushed, and whose push the cluster has not recorded yet.
    private var unrecorded: Set<String> = []
    private var failures: [String: Failure] = [:]
    /// The keys of notifications whose push has failed since the device's last successful push.
    private var failedInRow: Set<String> = []
    /// When pushes to the device began to fail, in milliseconds; nil if the last one succeeded.
    private var failingSince: UInt64?
    private(set) var isSlow = false
    /// When a device that counts as down is probed again, in milliseconds.
    private var retryAt: UInt64 = 0
    /// The number of failed pushes that probed a device that counts as down.
    private var tries = 0
    private var listFailures = 0
    /// The earliest time to read the device's notification list again, in milliseconds.
    private var readyAt: UInt64 = 0
    /// The time at which the device's notification list is read again even if it has not changed,
    /// in milliseconds; nil if no push is pending.
    private var wakeAt: UInt64?
    /// The first notification of the batch that was most recently removed from the device's list.
    private var takenFirst: NotificationID?

    init(token: String, server: String, registeredAt: UInt64) {
        self.token = token
        self.server = server
        self.registeredAt = registeredAt
    }

    /// The time at which the device's notification list must be read, in milliseconds; nil if there
    /// is no reason to read it.
    var dueAt: UInt64? {
        if hasNews { return readyAt }
        return wakeAt.map { max($0, readyAt) }
    }

    private var isDown: Bool { failedInRow.count >= PushedDevice.failedMin }

    // MARK: Pushes

    /// Returns the notifications to push to the device now, those with the fewest failed pushes
    /// first.
    func due(of listed: [ListedPush], now: UInt64) -> [ListedPush] {
        let open = listed.filter(isOpen)
        func tried(_ push: ListedPush) -> Int { failures[push.key]?.count ?? 0 }
        let ordered = open.enumerated().sorted {
            (tried($0.element), $0.offset) < (tried($1.element), $1.offset)
        }.map(\.element)
        guard isDown else {
            return ordered.filter { failures[$0.key].map { now >= $0.retryAt } ?? true }
        }
        if now >= retryAt { return ordered }
        return open.suffix(1).filter { tried($0) == 0 }
    }

    private func isOpen(_ push: ListedPush) -> Bool {
        !push.isPushed && !pushed.contains(push.key) && !refused.contains(push.key)
    }

    /// Records the outcome of a push to the device.
    ///
    /// - Parameter began: when the push was sent, in milliseconds.
    /// - Returns: whether other pushes to the device may follow at once.
    mutating func onPushed(
        _ push: ListedPush, _ verdict: PushVerdict, began: UInt64, now: UInt64
    ) -> Bool {
        isSlow = verdict == .failed || now >= began + PushedDevice.slowMilliseconds
        switch verdict {
        case .delivered:
            pushed.insert(push.key)
            unrecorded.insert(push.key)
            failures[push.key] = nil
            failedInRow = []
            tries = 0
            failingSince = nil
        case .refused:
            refused.insert(push.key)
            failures[push.key] = nil
            failingSince = failingSince ?? began
        case .failed:
            let count = failures[push.key]?.count ?? 0
            failures[push.key] = Failure(
                count: count + 1, retryAt: now + PushedDevice.pause(after: count))
            failedInRow.insert(push.key)
            failingSince = failingSince ?? began
            guard isDown else { return true }
            retryAt = now + PushedDevice.pause(after: tries)
            tries += 1
            return false
        case .gone: return false
        case .unsent:
            readyAt = now + PushedDevice.pauseMin
            return false
        }
        return true
    }

    private static func pause(after failures: Int) -> UInt64 {
        min(pauseMin << UInt64(min(failures, 20)), pauseMax)
    }

    // MARK: The list

    /// Records that the device's notification list could not be read or changed.
    mutating func onListFailed(now: UInt64) {
        readyAt = now + PushedDevice.pause(after: listFailures)
        listFailures += 1
        hasNews = true
    }

    /// Records that the notification list, as it was read, may be incomplete.
    mutating func onListPartial(now: UInt64) {
        readyAt = now + PushedDevice.pauseMin
        hasNews = true
    }

    /// Updates the device's push state from its complete notification list; called after the
    /// attempts to push the notifications that `due` has returned for this list.
    mutating func onListed(_ listed: [ListedPush], now: UInt64) {
        listFailures = 0
        let keys = Set(listed.map(\.key))
        pushed.formIntersection(keys)
        refused.formIntersection(keys)
        unrecorded.formIntersection(keys)
        failedInRow.formIntersection(keys)
        failures = failures.filter { keys.contains($0.key) }
        if isDown { readyAt = max(readyAt, now + PushedDevice.pauseMin) }
        let open = listed.filter(isOpen)
        let next = open.map { failures[$0.key]?.retryAt ?? now }.min()
        wakeAt = isDown && next != nil ? retryAt : next
    }

    /// Returns the listed notifications that were pushed and are not recorded as pushed yet.
    func unrecorded(of listed: [ListedPush]) -> [ListedPush] {
        listed.filter { unrecorded.contains($0.key) }
    }

    mutating func onRecorded(_ pushed: [ListedPush]) {
        unrecorded.subtract(pushed.map(\.key))
    }

    /// Returns the notifications to remove from the device's list: of all but the newest `keptMax`,
    /// those that were pushed or that the push service refused permanently.
    ///
    /// The oldest notification that was not pushed stays, even if it was refused, because its time
    /// shows since when pushes fail.
    ///
    /// - Returns: the IDs; nil if the list is outdated, because it still has the notifications that
    ///   were removed last.
    mutating func takeSurplus(of listed: [ListedPush]) -> [NotificationID]? {
        let surplus = min(max(0, listed.count - PushedDevice.keptMax), PushedDevice.takenMax)
        let kept = firstUnpushed(of: listed)?.id
        let ids = listed.prefix(surplus).filter { !isOpen($0) && $0.id != kept }.map(\.id)
        guard let first = ids.first else { return [] }
        guard takenFirst != first else { return nil }
        takenFirst = first
        return ids
    }

    private func firstUnpushed(of listed: [ListedPush]) -> ListedPush? {
        listed.first { !$0.isPushed && !pushed.contains($0.key) }
    }

    /// Whether the device's list shows no successful push for a week, and this node has seen pushes
    /// fail for an hour.
    ///
    /// The list alone does not prove that the device is gone, since a stopped cluster pushes
    /// nothing.
    ///
    /// - Parameter wallMilliseconds: the wall-clock time, in milliseconds since 1970.
    func isGivenUp(by listed: [ListedPush], now: UInt64, wallMilliseconds: UInt64) -> Bool {
        guard let failingSince, now >= failingSince + PushedDevice.givenUpHereMilliseconds,
            let first = firstUnpushed(of: listed)
        else { return false }
        let pushedAt = listed.last { $0.isPushed || pushed.contains($0.key) }?.sentAt ?? 0
        let since = max(first.sentAt, pushedAt, registeredAt)
        return wallMilliseconds >= since + PushedDevice.givenUpMilliseconds
    }
}
