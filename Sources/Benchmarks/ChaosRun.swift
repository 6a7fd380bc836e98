import Glibc
import LineClient
import LineProtocol
import NetworkIO

/// A chaos run while it goes on: nodes, load, and the plan that is done to them.
@Stage final class ChaosRun {
    static let conversations = 12
    static let clientsPerNode = 3
    private static let tickMilliseconds: UInt64 = 10
    /// How long the nodes may take to serve and answer everything after the last fault.
    private static let calmSecondsMax: UInt64 = 30

    private let command: ChaosCommand
    private let cluster: LocalCluster
    private let load: ChaosLoad
    private let stopped = StoppedNodes()
    private var lastReadyNanoseconds: UInt64 = 0
    private var lastStartNanoseconds: UInt64 = 0

    init(_ command: ChaosCommand) throws(BenchError) {
        self.command = command
        cluster = try LocalCluster(
            of: command.plan.nodes, program: command.program, options: ["--log", "info"],
            logs: command.logs)
        load = ChaosLoad(
            conversations: Self.conversations, clientsPerNode: Self.clientsPerNode,
            seed: command.plan.seed, addresses: cluster.nodes.map(\.admin), on: Stage.loop)
    }

    /// - Returns: whether everything was as it should be.
    func run() async throws(BenchError) -> Bool {
        var isKept = true
        defer { cluster.end(keepingFolder: isKept) }
        do throws(BenchError) {
            try await cluster.start()
            try await createConversations()
            load.start()
            try await breakThings()
            try await calm()
            try await level()
            try await FinalReads(cluster, load).run()
        } catch {
            load.report("the run was broken off: \(error)")
        }
        load.close()
        isKept = load.findingsCount > 0
        return summarize()
    }

    private func createConversations() async throws(BenchError) {
        let users = ChaosBook.users.joined(separator: ",")
        for number in 0..<Self.conversations {
            let name = ChaosBook.name(ofConversation: number)
            let reply = try await cluster.ask(cluster.nodes[0], "CREATE \(name) \(users)")
            guard reply.isOK else { throw BenchError("CREATE: \(reply.statusText)") }
        }
        try await cluster.awaitLevel()
    }

    // MARK: The plan

    private func breakThings() async throws(BenchError) {
        let began = Stage.loop.nanoseconds
        var steps = command.plan.steps[...]
        var issued = 0
        while true {
            let milliseconds = Int((Stage.loop.nanoseconds - began) / 1_000_000)
            while let step = steps.first, step.milliseconds <= milliseconds {
                try take(step)
                steps = steps.dropFirst()
            }
            guard milliseconds < command.plan.seconds * 1_000 else { break }
            watchNodes()
            // Paced by the clock, so that a late turn is made up for, but never by a flood.
            let due = command.rate * milliseconds / 1_000
            load.issue(min(due - issued, command.rate / 20 + 1))
            issued = due
            await Stage.pause(milliseconds: Self.tickMilliseconds)
        }
        for step in steps { try take(step) }
    }

    private func take(_ step: ChaosPlan.Step) throws(BenchError) {
        let node = cluster.nodes[step.node]
        switch step.act {
        case .kill:
            load.excused.insert(step.node)
            node.kill()
        case .wipe:
            try Files.remove(folder: node.data)
            load.book.onWipe(of: step.node)
        case .start:
            // One that ended by itself in between was started again already.
            if !node.isRunning { try cluster.launch(node) }
            lastStartNanoseconds = Stage.loop.nanoseconds
            stopped.expect(step.node)
        case .stop:
            load.excused.insert(step.node)
            node.process?.send(SIGSTOP)
        case .resume:
            node.process?.send(SIGCONT)
            // Its clients may have waited nearly as long as they do.
            stopped.expect(step.node)
        }
    }

    /// A node that ends by itself is a finding, and is started again.
    private func watchNodes() {
        for (number, node) in cluster.nodes.enumerated() {
            do throws(BenchError) {
                if let end = node.collect() {
                    load.report("\(node.name) \(end) by itself\n\(try node.lastWords())")
                    try cluster.launch(node)
                } else if stopped.isExpected(number), try node.isReady() {
                    stopped.forget(number)
                    load.excused.remove(number)
                    lastReadyNanoseconds = Stage.loop.nanoseconds
                }
            } catch {
                load.report("watching \(node.name): \(error)")
            }
        }
    }

    // MARK: After the plan

    /// Waits until every node serves and every request has its reply.
    private func calm() async throws(BenchError) {
        load.drain()
        let began = Stage.loop.nanoseconds
        while stopped.isAnyExpected || load.unansweredCount > 0 {
            watchNodes()
            guard Stage.loop.nanoseconds < began + Self.calmSecondsMax * 1_000_000_000 else {
                throw BenchError(
                    "after \(Self.calmSecondsMax) s without faults \(load.unansweredCount) "
                        + "requests have no reply")
            }
            await Stage.pause(milliseconds: 1)
        }
    }

    /// How long until every node prints the same `DIGEST` lines, against what they lacked.
    private func level() async throws(BenchError) {
        let began = max(lastReadyNanoseconds, load.lastReplyNanoseconds)
        var lines: [LineConnection] = []
        defer { for line in lines { line.close() } }
        for node in cluster.nodes { lines.append(try await cluster.connect(node)) }
        let lacking = try await self.lacking(lines)
        let most = lacking.max() ?? 0
        // A second for up to 1,000 changes, and 10,000 of them a second for more.
        let allowed = max(1, Double(most) / 10_000)
        while true {
            var replies: Set<LineReply> = []
            for line in lines { replies.insert(try await cluster.ask("DIGEST", on: line)) }
            let seconds = Double(Stage.loop.nanoseconds - began) / 1e9
            if replies.count == 1 {
                let counts = lacking.map(String.init).joined(separator: " ")
                let start = Double(lastReadyNanoseconds &- lastStartNanoseconds) / 1e9
                say("the last node served \(decimal(start, digits: 3)) s after its start")
                say(
                    "level \(decimal(seconds, digits: 3)) s after the last fault and write "
                        + "(allowed \(decimal(allowed, digits: 2)) s); nodes lacked \(counts)")
                if seconds > allowed { load.report("the nodes took too long to be level") }
                return
            }
            guard seconds < allowed + 20 else {
                throw BenchError("the nodes are not level after \(decimal(seconds, digits: 1)) s")
            }
            await Stage.pause(milliseconds: 2)
        }
    }

    /// How many changes each node lacks of what all hold together.
    private func lacking(_ lines: [LineConnection]) async throws(BenchError) -> [Int] {
        var held: [HeldSeqs] = []
        for line in lines {
            let shards = try await cluster.ask("DIGEST", on: line).data("DIGEST").compactMap {
                $0["shard"].flatMap { Int($0) }
            }
            let replies = try await cluster.askAll(shards.map { "VECTOR \($0)" }, on: line)
            var seqs = HeldSeqs()
            for (shard, reply) in zip(shards, replies) {
                for fields in reply.data("VECTOR") where !seqs.add(fields, of: shard) {
                    throw BenchError("a VECTOR line cannot be read")
                }
            }
            held.append(seqs)
        }
        return HeldSeqs.lacking(held)
    }

    private func summarize() -> Bool {
        let book = load.book
        say(
            "\(load.acknowledged) requests acknowledged, \(load.repeated) repeated; to be there: "
                + "\(book.acknowledgedSends) sends, \(book.acknowledgedEdits) edits, "
                + "\(book.acknowledgedRetractions) deletions for everyone")
        for (refusal, count) in load.refusals.sorted(by: { $0.key < $1.key }) {
            say("  refused \(count) times: \(refusal)")
        }
        guard load.findingsCount > 0 else {
            say("chaos passed: \(command.rerun)")
            return true
        }
        for finding in load.findings { say("FINDING \(finding)") }
        say("chaos FAILED: \(load.findingsCount) findings; logs and data in \(cluster.folder)")
        say("again: \(command.rerun)")
        return false
    }
}

/// The nodes that were started or resumed and have not been seen to serve since.
private final class StoppedNodes {
    private var numbers: Set<Int> = []

    var isAnyExpected: Bool { !numbers.isEmpty }

    func expect(_ number: Int) { numbers.insert(number) }

    func forget(_ number: Int) { numbers.remove(number) }

    func isExpected(_ number: Int) -> Bool { numbers.contains(number) }
}
