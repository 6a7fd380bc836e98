import Glibc
import LineClient
import NetworkIO

/// The attacks on limited resources: clients and descriptors.
extension AttackRun {
    func attackLimits() async throws(BenchError) {
        try await attempt("admin: the 10,001st connection") { () throws(BenchError) in
            try await self.crowd()
        }
        if command.wants("descriptors used up") { try await useUpDescriptors() }
    }

    /// The limit of clients of a node.
    private static let clientsMax = 10_000

    private func crowd() async throws(BenchError) -> Outcome {
        var intruders = try await open(Self.clientsMax - 100, to: .admin)
        intruders += try await open(200, to: .admin)
        let refused = { intruders.filter { $0.lastLine.hasPrefix("ERR 429 ") && $0.isGone } }
        _ = await holds(within: 3_000) { refused().count >= 101 }
        let count = refused().count
        let sentence = refused().first?.lastLine ?? "nothing"
        let others = intruders.filter { !$0.isGone }
        for intruder in others { intruder.send("PING\n") }
        _ = await holds(within: 10_000) { others.allSatisfy { $0.lastLine == "OK pong" } }
        let usable = others.filter { $0.lastLine == "OK pong" }.count
        await leave(intruders)
        let isUsableAgain = try await cluster.ask(victim, "PING").isOK
        return Outcome(
            "\(count) × \(sentence)",
            count >= 101 && count < 110 && usable == others.count && isUsableAgain,
            connections: Self.clientsMax)
    }

    /// Attacks a node with a low limit of descriptors by more connections than that.
    private func useUpDescriptors() async throws(BenchError) {
        let script = cluster.folder + "/few"
        try Files.write(
            "#!/bin/sh\nulimit -n 96\nexec \(command.program) \"$@\"\n", to: script, mode: 0o700)
        let few = try LocalCluster(
            of: 1, program: script, options: ["--log", "info"], logs: command.logs)
        var isKept = true
        defer { few.shutDown(keepingFolder: isKept) }
        try await few.start()
        let node = few.nodes[0]
        let client = try await PoliteClient.start(on: node, of: few)
        await Stage.pause(milliseconds: 200)
        guard let process = node.process else { throw BenchError("the node does not run") }
        let before = try NodeMemory.cpuMilliseconds(of: process)
        let strangers = try await dialAnyhow(150, to: node.gossip)
        let clients = try await dialAnyhow(150, to: node.admin)
        await Stage.pause(milliseconds: 2_000)
        let busy = try NodeMemory.cpuMilliseconds(of: process) - before
        let told = clients.filter { $0.lastLine.hasPrefix("ERR 429 ") }.count
        let (slowest, complaint) = client.takeSlowest()
        await leave(strangers + clients)
        let isUsable = try await few.ask(node, "PING").isOK
        let answers = client.answers
        client.stop()
        isKept = !(complaint == nil && isUsable && busy < 1_500)
        addLine(
            "descriptors used up: \(told) of 150 told ERR 429, \(busy) ms of CPU in 2 s; "
                + "slowest answer \(Int(slowest)) ms of \(answers); "
                + (isKept ? "FAILED: \(complaint ?? "the loop spins")" : "ok"), isKept)
    }
}
