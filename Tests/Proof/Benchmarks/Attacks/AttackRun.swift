import Glibc
import LineClient
import NetworkIO

/// A run of attacks: the nodes, the well-behaved clients, and the measurements.
@Stage final class AttackRun {
    /// The limit of the memory that a node takes beyond its memory when idle, in bytes.
    static let memoryMax = 64 << 20
    /// The additional limit for each open connection, in bytes.
    static let memoryPerConnectionMax = 16 << 10
    /// The limit of the time to an answer for a well-behaved client during an attack, in
    /// milliseconds; the longest pause of this process is added, since it sees no answer meanwhile,
    /// and the longest sync of the disk, without which no send is acknowledged.
    static let answerMillisecondsMax = 2_000.0
    /// The number of connections that are dialled at the same time.
    static let dialsAtOnce = 100

    /// The port that is attacked.
    enum Port { case admin, gossip, http }

    /// The nodes that are attacked.
    enum Target: CaseIterable {
        /// Nodes whose users are signed in by the key of `AppIdentity`.
        case keys
        /// Nodes with accounts, behind a proxy that names the address of each client.
        case accounts
    }

    /// The result of one attack.
    struct Outcome {
        /// The answer that the attacker got, in a few words.
        let got: String
        /// Whether that answer is the expected one.
        let isAsExpected: Bool
        /// The greatest number of connections that the attack had open.
        let connections: Int

        init(_ got: String, _ isAsExpected: Bool, connections: Int = 1) {
            self.got = got
            self.isAsExpected = isAsExpected
            self.connections = connections
        }
    }

    let command: AttackCommand
    private let target: Target
    let cluster: LocalCluster
    var random: SeededRandom
    /// The node that is attacked.
    let victim: LocalNode
    private var polite: [PoliteClient] = []
    private let pulse = Pulse()
    private let diskPulse: DiskPulse
    private var idleBytes = 0
    private var failures = 0

    init(_ command: AttackCommand, on target: Target) throws(BenchError) {
        self.command = command
        self.target = target
        random = SeededRandom(seed: command.seed)
        cluster = try LocalCluster(
            of: 2, program: command.program, replicas: "2", hasAccounts: target == .accounts,
            options: ["--log", "info"] + (target == .accounts ? ["--http-behind-proxy"] : []),
            logs: command.logs)
        victim = cluster.nodes[0]
        diskPulse = try DiskPulse(in: cluster.folder)
    }

    /// - Returns: whether the nodes withstood every attack.
    func run() async throws(BenchError) -> Bool {
        var isKept = true
        defer { cluster.shutDown(keepingFolder: isKept) }
        try await cluster.start()
        // The data on disk and in the caches is part of an idle node's memory.
        try await writeLongHistory()
        for node in cluster.members {
            polite.append(try await PoliteClient.start(on: node, of: cluster))
        }
        await Stage.pause(milliseconds: 1_000)
        idleBytes = try memory().resident
        say("idle: \(megabytes(idleBytes)) MiB")
        try await attack()
        isKept = failures > 0
        if isKept { say("attack: \(failures) FAILED in \(cluster.folder)") }
        return failures == 0
    }

    private func attack() async throws(BenchError) {
        switch target {
        case .keys:
            try await attackAdmin()
            try await attackGossip()
            try await attackLimits()
            try await attackApps()
            try await attackUploads()
            try await attackDownloads()
        case .accounts: try await attackAccounts()
        }
        for client in polite { client.stop() }
        pulse.stop()
        diskPulse.stop()
        if target == .keys { try await stopUnderLoad() }
    }

    func memory() throws(BenchError) -> NodeMemory {
        guard let process = victim.process else { throw BenchError("\(victim.name) does not run") }
        return try NodeMemory(of: process)
    }

    /// The number of descriptors that the victim has open.
    func descriptors() throws(BenchError) -> Int {
        guard let process = victim.process else { throw BenchError("\(victim.name) does not run") }
        return NodeMemory.descriptors(of: process)
    }

    func megabytes(_ bytes: Int) -> Int { bytes >> 20 }

    /// Performs one attack and evaluates the node's memory, answers and survival.
    func attempt(
        _ name: String, _ body: () async throws(BenchError) -> Outcome
    ) async throws(BenchError) {
        guard command.wants(name) else { return }
        guard let process = victim.process else { throw BenchError("\(victim.name) does not run") }
        try NodeMemory.forgetPeak(of: process)
        for client in polite { _ = client.takeSlowest() }
        _ = (pulse.takeLongest(), diskPulse.takeLongest())
        let began = Stage.loop.nanoseconds
        let outcome = try await body()
        for node in cluster.members {
            guard let end = node.collect() else { continue }
            say("\(name): FAILED: \(node.name) \(end)\n\(try node.lastWords())")
            throw BenchError("\(node.name) \(end) while it was attacked by: \(name)")
        }
        let seconds = Double(Stage.loop.nanoseconds - began) / 1e9
        let above = try memory().peak - idleBytes
        let allowed = Self.memoryMax + outcome.connections * Self.memoryPerConnectionMax
        let answers = polite.map { $0.takeSlowest() }
        let slowest = answers.map(\.milliseconds).max() ?? 0
        let (pause, sync) = (pulse.takeLongest(), diskPulse.takeLongest())
        var faults = answers.compactMap(\.complaint)
        if !outcome.isAsExpected { faults.append("the attacker got something else") }
        if above > allowed { faults.append("more than \(megabytes(allowed)) MiB above idle") }
        if slowest > Self.answerMillisecondsMax + pause + sync {
            faults.append("a client waited too long")
        }
        if !faults.isEmpty { failures += 1 }
        say(
            "\(name): got \(outcome.got); \(megabytes(above)) MiB above idle; slowest answer "
                + "\(Int(slowest)) ms, own pause \(Int(pause)) ms, slowest sync \(Int(sync)) ms; "
                + "\(Int(seconds * 10) / 10) s; "
                + (faults.isEmpty ? "ok" : "FAILED: \(faults.joined(separator: ", "))"))
    }

    /// Reports the result of an attack that used nodes of its own.
    func addLine(_ line: String, _ isFailure: Bool) {
        if isFailure { failures += 1 }
        say(line)
    }

    // MARK: Connections

    /// Opens connections to the victim, `dialsAtOnce` at a time.
    func open(_ count: Int, to port: Port) async throws(BenchError) -> [Intruder] {
        let address = address(of: port)
        var intruders: [Intruder] = []
        while intruders.count < count {
            let some = min(Self.dialsAtOnce, count - intruders.count)
            intruders += try await dial(some, to: address)
        }
        return intruders
    }

    private func dial(
        _ count: Int, to address: SocketAddress
    ) async throws(BenchError) -> [Intruder] {
        let intruders = try await dialAnyhow(count, to: address)
        guard intruders.count == count else {
            throw BenchError("\(address) took \(intruders.count) of \(count) connections")
        }
        return intruders
    }

    /// Dials an address `count` times, and returns the connections that were established.
    func dialAnyhow(
        _ count: Int, to address: SocketAddress
    ) async throws(BenchError) -> [Intruder] {
        var answers: [Result<Connection, NetworkError>] = []
        await withCheckedContinuation { continuation in
            for _ in 0..<count {
                Connection.dial(address, on: Stage.loop, timeoutMilliseconds: 5_000) { result in
                    answers.append(result)
                    if answers.count == count { continuation.resume() }
                }
            }
        }
        var intruders: [Intruder] = []
        for case .success(let connection) in answers { intruders.append(Intruder(connection)) }
        return intruders
    }

    func openOne(to port: Port) async throws(BenchError) -> Intruder {
        try await dial(1, to: address(of: port))[0]
    }

    private func address(of port: Port) -> SocketAddress {
        switch port {
        case .admin: victim.admin
        case .gossip: victim.gossip
        case .http: victim.http
        }
    }

    /// Waits until the condition holds.
    ///
    /// - Returns: false if it did not within the time.
    func holds(
        within milliseconds: UInt64, _ condition: () -> Bool
    ) async -> Bool {
        let deadline = Stage.loop.nanoseconds + milliseconds * 1_000_000
        while !condition() {
            guard Stage.loop.nanoseconds < deadline else { return false }
            await Stage.pause(milliseconds: 10)
        }
        return true
    }

    /// Closes the connections and waits until the node has noticed.
    func leave(_ intruders: [Intruder]) async {
        for intruder in intruders { intruder.close() }
        _ = await holds(within: 2_000) { intruders.allSatisfy(\.isClosed) }
        await Stage.pause(milliseconds: 100)
    }

    func randomBytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            withUnsafeBytes(of: random.next()) { bytes.append(contentsOf: $0) }
        }
        return bytes
    }
}
