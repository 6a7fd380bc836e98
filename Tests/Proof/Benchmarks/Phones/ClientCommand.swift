import Glibc
import LineClient

/// `grapevine-bench client`: what an app on the library for phones has to wait for.
struct ClientCommand: Sendable {
    static let usage = """
        usage: grapevine-bench client [--chats N] [--messages N] [--grapevine PATH] [--app PATH]

        Starts three nodes of its own, and a client that follows while others send; then measures
        how long the start of the app takes, 10,000 events that it has missed, and a message of the
        user until it is shown, alone and behind 200 that wait for the network. Prints one line for
        each, with its aim.
          --chats      conversations of the user (default: 200)
          --messages   messages in all of them together (default: 100,000)
          --grapevine  the binary of the nodes; without it the one beside this
          --app        the program grapevine-figures; without it the one beside this

        """

    /// The messages that are sent while the client does not run.
    static let missedCount = 10_000
    private static let tapCount = 200
    private static let startCount = 5

    private let chats: Int
    private let messages: Int
    private let program: String
    private let app: String

    init(_ words: [String]) throws(BenchError) {
        var arguments = try Arguments(words, flags: [])
        chats = try arguments.removeNumber("--chats", in: 1...10_000) ?? 200
        messages = try arguments.removeNumber("--messages", in: 1...10_000_000) ?? 100_000
        program = try arguments.take("--grapevine") { $0 } ?? Bench.neighbour
        app = try arguments.take("--app") { $0 } ?? Bench.neighbour(named: "grapevine-figures")
        try arguments.finish()
    }

    @Stage func run() async throws(BenchError) -> Int32 {
        let cluster = try LocalCluster(of: 3, program: program, hasAccounts: true, options: [])
        var isKept = true
        defer { cluster.shutDown(keepingFolder: isKept) }
        try await cluster.start()
        let phone = Phone(app, at: cluster)
        let user = try await phone.ask("sign-up")
        let empty = try await phone.start()
        let load = PhoneLoad(of: user, chats: chats, on: cluster)
        try await load.createChats()

        let follower = try phone.launch("follow", ["\(chats)", "first"])
        try await phone.wait(for: "online", of: follower)
        try await load.send(messages, last: "first")
        _ = try await phone.lastLine(of: follower)

        var starts: [Double] = []
        var memory = 0.0
        for _ in 0..<Self.startCount {
            let start = try await phone.start()
            starts.append(start.milliseconds)
            memory = start.bytes
        }
        tell("start of \(chats) chats, \(messages) messages", Spread(starts).median, "ms", "<= 50")
        tell("memory above an empty store", (memory - empty.bytes) / 1e6, "MB", "<= 10")

        try await load.send(Self.missedCount, last: "second")
        let missed = try await phone.ask("follow", ["\(chats)", "second"])
        tell("\(Self.missedCount) missed events, in view", number(missed) / 1e3, "s", "<= 1")

        for waiting in [0, 200] {
            let words = ["c0", "\(Self.tapCount)", "\(waiting)"]
            let times = try await phone.ask("taps", words).split(separator: " ")
            let behind = waiting > 0 ? " behind \(waiting) that wait" : ""
            tell("tap to snapshot\(behind), p50", number(times.first ?? ""), "ms", "<= 2")
            tell("tap to snapshot\(behind), p99", number(times.last ?? ""), "ms", "<= 16")
        }
        isKept = false
        return 0
    }

    private func number(_ text: some StringProtocol) -> Double { Double(text) ?? .nan }

    private func tell(_ name: String, _ value: Double, _ unit: String, _ aim: String) {
        let padded = name + String(repeating: " ", count: max(1, 48 - name.count))
        say(padded + decimal(value, digits: 2) + " " + unit + "  aim " + aim)
    }
}
