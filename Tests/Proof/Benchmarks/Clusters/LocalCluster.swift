import Glibc
import LineClient
import NetworkIO

/// Real nodes on this machine, in a folder of their own, on free ports.
@Stage final class LocalCluster {
    private static let readySecondsMax: UInt64 = 30

    let folder: String
    /// All nodes, including those that have not joined yet and those that have left.
    private(set) var nodes: [LocalNode] = []
    private let options: [String]
    private var signals: [SignalWatcher] = []

    /// - Parameters:
    ///   - count: the number of nodes that `start` starts.
    ///   - spares: the number of nodes that may be launched later.
    ///   - hasAccounts: whether the nodes have accounts, and not the key of `AppIdentity`.
    ///   - options: more words for each `grapevine node`.
    init(
        of count: Int, spares: Int = 0, program: String, replicas: String = "all",
        hasAccounts: Bool = false, options: [String], logs: String? = nil
    ) throws(BenchError) {
        guard access(program, X_OK) == 0 else {
            throw BenchError("\(program) is missing: swift build -c release, or --grapevine PATH")
        }
        self.options = ["--replicas", replicas] + options
        folder = try Files.temporaryFolder()
        try Files.write(AppIdentity.keySet, to: LocalNode.keySet(in: folder))
        if let logs { try Files.make(folder: logs) }
        var ports = FreePorts()
        for number in 1...(count + spares) {
            nodes.append(
                try LocalNode(
                    "n\(number)", at: &ports, program: program, folder: folder,
                    logs: logs ?? folder, hasAccounts: hasAccounts))
        }
        for node in nodes.prefix(count) { node.isMember = true }
        for signal in [SIGINT, SIGTERM, SIGHUP] { try watch(signal) }
    }

    /// Kills the nodes and removes the folder when the run is interrupted by a signal.
    private func watch(_ signal: Int32) throws(BenchError) {
        do throws(NetworkError) {
            signals.append(
                try SignalWatcher(signal, on: Stage.loop) { [weak self] in
                    self?.shutDown(keepingFolder: false)
                    exit(128 + signal)
                })
        } catch {
            throw BenchError("watching signals: \(error)")
        }
    }

    var members: [LocalNode] { nodes.filter(\.isMember) }

    /// Starts every node but the spares; the first founds the cluster.
    func start() async throws(BenchError) {
        let nodes = members
        for node in nodes {
            try launch(node, isFounding: node === nodes[0])
            // A node can join only once the founder has written the cluster to disk.
            if node === nodes[0] { try await awaitReady(node) }
        }
        for node in nodes { try await awaitReady(node) }
    }

    /// Starts one node, which joins all others.
    func launch(_ node: LocalNode, isFounding: Bool = false) throws(BenchError) {
        let others = isFounding ? [] : members.filter { $0 !== node }
        try node.launch(joining: others, options: options)
    }

    func awaitReady(_ node: LocalNode) async throws(BenchError) {
        let deadline = Stage.loop.nanoseconds + Self.readySecondsMax * 1_000_000_000
        while try !node.isReady() {
            if let end = node.collect() {
                throw BenchError("\(node.name) \(end) before it was ready\n\(try node.lastWords())")
            }
            guard Stage.loop.nanoseconds < deadline else {
                throw BenchError(
                    "\(node.name) is not ready after \(Self.readySecondsMax) s\n"
                        + (try node.lastWords()))
            }
            await Stage.pause(milliseconds: 1)
        }
    }

    /// Waits until every holder of a shard prints the same `DIGEST` line for it.
    func awaitCaughtUp(secondsMax: UInt64 = 30) async throws(BenchError) {
        let deadline = Stage.loop.nanoseconds + secondsMax * 1_000_000_000
        while true {
            var digests = Digests()
            for node in members { digests.add(try await ask(node, "DIGEST")) }
            if digests.isCaughtUp { return }
            guard Stage.loop.nanoseconds < deadline else {
                throw BenchError("the nodes do not agree after \(secondsMax) s")
            }
            await Stage.pause(milliseconds: 10)
        }
    }

    /// Sends one request on a connection of its own.
    func ask(_ node: LocalNode, _ line: String) async throws(BenchError) -> LineReply {
        let connection = try await connect(node)
        defer { connection.close() }
        return try await ask(line, on: connection)
    }

    func connect(_ node: LocalNode) async throws(BenchError) -> LineConnection {
        do throws(LineFailure) {
            return try await LineConnection.dial(node.admin)
        } catch {
            throw BenchError("\(node.name) \(error)")
        }
    }

    func ask(_ line: String, on connection: LineConnection) async throws(BenchError) -> LineReply {
        do throws(LineFailure) {
            return try await connection.ask(line)
        } catch {
            throw BenchError("a node, asked '\(line)', \(error)")
        }
    }

    /// Sends all lines, and waits for all replies.
    ///
    /// - Parameter lines: at most `LineConnection.unansweredMax`.
    func askAll(
        _ lines: [String], on connection: LineConnection
    ) async throws(BenchError) -> [LineReply] {
        var answers: [LineConnection.Answer] = []
        await withCheckedContinuation { continuation in
            guard !lines.isEmpty else { return continuation.resume() }
            for line in lines {
                let isSent = connection.send(line) { answer in
                    answers.append(answer)
                    if answers.count == lines.count { continuation.resume() }
                }
                guard !isSent else { continue }
                answers.append(.failure(.closed))
                if answers.count == lines.count { continuation.resume() }
            }
        }
        do throws(LineFailure) {
            var replies: [LineReply] = []
            for answer in answers { replies.append(try answer.get()) }
            return replies
        } catch {
            throw BenchError("a node, asked many lines, \(error)")
        }
    }

    /// Kills every node, and removes the folder unless it is to be inspected.
    func shutDown(keepingFolder: Bool) {
        for node in nodes { node.kill() }
        for signal in signals { signal.cancel() }
        signals = []
        guard !keepingFolder else { return }
        do throws(BenchError) {
            try Files.remove(folder: folder)
        } catch {
            say("left behind: \(error)")
        }
    }
}
