import NetworkIO

/// `grapevine-bench sends` and `first`: the rate of sends and their latency.
struct SendsCommand: Sendable {
    static let usage = """
        usage: grapevine-bench sends [--nodes 1] [--connections 50] [--inflight 16] [--seconds 5]
               [--runs 3] [--ack local|majority|all] [--with-ids] [--one-client]
               [--way lines|http|socket]
               [--key-file FILE] [--grapevine PATH]
               grapevine-bench first [--seconds 5] [--runs 3] [--grapevine PATH]

        Starts nodes of its own, sends texts of 100 bytes into 100 conversations, and prints the
        median of the runs, each on a fresh cluster. The load runs on the same machine.
          --nodes        how many nodes; the connections are spread over them
          --connections  how many connections, each with --inflight sends on their way
          --seconds      how long each run measures, after one second of the same load
          --ack          what SET ack= says on each connection; without it the node decides
          --with-ids     the client names the messages
          --way          over the line protocol, HTTP or a WebSocket
          --one-client   one connection, one send at a time
          --key-file     has the nodes prove this key to each other, and encrypt
          --grapevine    the binary; without it the one beside this
        first: one node and five nodes under the full load, then one client on each.

        """

    var nodes = 1
    var shape = SendLoad.Shape()
    var seconds = 5
    var runs = 3
    var keyFile: String?
    var program: String

    @Stage func run() async throws(BenchError) {
        var runs: [SendFigures] = []
        var disks: [DiskSpeed] = []
        for _ in 0..<self.runs {
            let (run, disk) = try await runOnce()
            runs.append(run)
            disks.append(disk)
        }
        let cluster = nodes == 1 ? "1 node" : "\(nodes) nodes"
        let load =
            shape.connections == 1 && shape.inFlight == 1
            ? "one client, one send at a time"
            : "\(shape.connections) connections, \(shape.inFlight) sends in flight on each"
        let ack = shape.ackLevel.map { ", ack=\($0)" } ?? ""
        let ids = shape.isWithIDs ? ", with ids" : ""
        let way = shape.way == .lines ? "" : ", way=\(shape.way.rawValue)"
        say("\(cluster), \(load)\(way)\(ack)\(ids)\(keyFile == nil ? "" : ", encrypted")")
        say("  sends/s     \(Spread(runs.map(\.sendsPerSecond)).text(digits: 0))")
        say("  p50 ms      \(Spread(runs.map(\.p50)).text(digits: 2))")
        say("  p99 ms      \(Spread(runs.map(\.p99)).text(digits: 2))")
        let p50 = disks.map { Double($0.latencies.percentile(50)) / 1e6 }
        say("  fdatasync/s \(Spread(disks.map(\.syncsPerSecond)).text(digits: 0))")
        say("  its p50 ms  \(Spread(p50).text(digits: 2))")
    }

    @Stage private func runOnce() async throws(BenchError) -> (SendFigures, DiskSpeed) {
        let cluster = try LocalCluster(
            of: nodes, program: program,
            options: ["--log", "error"] + (keyFile.map { ["--key-file", $0] } ?? []))
        defer { cluster.shutDown(keepingFolder: false) }
        let disk = try DiskSpeed(in: cluster.folder) { Stage.loop.nanoseconds }
        try await cluster.start()
        try await cluster.createConversations(shape.conversations)
        let run = SendRun(shape, on: cluster.nodes)
        defer { run.stop() }
        return (try await run.measure(seconds: seconds), disk)
    }
}

extension SendsCommand {
    init(_ words: [String]) throws(BenchError) {
        var arguments = try Arguments(words, flags: ["--with-ids", "--one-client"])
        program = try arguments.take("--grapevine") { $0 } ?? Bench.neighbour
        keyFile = try arguments.take("--key-file") { $0.isEmpty ? nil : $0 }
        nodes = try arguments.removeNumber("--nodes", in: 1...9) ?? nodes
        seconds = try arguments.removeNumber("--seconds", in: 1...600) ?? seconds
        runs = try arguments.removeNumber("--runs", in: 1...99) ?? runs
        shape.isWithIDs = arguments.remove(flag: "--with-ids")
        shape.way = try arguments.take("--way") { SendWay(rawValue: $0) } ?? .lines
        shape.ackLevel = try arguments.take("--ack") {
            ["local", "majority", "all"].contains($0) ? $0 : nil
        }
        shape.connections =
            try arguments.removeNumber("--connections", in: 1...5_000) ?? shape.connections
        shape.inFlight = try arguments.removeNumber("--inflight", in: 1...1_000) ?? shape.inFlight
        if arguments.remove(flag: "--one-client") {
            shape.connections = 1
            shape.inFlight = 1
        }
        try arguments.finish()
    }

    /// Returns the commands of `first`: the figures with which a change is compared first.
    static func first(_ words: [String]) throws(BenchError) -> [SendsCommand] {
        var arguments = try Arguments(words, flags: [])
        var command = SendsCommand(
            program: try arguments.take("--grapevine") { $0 } ?? Bench.neighbour)
        command.seconds = try arguments.removeNumber("--seconds", in: 1...600) ?? command.seconds
        command.runs = try arguments.removeNumber("--runs", in: 1...99) ?? command.runs
        try arguments.finish()
        var commands: [SendsCommand] = []
        for (connections, inFlight) in [(50, 16), (1, 1)] {
            for nodes in [1, 5] {
                command.nodes = nodes
                command.shape.connections = connections
                command.shape.inFlight = inFlight
                commands.append(command)
            }
        }
        return commands
    }
}
