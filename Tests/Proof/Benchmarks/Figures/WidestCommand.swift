import LineClient
import NetworkIO

/// `grapevine-bench widest`: requests for the largest answers that the limits allow, and how long
/// another client of the same node waits meanwhile.
struct WidestCommand: Sendable {
    static let usage = """
        usage: grapevine-bench widest [--runs 3] [--grapevine PATH]

        Starts a node, makes one user's conversations, messages and lists as large as the limits
        allow, asks for them over lines and over HTTP, and prints for each request, as the worst of
        the runs, how long a second client of the node, which sends a PING each millisecond, waited
        for an answer; the time of the answer itself; and its size. No wait should be longer than
        100 ms: such a line is marked, and the exit status is 1. The clients run on this machine.
          --runs       how often each request is made
          --grapevine  the binary; without it the one beside this

        """

    /// The wait from which on a line is marked, in milliseconds.
    private static let waitMax = 100.0

    let runs: Int
    let program: String

    init(_ words: [String]) throws(BenchError) {
        var arguments = try Arguments(words, flags: [])
        program = try arguments.take("--grapevine") { $0 } ?? Bench.neighbour
        runs = try arguments.removeNumber("--runs", in: 1...99) ?? 3
        try arguments.finish()
    }

    @Stage func run() async throws(BenchError) -> Int32 {
        let cluster = try LocalCluster(
            of: 1, program: program, options: ["--log", "error"])
        defer { cluster.shutDown(keepingFolder: false) }
        try await cluster.start()
        let state = WidestState(on: cluster)
        try await state.write()
        let pulse = try PingPulse(at: cluster.nodes[0].admin)
        defer { pulse.stop() }
        say("worst wait  answer      bytes  request")
        var waits: [Double] = []
        for line in WidestState.lines {
            let wait = try await measure(line, pulse) { () async throws(BenchError) in
                try await state.ask(line)
            }
            waits.append(wait)
        }
        for path in WidestState.paths {
            let wait = try await measure("GET /v1/\(path)", pulse) {
                () async throws(BenchError) in
                try state.get(path)
            }
            waits.append(wait)
        }
        return waits.contains { $0 > Self.waitMax } ? 1 : 0
    }

    /// - Parameter request: makes the request, and returns the size of the answer in bytes.
    /// - Returns: how long the second client waited, in milliseconds.
    @Stage private func measure(
        _ name: String, _ pulse: PingPulse,
        _ request: @Stage () async throws(BenchError) -> Int
    ) async throws(BenchError) -> Double {
        var (wait, answer, bytes) = (0.0, 0.0, 0)
        for _ in 0..<runs {
            // What came before has ended.
            await Stage.pause(milliseconds: 20)
            _ = try pulse.takeLongest()
            let began = Stage.loop.nanoseconds
            bytes = try await request()
            answer = max(answer, Double(Stage.loop.nanoseconds - began) / 1e6)
            await Stage.pause(milliseconds: 20)
            wait = max(wait, try pulse.takeLongest())
        }
        let columns = [
            padded("\(decimal(wait, digits: 1)) ms", to: 10),
            padded("\(decimal(answer, digits: 1)) ms", to: 10),
            padded("\(bytes)", to: 9),
        ]
        let mark = wait > Self.waitMax ? "  !" : ""
        say(columns.joined(separator: " ") + "  \(name.prefix(60))" + mark)
        return wait
    }

    private func padded(_ text: String, to width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.utf8.count)) + text
    }
}
