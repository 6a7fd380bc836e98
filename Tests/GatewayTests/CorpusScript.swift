import Node
import NodeKit
import Placement
import Session
import Wire

@testable import Gateway

/// A script of requests to nodes in memory, and the player that records the answers.
///
/// Its lines, one each:
///
///     # a comment
///     nodes 3                 the nodes n1 to n3, each shard on one of them; comes first;
///                             `nodes 3 accounts` where the cluster has accounts of its own
///     line NAME NODE [USER]   a client that sends lines, as an operator or as a user
///     app NAME NODE           a client that sends requests over HTTP
///     socket NAME NODE WORDS  a client of a WebSocket; the words are those of a request
///     NAME> TEXT              a request: a line, a frame, or `METHOD TARGET [as=USER]
///                             [+Header:value]… [body]`, or `raw TEXT`
///     NAME< TEXT              a line of an answer, as recorded
///     keep KEY as NAME        keeps the value that the last request's answer has under a key;
///                             `$NAME` is replaced by it from here on
///     wait MILLISECONDS       lets time pass
///     cut NODE                loses the connections of a node
///     join NODE               connects it again
final class CorpusPlayer {
    /// A line that is no part of a script.
    struct Unreadable: Error {
        let line: String
    }

    /// The rounds of frames between nodes in which a request is answered.
    private static let rounds = 12

    private let executor = QueueExecutor()
    private let signer = CorpusSigner()
    private var world: World?
    private var nodes: [(name: String, node: TestNode)] = []
    private var ports: [(node: String, port: CorpusPort)] = []
    private var clients: [(name: String, client: any CorpusClient)] = []
    private var lastID: UInt64 = 0
    private var transcript: [String] = []
    /// The client that sent the last request, and what it has received since.
    private var lastClient = ""
    private var lastAnswer = ""

    /// Plays a script.
    ///
    /// - Returns: its lines, with the answers that were given now.
    func play(_ script: String) throws(Unreadable) -> String {
        for line in script.split(separator: "\n", omittingEmptySubsequences: false) {
            let isAnswer = clients.contains { line.hasPrefix("\($0.name)< ") }
            guard !isAnswer else { continue }
            transcript.append(String(line))
            guard !line.isEmpty, !line.hasPrefix("#") else { continue }
            try play(line: line)
            record()
        }
        while transcript.last?.isEmpty ?? false { transcript.removeLast() }
        return transcript.joined(separator: "\n") + "\n"
    }

    private var allNodes: [TestNode] { nodes.map(\.node) }

    private func node(_ name: String) throws(Unreadable) -> TestNode {
        guard let found = nodes.first(where: { $0.name == name }) else {
            throw Unreadable(line: "no node \(name)")
        }
        return found.node
    }

    private func play(line: Substring) throws(Unreadable) {
        if let mark = line.firstRange(of: "> "),
            let client = clients.first(where: { $0.name == line[..<mark.lowerBound] })?.client
        {
            lastClient = String(line[..<mark.lowerBound])
            client.send(filled(line[mark.upperBound...]))
            return settle()
        }
        let words = line.split(separator: " ").map(String.init)
        switch (words.first, words.count) {
        case ("nodes", 2...): try start(Int(words[1]) ?? 1, withAccounts: words.last == "accounts")
        case ("line", 3...), ("app", 3...), ("socket", 3...): try connect(words)
        case ("keep", 4): try keep(words[1], as: words[3])
        case ("wait", 2): try wait(UInt64(words[1]))
        case ("cut", 2): world?.cut(try node(words[1]))
        case ("join", 2): world?.rejoin(try node(words[1]), to: allNodes)
        default: throw Unreadable(line: String(line))
        }
        settle()
    }

    private func start(_ count: Int, withAccounts hasAccounts: Bool) throws(Unreadable) {
        let world = World(replicas: count > 1 ? .count(1) : .all, mayBlock: true, on: executor)
        self.world = world
        nodes.append(("n1", world.n1))
        for number in 2..<max(2, count + 1) {
            let joined = world.join("n\(number)", dialing: Array(allNodes.dropFirst()))
            nodes.append(("n\(number)", joined))
        }
        for (name, node) in nodes {
            let port = CorpusPort(
                of: node.node, seed: UInt64(ports.count),
                keys: hasAccounts ? nil : CorpusSigner.keySet, clock: node.clock,
                executor: executor)
            port.assumeIsolated { $0.start() }
            ports.append((name, port))
        }
        try wait(hasAccounts ? 10_000 : 2_000)
    }

    private func connect(_ words: [String]) throws(Unreadable) {
        let node = try node(words[2])
        guard let port = ports.first(where: { $0.node == words[2] })?.port else {
            throw Unreadable(line: words.joined(separator: " "))
        }
        for (_, client) in clients.filter({ $0.name == words[1] }) { client.close() }
        clients.removeAll { $0.name == words[1] }
        if words[0] == "line" {
            let user = words.count > 3 ? UserID(words[3]) : nil
            let policy = user.map { AuthPolicy.user($0, signIn: nil) } ?? .none
            return clients.append((words[1], CorpusLineClient(node.connect(policy))))
        }
        let app = CorpusAppClient(of: port, on: executor, clock: node.clock, signer: signer) {
            [self] in
            lastID += 1
            return lastID
        }
        let rest = words[3...].joined(separator: " ")
        let client: any CorpusClient =
            words[0] == "app" ? app : CorpusSocketClient(app, opening: filled(rest))
        clients.append((words[1], client))
    }

    private func filled(_ text: some StringProtocol) -> String {
        signer.values.keys.sorted(by: >).reduce(String(text)) { text, name in
            text.replacing("$\(name)", with: signer.values[name] ?? "")
        }
    }

    private func keep(_ key: String, as name: String) throws(Unreadable) {
        for (before, after) in [("\"\(key)\":\"", "\""), (" \(key)=", " ")] {
            guard let start = lastAnswer.firstRange(of: before) else { continue }
            let value = lastAnswer[start.upperBound...].prefix { $0 != "\n" && !after.contains($0) }
            signer.values[name] = String(value)
            return
        }
        throw Unreadable(line: "no \(key) in \(lastAnswer)")
    }

    private func wait(_ milliseconds: UInt64?) throws(Unreadable) {
        guard let milliseconds else { throw Unreadable(line: "no time to wait") }
        // A long time passes in longer steps.
        let step = max(Node.tickMilliseconds, milliseconds / 200)
        for _ in 0..<max(1, (milliseconds + step - 1) / step) {
            world?.clock.advance(milliseconds: step)
            for node in allNodes { node.node.assumeIsolated { $0.onTick() } }
            for (_, port) in ports { port.assumeIsolated { $0.onTick() } }
            settle()
        }
    }

    /// Runs nodes, ports and tasks until nothing is left to do.
    private func settle() {
        var isBusy = true
        while isBusy {
            world?.settle(allNodes, rounds: CorpusPlayer.rounds)
            isBusy = executor.run()
            for (_, port) in ports where port.assumeIsolated({ $0.giveTurns() }) { isBusy = true }
            for node in allNodes { node.endBackups() }
        }
    }

    private func record() {
        for (name, client) in clients {
            let lines = client.heard()
            guard !lines.isEmpty else { continue }
            if name == lastClient { lastAnswer = lines.joined(separator: "\n") }
            transcript += lines.map { "\(name)< \($0)" }
        }
    }
}
