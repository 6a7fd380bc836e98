import LineClient
import LineProtocol
import NetworkIO

/// The scripted users of a chaos run, and the final checks of their data.
@Stage final class ScriptedUsers {
    /// The verbs of which a run must have at least one acknowledgement, beside
    /// `ChaosRequest.verbs`.
    static let verbs = [
        "ACTION", "ACTIONS", "DELIVERED", "DEVICE", "HIDECHAT", "NOTIFICATIONS", "NOTIFIED",
        "PROFILE", "SEED", "SINCE", "TOKEN", "TYPING", "UNWATCH", "VIEWING", "WATCH",
    ]

    private static let pairs = 6
    private static let pauseMilliseconds: UInt64 = 10
    private static let finishSecondsMax: UInt64 = 30
    /// The numbers of action items and conversations that `SEED` adds.
    private static let seededItems = 3
    private static let seededConversations = 2

    private let cluster: LocalCluster
    private let load: ChaosLoad
    private let userScripts: [ScriptedUser]

    init(_ cluster: LocalCluster, _ load: ChaosLoad, seed: UInt64) {
        self.cluster = cluster
        self.load = load
        userScripts = (0..<Self.pairs).map { number in
            ScriptedUser(number, seed: seed &+ UInt64(number) &* 0xC2B2_AE35, load)
        }
    }

    func prepare() async throws(BenchError) {
        for line in userScripts.flatMap(\.preparations) {
            let reply = try await cluster.ask(cluster.nodes[0], line)
            guard reply.isOK else { throw BenchError("\(line): \(reply.statusText)") }
        }
    }

    func start() {
        for userScript in userScripts { Task { @Stage in await userScript.run() } }
    }

    func onWipe() { for userScript in userScripts { userScript.onWipe() } }

    /// Waits until each script has its last reply.
    func finish() async throws(BenchError) {
        for userScript in userScripts { userScript.stop() }
        let deadline = Stage.loop.nanoseconds + Self.finishSecondsMax * 1_000_000_000
        while !userScripts.allSatisfy(\.isDone) {
            guard Stage.loop.nanoseconds < deadline else {
                throw BenchError("a scripted user was not done after \(Self.finishSecondsMax) s")
            }
            await Stage.pause(milliseconds: Self.pauseMilliseconds)
        }
    }

    // MARK: Final checks

    func check() async throws(BenchError) {
        var first: [[ArraySlice<UInt8>]] = []
        for node in cluster.members {
            let line = try await cluster.connect(node)
            defer { line.close() }
            var shown: [[ArraySlice<UInt8>]] = []
            for userScript in userScripts {
                shown += try await read(userScript.expectations, on: node, line)
            }
            shown += try await readSeeded(on: node, line)
            if first.isEmpty { first = shown }
            for (one, other) in zip(first, shown) {
                let names = [cluster.members[0].name, node.name]
                if let difference = ChaosChecker.difference(one, other, between: names) {
                    load.report("after errands: \(difference)")
                }
            }
        }
        let sessions = userScripts.reduce(0) { $0 + $1.sessionsChecked }
        if sessions == 0 { load.report("no session went from one node to another") }
        say("\(sessions) sessions went on at another node, and saw nothing older there")
    }

    /// - Returns: the lines that every node must show alike.
    private func read(
        _ expectations: ScriptedExpectations, on node: LocalNode, _ line: LineConnection
    ) async throws(BenchError) -> [[ArraySlice<UInt8>]] {
        let device = "\(expectations.user) \(ScriptedExpectations.device)"
        let requests = [
            "PROFILE \(expectations.user)", "ACTIONS \(expectations.user)",
            "HISTORY \(expectations.conversation) \(expectations.user) limit=1000",
            "HISTORY \(expectations.hidableConversation) \(expectations.user) limit=1000",
            "CHATS \(expectations.user) show=all", "NOTIFICATIONS \(device)",
        ]
        var replies: [LineReply] = []
        for request in requests { replies.append(try await cluster.ask(request, on: line)) }
        for (request, reply) in zip(requests, replies)
        where !reply.isOK && !(reply.error?.code == 404 && request == requests[0]) {
            load.report("\(node.name) answers '\(request)' with \(reply.statusText)")
        }
        let findings = [
            expectations.findings(inProfile: replies[0].data("PROFILE")),
            expectations.findings(inItems: replies[1].data("ACTION")),
            expectations.findings(inHistory: ScriptedUser.lines(replies[2])),
            expectations.findings(inHidable: ScriptedUser.lines(replies[3])), [],
            expectations.findings(inLastNotifications: replies[5].data("NOTIFICATION")),
        ]
        for (request, found) in zip(requests, findings) {
            for finding in found { load.report("\(node.name), \(request): \(finding)") }
        }
        return replies.map(\.dataLines)
    }

    private func readSeeded(
        on node: LocalNode, _ line: LineConnection
    ) async throws(BenchError) -> [[ArraySlice<UInt8>]] {
        let requests = ["ACTIONS alice", "ACTIONS bob", "CHATS alice show=all"]
        let replies = try await cluster.askAll(requests, on: line)
        let items = replies[0].dataLines.count + replies[1].dataLines.count
        let conversations = replies[2].dataLines.count
        let isSeeded = userScripts.contains(where: \.isSeeded)
        if items > Self.seededItems || conversations > Self.seededConversations
            || isSeeded && (items, conversations) != (Self.seededItems, Self.seededConversations)
        {
            load.report(
                "\(node.name): SEED left \(items) action items and \(conversations) conversations")
        }
        return replies.map(\.dataLines)
    }
}
