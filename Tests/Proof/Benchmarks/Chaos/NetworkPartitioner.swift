import LineClient
import LineProtocol
import NetworkIO

/// The cuts and heals of connections between the nodes of a run, by `BLOCK` and `UNBLOCK`.
@Stage final class NetworkPartitioner {
    private let cluster: LocalCluster
    private let load: ChaosLoad
    private(set) var lastHealed: UInt64 = 0

    init(_ cluster: LocalCluster, _ load: ChaosLoad) {
        self.cluster = cluster
        self.load = load
    }

    // MARK: Under load, without waiting

    /// Sends the blocks of a cut to both ends.
    ///
    /// A node that restarts before the heal has forgotten its own blocks, but not those of the
    /// others.
    func cut(_ cut: ChaosPlan.Cut) {
        for (number, name, direction) in blocks(of: cut) {
            sendLine(number, "BLOCK \(name) \(direction)")
        }
    }

    func heal() {
        for number in members { sendLine(number, "UNBLOCK *") }
        lastHealed = Stage.loop.nanoseconds
    }

    /// Sends one line to one node; a missing answer of a node that is down or stopped is no
    /// finding.
    private func sendLine(_ number: Int, _ line: String) {
        let (name, load) = (cluster.nodes[number].name, load)
        ask(number, line) { answer in
            switch answer {
            case .success(let reply) where reply.isOK: break
            // A node that was emptied knows no members yet.
            case .success(let reply) where reply.error?.code == 404: break
            case .failure where load.excused.contains(number): break
            case .success(let reply):
                load.report("\(name) answers '\(line)' with \(reply.statusText)")
            case .failure(let failure): load.report("\(name), told '\(line)', \(failure)")
            }
        }
    }

    /// Sends one line to one node on a connection of its own; fails at once if no process runs.
    func ask(
        _ number: Int, _ line: String, then: @escaping (LineConnection.Answer) -> Void
    ) {
        let node = cluster.nodes[number]
        guard node.isRunning else { return then(.failure(.closed)) }
        LineConnection.dial(node.admin, on: Stage.loop) { result in
            switch result {
            case .failure(let failure): then(.failure(failure))
            case .success(let connection):
                connection.send(line) { answer in
                    connection.close()
                    then(answer)
                }
            }
        }
    }

    private var members: [Int] { cluster.nodes.indices.filter { cluster.nodes[$0].isMember } }

    /// Returns the blocks of a cut: at both ends for both directions, at the deaf side for one.
    private func blocks(of cut: ChaosPlan.Cut) -> [(node: Int, name: String, direction: String)] {
        let others = members.filter { !cut.side.contains($0) }
        return cut.side.filter { members.contains($0) }.flatMap { near in
            others.flatMap { far in
                let (nearName, farName) = (cluster.nodes[near].name, cluster.nodes[far].name)
                return cut.isOneWay
                    ? [(near, farName, "in")]
                    : [(near, farName, "both"), (far, nearName, "both")]
            }
        }
    }

    // MARK: With all nodes up

    /// Cuts, and returns when every node has done so.
    func cutAll(_ cut: ChaosPlan.Cut) async throws(BenchError) {
        for (number, name, direction) in blocks(of: cut) {
            try await command(cluster.nodes[number], "BLOCK \(name) \(direction)")
        }
    }

    /// Heals every cut, and returns when every node has done so.
    ///
    /// - Parameter leaving: a node that may end at any moment, and gets no command.
    func healAll(but leaving: Int? = nil) async throws(BenchError) {
        for number in members where number != leaving {
            try await command(cluster.nodes[number], "UNBLOCK *")
        }
        lastHealed = Stage.loop.nanoseconds
    }

    private func command(_ node: LocalNode, _ line: String) async throws(BenchError) {
        let reply = try await cluster.ask(node, line)
        guard reply.isOK else {
            throw BenchError("\(node.name) answers '\(line)' with \(reply.statusText)")
        }
    }
}
