import Chat
import Wire

/// A notification on a device's list.
struct ListedPush {
    let view: NotificationView

    init(_ view: NotificationView) { self.view = view }

    var id: NotificationID { view.id }
    /// Whether the cluster knows that it was pushed.
    var isPushed: Bool { view.isPushed }

    var key: String { "\(view.kind) \(id)" }

    /// When the message was sent, in milliseconds since 1970: the id begins with that.
    var sentAt: UInt64 { (UInt64(id.text.prefix(16), radix: 16) ?? 0) >> 16 }
}

/// A device that is pushed to, as far as its list does not say: what is to be pushed, in which
/// order, and when.
///
/// A push that fails holds back its own notification, with pauses that double. Where pushes of
/// several notifications have failed and none has succeeded since, the device is down: then one
/// push at a time finds out whether it still is, and whatever is newest is tried at once.
struct PushedDevice {
    private struct Failure {
        var count = 0
        /// When the notification is pushed again.
        var retryAt: UInt64 = 0
    }

    /// The first and the longest pause after failures, in milliseconds.
    static let pauseMin: UInt64 = 1_000
    static let pauseMax: UInt64 = 300_000
    /// The notifications that fail, one after another, before the device counts as down.
    private static let failedMin = 4
    /// From how many milliseconds on a push is a slow one.
    private static let slowMilliseconds: UInt64 = 2_000
    /// The notifications that stay listed after they were pushed, so that they can be withdrawn.
    private static let keptMax = 16
    /// The most notifications that are taken off the list at a time.
    private static let takenMax = 64
    /// How long all pushes of a device that is removed have failed: in all, and on this node.
    private static let givenUpMilliseconds: UInt64 = 7 * 86_400_000
    private static let givenUpHereMilliseconds: UInt64 = 3_600_000

    let token: String
    /// The scheme and the host of the push service.
    let server: String
    /// When the device was registered with this token, in milliseconds since 1970.
    let registeredAt: UInt64
    /// Whether there may be something new on the list.
    var hasNews = true
    var isBusy = false
    /// Whether the device waits for its turn.
    var isQueued = false
    /// What was pushed and what was refused, by `kind id`; of what is listed.
    private var pushed: Set<String> = []
    private var refused: Set<String> = []
    /// What was pushed and is not recorded in the cluster yet.
    private var unrecorded: Set<String> = []
    private var failures: [String: Failure] = [:]
    /// The notifications that have failed since the last that was pushed.
    private var failedInRow: Set<String> = []
    /// Since when no push was taken; nil where the last one was.
    private var failingSince: UInt64?
    private(set) var isSlow = false
    /// When a device that is down is tried again.
    private var retryAt: UInt64 = 0
    /// The number of tries of a device that is down.
    private var tries = 0
    private var listFailures = 0
    /// The list is not looked at before, even if there are news.
    private var readyAt: UInt64 = 0
    /// When the list is looked at without news; nil where nothing waits.
    private var wakeAt: UInt64?
    /// The first notification that was taken off the list last.
    private var takenFirst: NotificationID?

    init(token: String, server: String, registeredAt: UInt64) {
        self.token = token
        self.server = server
        self.registeredAt = registeredAt
    }

    /// When the list is to be looked at; nil where there is no reason to.
    var dueAt: UInt64? {
        if hasNews { return readyAt }
        return wakeAt.map { max($0, readyAt) }
    }

    private var isDown: Bool { failedInRow.count >= PushedDevice.failedMin }

    // MARK: Pushes

    /// Returns what is to be pushed now, in this order: what has failed is behind what has not.
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

    /// Notes what became of a push.
    ///
    /// - Parameter began: when it was sent.
    /// - Returns: whether others may follow at once.
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

    /// Notes that the list could not be read, or not be changed.
    mutating func onListFailed(now: UInt64) {
        readyAt = now + PushedDevice.pause(after: listFailures)
        listFailures += 1
        hasNews = true
    }

    /// Notes that parts of the list may be missing.
    mutating func onListPartial(now: UInt64) {
        readyAt = now + PushedDevice.pauseMin
        hasNews = true
    }

    /// Notes the whole list, after what was due has been pushed.
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

    /// The notifications of the list that were pushed and are still to be recorded as such.
    func unrecorded(of listed: [ListedPush]) -> [ListedPush] {
        listed.filter { unrecorded.contains($0.key) }
    }

    mutating func onRecorded(_ pushed: [ListedPush]) {
        unrecorded.subtract(pushed.map(\.key))
    }

    /// Takes from the list what has been on it for long: what was pushed or refused, except the
    /// first that was not pushed, which tells since when pushes fail.
    ///
    /// - Returns: the ids; nil where whoever made the list does not know yet what was taken off it.
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

    /// Whether no push was taken for a week, as the list shows, and for an hour as this node knows:
    /// perhaps the cluster was stopped meanwhile.
    ///
    /// - Parameter wallMilliseconds: since 1970.
    func isGivenUp(by listed: [ListedPush], now: UInt64, wallMilliseconds: UInt64) -> Bool {
        guard let failingSince, now >= failingSince + PushedDevice.givenUpHereMilliseconds,
            let first = firstUnpushed(of: listed)
        else { return false }
        let pushedAt = listed.last { $0.isPushed || pushed.contains($0.key) }?.sentAt ?? 0
        let since = max(first.sentAt, pushedAt, registeredAt)
        return wallMilliseconds >= since + PushedDevice.givenUpMilliseconds
    }
}
