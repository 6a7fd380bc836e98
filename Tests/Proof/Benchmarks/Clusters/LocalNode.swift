import Glibc
import NetworkIO

/// One node of a cluster that a run starts on this machine: its name, its ports, its folder, and
/// its process if it runs.
final class LocalNode {
    let name: String
    let gossip: SocketAddress
    let admin: SocketAddress
    let http: SocketAddress
    let data: String
    /// The file of its standard error, over all its processes.
    let log: String

    /// Whether it is a member: it was started with the cluster or has joined, and has not left.
    var isMember = false
    private(set) var process: ChildProcess?
    private let program: String
    private let output: String
    /// The file of the keys of access tokens; nil for a node with accounts.
    private let keySet: String?

    init(
        _ name: String, at ports: inout FreePorts, program: String, folder: String, logs: String,
        hasAccounts: Bool
    ) throws(BenchError) {
        self.name = name
        self.program = program
        gossip = try ports.next()
        admin = try ports.next()
        http = try ports.next()
        keySet = hasAccounts ? nil : LocalNode.keySet(in: folder)
        data = "\(folder)/\(name)"
        output = "\(folder)/\(name).out"
        log = "\(logs)/\(name).log"
    }

    /// Returns the file of the keys of access tokens, which the nodes of a cluster share.
    static func keySet(in folder: String) -> String { "\(folder)/keys.json" }

    var isRunning: Bool { process != nil }

    func launch(joining others: [LocalNode], options: [String]) throws(BenchError) {
        precondition(process == nil, "a node runs once")
        isMember = true
        let join = others.map(\.gossip.description).joined(separator: ",")
        process = try ChildProcess(
            program,
            [
                "node", "--name", name, "--data", data, "--gossip", gossip.description,
                "--admin", admin.description, "--http", http.description, "--user-rate", "0",
                "--address-rate", "0",
            ] + (keySet.map { ["--jwt-key", $0] } ?? []) + (join.isEmpty ? [] : ["--join", join])
                + LocalNode.measurable + options,
            output: output, errors: log)
    }

    /// Without core dumps enabled, only root may read how much memory a process has.
    private static var measurable: [String] { geteuid() == 0 ? [] : ["--core-dumps"] }

    /// Whether the node has printed its ready line.
    func isReady() throws(BenchError) -> Bool {
        try Files.read(output).starts(with: "ready name=\(name) ".utf8)
    }

    /// Returns once how the process ended; nil while it runs, and if none does.
    func collect() -> ChildProcess.End? {
        guard let end = process?.collect() else { return nil }
        process = nil
        return end
    }

    /// Kills the process and waits until it is gone.
    func kill() {
        guard let process else { return }
        process.send(SIGKILL)
        // A killed process ends in a moment, even a stopped one.
        while process.collect() == nil { usleep(500) }
        self.process = nil
    }

    /// Returns the last eight lines of its standard error.
    func lastWords() throws(BenchError) -> String {
        let lines = try Files.read(log).split(separator: UInt8(ascii: "\n")).suffix(8)
        return lines.map { "    \(String(decoding: $0, as: UTF8.self))" }.joined(separator: "\n")
    }
}
