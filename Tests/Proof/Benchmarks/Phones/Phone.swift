import Glibc
import LineClient
import NetworkIO

/// A device whose app is `grapevine-figures`, started for one figure after the other.
@Stage struct Phone {
    /// The start of an app: the milliseconds until it shows its list, and the bytes that it takes
    /// then.
    struct Start {
        let milliseconds: Double
        let bytes: Double
    }

    /// An app that runs.
    struct Launch {
        let process: ChildProcess
        let output: String
    }

    private static let secondsMax: UInt64 = 120

    private let app: String
    private let folder: String
    private let nodes: String

    init(_ app: String, at cluster: LocalCluster) {
        self.app = app
        folder = cluster.folder + "/phone"
        nodes = cluster.members.map { "http://\($0.http)" }.joined(separator: ",")
    }

    func launch(_ figure: String, _ words: [String] = []) throws(BenchError) -> Launch {
        guard access(app, X_OK) == 0 else {
            throw BenchError("\(app) is missing: swift build -c release, or --app PATH")
        }
        let output = folder + "-\(figure).out"
        let process = try ChildProcess(
            app, [figure, folder, nodes] + words, output: output, errors: output)
        return Launch(process: process, output: output)
    }

    /// Runs the app for a figure, and returns what it prints last.
    func ask(_ figure: String, _ words: [String] = []) async throws(BenchError) -> String {
        try await lastLine(of: try launch(figure, words))
    }

    func start() async throws(BenchError) -> Start {
        let words = try await ask("start").split(separator: " ").compactMap { Double($0) }
        guard words.count > 2 else { throw BenchError("\(app) does not tell how it has started") }
        return Start(milliseconds: words[0], bytes: words[2])
    }

    /// Waits until an app that runs prints a line.
    func wait(for line: String, of launch: Launch) async throws(BenchError) {
        try await pause(until: line) { () throws(BenchError) in
            try lines(of: launch).contains(line)
        }
    }

    /// Waits until an app has ended, and returns its last line.
    func lastLine(of launch: Launch) async throws(BenchError) -> String {
        var end: ChildProcess.End?
        try await pause(until: "its end") {
            end = launch.process.collect()
            return end != nil
        }
        let last = try lines(of: launch).last ?? ""
        guard end == .exit(status: 0) else { throw BenchError("\(app) failed: \(last)") }
        return last
    }

    private func lines(of launch: Launch) throws(BenchError) -> [String] {
        let text = String(decoding: try Files.read(launch.output), as: UTF8.self)
        return text.split(separator: "\n").map(String.init)
    }

    private func pause(
        until what: String, _ isReached: () throws(BenchError) -> Bool
    ) async throws(BenchError) {
        let deadline = Stage.loop.nanoseconds + Self.secondsMax * 1_000_000_000
        while try !isReached() {
            guard Stage.loop.nanoseconds < deadline else {
                throw BenchError("\(app) has not come to \(what) in \(Self.secondsMax) s")
            }
            await Stage.pause(milliseconds: 2)
        }
    }
}

/// The messages of another user to the one on the phone.
@Stage struct PhoneLoad {
    private let user: String
    private let chats: Int
    private let cluster: LocalCluster

    init(of user: String, chats: Int, on cluster: LocalCluster) {
        self.user = user
        self.chats = chats
        self.cluster = cluster
    }

    func createChats() async throws(BenchError) {
        try await ask((0..<chats).map { "CREATE c\($0) \(user),bob title=\"Chat \($0)\"" })
    }

    /// Sends so many messages to all chats in turn.
    ///
    /// - Parameter last: the text of the last message of each chat.
    func send(_ count: Int, last: String) async throws(BenchError) {
        let text = String(repeating: "x", count: 100)
        for start in stride(from: 0, to: count - chats, by: 1_000) {
            let numbers = start..<min(start + 1_000, count - chats)
            try await ask(numbers.map { "SEND c\($0 % chats) bob \(text)" })
        }
        try await ask((0..<chats).map { "SEND c\($0) bob \(last)" })
    }

    private func ask(_ lines: [String]) async throws(BenchError) {
        let connection = try await cluster.connect(cluster.nodes[0])
        defer { connection.close() }
        for reply in try await cluster.askAll(lines, on: connection) where !reply.isOK {
            throw BenchError("a node answered \(reply.statusText)")
        }
    }
}
