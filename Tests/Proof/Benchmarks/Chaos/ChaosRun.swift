import Glibc
import LineClient
import LineProtocol
import NetworkIO

/// A chaos run in progress: nodes, load, and the faults of the plan.
@Stage final class ChaosRun {
    static let conversations = 12
    static let clientsPerNode = 3
    private static let tickMilliseconds: UInt64 = 10
    private static let leaveAgainMilliseconds: UInt64 = 200
    /// The limit of the time in which the nodes answer everything after the last fault, in seconds.
    private static let calmSecondsMax: UInt64 = 30

    /// The time of serving after which a node that owns every shard answers from its own disk;
    /// until then, it sends requests to another.
    private static let warmingNanoseconds: UInt64 = 3_000_000_000

    private static let verbs = (ChaosRequest.verbs + ScriptedUsers.verbs).sorted()

    private let command: ChaosCommand
    private let cluster: LocalCluster
    private let load: ChaosLoad
    private let partitioner: NetworkPartitioner
    private let watchers: ChaosWatchers
    private let userScripts: ScriptedUsers
    private let stopped = StoppedNodes()
    /// Per node that was started, the time from which it is taken to answer from its own disk.
    private var warming: [Int: UInt64] = [:]
    /// The node that received `LEAVE`, until it has ended.
    private var leaving: Int?
    /// The leaving node's answer to `LEAVE`.
    private var leaveAnswer = "nothing"
    /// The time at which it ended; until then it hands over its shards.
    private var lastLeftNanoseconds: UInt64 = 0
    private var lastReadyNanoseconds: UInt64 = 0
    private var lastStartNanoseconds: UInt64 = 0

    init(_ command: ChaosCommand) throws(BenchError) {
        self.command = command
        cluster = try LocalCluster(
            of: command.plan.nodes, spares: command.plan.nodesEver - command.plan.nodes,
            program: command.program, replicas: command.replicas,
            options: ["--faults", "--log", "info"]
                + (command.keyFile.map { ["--key-file", $0] } ?? []), logs: command.logs)
        let founders = 0..<command.plan.nodes
        load = ChaosLoad(
            Expectations(
                conversations: Self.conversations,
                ownDisks: command.ownsEverything ? Set(founders) : []),
            clientsPerNode: Self.clientsPerNode, seed: command.plan.seed,
            addresses: cluster.nodes.map(\.admin), open: founders, on: Stage.loop)
        partitioner = NetworkPartitioner(cluster, load)
        watchers = ChaosWatchers(load, seed: command.plan.seed)
        userScripts = ScriptedUsers(cluster, load, seed: command.plan.seed)
    }

    /// - Returns: whether there were no findings.
    func run() async throws(BenchError) -> Bool {
        var isKept = true
        defer { cluster.shutDown(keepingFolder: isKept) }
        do throws(BenchError) {
            try await cluster.start()
            try await createConversations()
            try await watchers.start()
            load.start()
            userScripts.start()
            try await breakThings()
            try await calm()
            watchers.settle()
            let level = Convergence(cluster, load)
            try await level.await(
                since: max(calmSinceNanoseconds, lastLeftNanoseconds))
            try await ChaosConflicts(cluster, load, partitioner, level, command).run()
            let reads = FinalReads(cluster, load)
            try await reads.run()
            await watchers.check(reads.views)
            try await userScripts.check()
        } catch {
            load.report("the run was broken off: \(error)")
        }
        load.close()
        watchers.close()
        for verb in Self.verbs where load.acknowledgedOf[verb] == nil {
            load.report("no \(verb) was acknowledged: too short a run, or too few requests")
        }
        isKept = load.findingsCount > 0
        return summarize()
    }

    private func createConversations() async throws(BenchError) {
        let users = Expectations.users[Expectations.founders].joined(separator: ",")
        for number in 0..<Self.conversations {
            let name = Expectations.name(ofConversation: number)
            let reply = try await cluster.ask(cluster.nodes[0], "CREATE \(name) \(users)")
            guard reply.isOK else { throw BenchError("CREATE: \(reply.statusText)") }
        }
        try await userScripts.prepare()
        try await cluster.awaitCaughtUp()
        try await Convergence(cluster, load).awaitPlaces()
    }

    // MARK: The plan

    private func breakThings() async throws(BenchError) {
        let began = Stage.loop.nanoseconds
        var steps = command.plan.steps[...]
        var issued = 0
        while true {
            let milliseconds = Int((Stage.loop.nanoseconds - began) / 1_000_000)
            while let step = steps.first, step.milliseconds <= milliseconds {
                try perform(step)
                steps = steps.dropFirst()
            }
            guard milliseconds < command.plan.seconds * 1_000 else { break }
            watchNodes()
            // Pacing by the clock makes up for a late turn, but at a limited rate.
            let due = command.rate * milliseconds / 1_000
            load.issue(min(due - issued, command.rate / 20 + 1))
            issued = due
            await Stage.pause(milliseconds: Self.tickMilliseconds)
        }
        for step in steps { try perform(step) }
    }

    private func perform(_ step: ChaosPlan.Step) throws(BenchError) {
        let node = cluster.nodes[step.node]
        switch step.act {
        case .kill:
            load.excused.insert(step.node)
            // Its output may say that it was ready, which would end the excuse of a dead node.
            stopped.stopExpecting(step.node)
            distrust(step.node)
            node.kill()
        case .wipe:
            try Files.remove(folder: node.data)
            load.expectations.onWipe(of: step.node)
            watchers.onWipe(of: step.node)
            userScripts.onWipe()
        case .start, .join:
            // A node that ended by itself in between was started again already.
            if !node.isRunning { try cluster.launch(node) }
            load.open.insert(step.node)
            // The node is excused until it serves.
            load.excused.insert(step.node)
            lastStartNanoseconds = Stage.loop.nanoseconds
            stopped.expect(step.node)
        case .stop:
            load.excused.insert(step.node)
            node.process?.send(SIGSTOP)
        case .resume:
            node.process?.send(SIGCONT)
            // The clients may have waited nearly as long as their timeout.
            stopped.expect(step.node)
        case .cut(let cut): partitioner.cut(cut)
        case .heal: partitioner.heal()
        case .leave: leave(step.node)
        }
    }

    private func leave(_ number: Int) {
        leaving = number
        load.excused.insert(number)
        load.open.remove(number)
        warming[number] = nil
        load.expectations.onLeave(of: number)
        askToLeave(number)
    }

    /// Repeats `LEAVE` until the node accepts it: one that has just started may not serve, and one
    /// that is cut off from all others has no owner to hand over to.
    private func askToLeave(_ number: Int) {
        partitioner.ask(number, "LEAVE") { [weak self] answer in
            switch answer {
            case .success(let reply):
                self?.leaveAnswer = reply.statusText
                if reply.isOK { return }
            case .failure(let failure): self?.leaveAnswer = "nothing: it \(failure)"
            }
            _ = Timer(on: Stage.loop, afterMilliseconds: Self.leaveAgainMilliseconds) {
                guard let self, self.leaving == number else { return }
                self.askToLeave(number)
            }
        }
    }

    /// Records that the node may answer from another node's disk until it has served for a while.
    private func distrust(_ number: Int) {
        warming[number] = nil
        load.expectations.setOwnDisk(of: number, to: false)
    }

    /// Starts every node that ended by itself again; its end is a finding.
    private func watchNodes() {
        for (number, node) in cluster.nodes.enumerated() {
            do throws(BenchError) {
                if let end = node.collect() {
                    try onEnd(of: number, end)
                } else if stopped.isExpected(number), try node.isReady() {
                    onReady(number)
                }
            } catch {
                load.report("watching \(node.name): \(error)")
            }
        }
        let now = Stage.loop.nanoseconds
        for (number, time) in warming where time <= now {
            warming[number] = nil
            load.expectations.setOwnDisk(of: number, to: true)
        }
    }

    private func onEnd(of number: Int, _ end: ChildProcess.End) throws(BenchError) {
        let node = cluster.nodes[number]
        if leaving == number, end == .exit(status: 0) {
            leaving = nil
            lastLeftNanoseconds = Stage.loop.nanoseconds
            node.isMember = false
            return
        }
        load.report("\(node.name) \(end) by itself\n\(try node.lastWords())")
        distrust(number)
        try cluster.launch(node)
        stopped.expect(number)
    }

    private func onReady(_ number: Int) {
        stopped.stopExpecting(number)
        load.excused.remove(number)
        lastReadyNanoseconds = Stage.loop.nanoseconds
        // A new node owns every shard as soon as it is in sync, which no reply states.
        guard command.ownsEverything, number < command.plan.nodes else { return }
        warming[number] = Stage.loop.nanoseconds + Self.warmingNanoseconds
    }

    // MARK: After the plan

    /// The time at which the last node served, the last cut was healed and the last request
    /// answered.
    private var calmSinceNanoseconds: UInt64 {
        max(lastReadyNanoseconds, load.lastReplyNanoseconds, partitioner.lastHealed)
    }

    /// Waits until every node serves, the leaving node has ended, and every request has its reply.
    private func calm() async throws(BenchError) {
        load.drain()
        try await userScripts.finish()
        let began = Stage.loop.nanoseconds
        try await calm(since: began) { self.stopped.isAnyExpected }
        try await partitioner.healAll(but: leaving)
        try await calm(since: began) { self.leaving != nil || self.load.unansweredCount > 0 }
        let start = Double(lastReadyNanoseconds &- lastStartNanoseconds) / 1e9
        say("the last node served \(decimal(start, digits: 3)) s after its start")
        guard lastLeftNanoseconds > calmSinceNanoseconds else { return }
        let seconds = Double(lastLeftNanoseconds - calmSinceNanoseconds) / 1e9
        say("the node that leaves had gone \(decimal(seconds, digits: 3)) s after all else")
    }

    private func calm(
        since began: UInt64, while isGoing: () -> Bool
    ) async throws(BenchError) {
        while isGoing() {
            watchNodes()
            guard Stage.loop.nanoseconds < began + Self.calmSecondsMax * 1_000_000_000 else {
                let names =
                    leaving.map { ", and n\($0 + 1), which answered \(leaveAnswer), has not left" }
                    ?? ""
                throw BenchError(
                    "after \(Self.calmSecondsMax) s without faults \(load.unansweredCount) "
                        + "requests have no reply\(names)")
            }
            await Stage.pause(milliseconds: 1)
        }
    }

    private func summarize() -> Bool {
        let expectations = load.expectations
        say(
            "\(load.acknowledged) requests acknowledged, \(load.repeated) repeated; to be there: "
                + "\(expectations.acknowledgedSends) sends, "
                + "\(expectations.acknowledgedEdits) edits, "
                + "\(expectations.acknowledgedRetractions) deletions for everyone")
        let verbs = Self.verbs.map { "\($0) \(load.acknowledgedOf[$0] ?? 0)" }
        say("  of each verb: \(verbs.joined(separator: ", "))")
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

/// The nodes that were started or resumed, and have not been seen to serve since.
private final class StoppedNodes {
    private var numbers: Set<Int> = []

    var isAnyExpected: Bool { !numbers.isEmpty }

    func expect(_ number: Int) { numbers.insert(number) }

    func stopExpecting(_ number: Int) { numbers.remove(number) }

    func isExpected(_ number: Int) -> Bool { numbers.contains(number) }
}
