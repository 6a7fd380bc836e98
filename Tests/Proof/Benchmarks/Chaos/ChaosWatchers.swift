import LineClient
import NetworkIO

/// The watchers of a chaos run, which must end with the knowledge that `HISTORY` shows.
@Stage final class ChaosWatchers {
    /// The watching users: one who hides messages, one whose messages are deleted for everyone, and
    /// a guest.
    private static let users = [1, 3, 4]
    private static let tickMilliseconds: UInt64 = 20
    private static let startSecondsMax: UInt64 = 10
    /// The limit of the time until they have received everything once the nodes are in sync, in
    /// seconds.
    private static let levelSecondsMax: UInt64 = 10
    private static let pauseMilliseconds: UInt64 = 50
    private static let findingsOfOneMax = 3

    private let load: ChaosLoad
    private let watchers: [ChaosWatcher]
    private var ticker: Timer?
    private var excused = 0

    init(_ load: ChaosLoad, seed: UInt64) {
        self.load = load
        watchers = Self.users.map { user in
            ChaosWatcher(user, seed: seed &+ UInt64(user) &* 0x9E37_79B9, load)
        }
    }

    /// Starts the watchers, and returns when each is watching.
    func start() async throws(BenchError) {
        let watchers = watchers
        ticker = Timer(on: Stage.loop, everyMilliseconds: Self.tickMilliseconds) {
            for watcher in watchers { watcher.onTick() }
        }
        let deadline = Stage.loop.nanoseconds + Self.startSecondsMax * 1_000_000_000
        while !watchers.allSatisfy(\.isWatching) {
            guard Stage.loop.nanoseconds < deadline else {
                throw BenchError("nobody could watch within \(Self.startSecondsMax) s")
            }
            await Stage.pause(milliseconds: Self.pauseMilliseconds)
        }
    }

    func onWipe(of node: Int) { for watcher in watchers { watcher.onWipe(of: node) } }

    /// Lets the watchers stay on their nodes unless those fail.
    func settle() { for watcher in watchers { watcher.isRestless = false } }

    func close() {
        ticker?.cancel()
        for watcher in watchers { watcher.close() }
    }

    /// Waits until each knows what `HISTORY` shows, and reports the differences that remain.
    func check(_ views: [UserViews]) async {
        let began = Stage.loop.nanoseconds
        var findings = findings(views)
        while !findings.isEmpty,
            Stage.loop.nanoseconds < began + Self.levelSecondsMax * 1_000_000_000
        {
            await Stage.pause(milliseconds: Self.pauseMilliseconds)
            findings = self.findings(views)
        }
        let seconds = Double(Stage.loop.nanoseconds - began) / 1e9
        for finding in findings { load.report(finding) }
        for watcher in watchers {
            summarize(watcher)
            if !findings.isEmpty { for stay in watcher.stays { say("  watched at \(stay)") } }
        }
        say(
            "  \(findings.isEmpty ? "each knew what HISTORY shows" : "they were given up") "
                + "\(decimal(seconds, digits: 3)) s after it was read; a lost disk excuses "
                + "\(excused) differences")
    }

    private func findings(_ views: [UserViews]) -> [String] {
        excused = 0
        return watchers.flatMap { watcher in
            (0..<load.expectations.conversations).flatMap { number -> [String] in
                let conversation = Expectations.name(ofConversation: number)
                let (found, excused) = watcher.view.differences(
                    from: views[watcher.user].readable(number), in: conversation)
                self.excused += excused
                let place =
                    "who watches as \(Expectations.users[watcher.user]), in \(conversation):"
                let more =
                    found.count > Self.findingsOfOneMax
                    ? ["\(place) \(found.count - Self.findingsOfOneMax) more"] : []
                return found.prefix(Self.findingsOfOneMax).map { "\(place) \($0)" } + more
            }
        }
    }

    private func summarize(_ watcher: ChaosWatcher) {
        let name = Expectations.users[watcher.user]
        let kinds = watcher.view.eventsOf.sorted { $0.key < $1.key }
        say(
            "\(name) watched: \(watcher.events) events, \(watcher.moves) moves, "
                + "\(watcher.resumes) resumes, \(watcher.historiesRead) histories read")
        say("  of each kind: \(kinds.map { "\($0.key) \($0.value)" }.joined(separator: ", "))")
        if watcher.events == 0 || watcher.moves == 0 || watcher.resumes == 0 {
            load.report("\(name) was told nothing, or never moved: it proves nothing")
        }
    }
}
