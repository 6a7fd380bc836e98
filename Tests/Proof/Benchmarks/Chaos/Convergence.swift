import LineClient
import LineProtocol
import NetworkIO

/// The time in which nodes are in sync after faults, compared with what is promised.
@Stage final class Convergence {
    /// The limit of the time, in seconds, in which every shard is on its owners and every node
    /// reports that it is in sync; nodes confirm each other once a second, and a confirmation is
    /// valid for two.
    private static let placesSecondsMax: UInt64 = 10

    /// The limit of the time until every node's `MEMBERS` shows a heal, in seconds.
    private static let aliveSecondsMax = 1.0

    private let cluster: LocalCluster
    private let load: ChaosLoad

    init(_ cluster: LocalCluster, _ load: ChaosLoad) {
        self.cluster = cluster
        self.load = load
    }

    /// Waits until every holder of a shard prints the same `DIGEST` line for it, every shard is on
    /// its owners, and every node reports that it is in sync.
    ///
    /// - Parameter began: the time of the last fault and the last write.
    func await(since began: UInt64) async throws(BenchError) {
        var lines: [LineConnection] = []
        defer { for line in lines { line.close() } }
        for node in cluster.members { lines.append(try await cluster.connect(node)) }
        let lacking = try await self.lacking(lines)
        let most = lacking.max() ?? 0
        // One second for up to 10,000 lacking changes, and another second for each further 10,000.
        let allowed = max(1, Double(most) / 10_000)
        while true {
            var digests = Digests()
            for line in lines { digests.add(try await cluster.ask("DIGEST", on: line)) }
            let seconds = Double(Stage.loop.nanoseconds - began) / 1e9
            if digests.isCaughtUp {
                let counts = lacking.map(String.init).joined(separator: " ")
                say(
                    "level \(decimal(seconds, digits: 3)) s after the last fault and write "
                        + "(allowed \(decimal(allowed, digits: 2)) s); nodes lacked \(counts)")
                if seconds > allowed { load.report("the nodes took too long to be level") }
                break
            }
            guard seconds < allowed + 20 else {
                throw BenchError("the nodes are not level after \(decimal(seconds, digits: 1)) s")
            }
            await Stage.pause(milliseconds: 2)
        }
        try await awaitPlaces()
    }

    /// Waits until every node considers all others alive, after a heal at this time.
    func awaitAlive(since healed: UInt64) async throws(BenchError) {
        let all = "\(cluster.members.count)/\(cluster.members.count)"
        for node in cluster.members {
            while try await cluster.ask(node, "STATUS").data("NODE").first?["members"] != all {
                guard Stage.loop.nanoseconds < healed + Self.placesSecondsMax * 1_000_000_000 else {
                    throw BenchError(
                        "\(node.name) does not see all alive \(Self.placesSecondsMax) s "
                            + "after the heal")
                }
                await Stage.pause(milliseconds: 2)
            }
        }
        let seconds = Double(Stage.loop.nanoseconds - healed) / 1e9
        say("all see all alive \(decimal(seconds, digits: 3)) s after the heal")
        if seconds > Self.aliveSecondsMax { load.report("they took too long to see each other") }
    }

    /// Waits until every shard is ready on each of its owners and nowhere else, and every node
    /// considers all others alive and reports that it is in sync.
    func awaitPlaces() async throws(BenchError) {
        let deadline = Stage.loop.nanoseconds + Self.placesSecondsMax * 1_000_000_000
        while let finding = try await misplaced() {
            guard Stage.loop.nanoseconds < deadline else {
                throw BenchError("after \(Self.placesSecondsMax) s in peace \(finding)")
            }
            await Stage.pause(milliseconds: 20)
        }
    }

    private func misplaced() async throws(BenchError) -> String? {
        var placements = Placements()
        for node in cluster.members {
            placements.add(try await cluster.ask(node, "SHARDS"), of: node.name)
            let status = try await cluster.ask(node, "STATUS").data("NODE").first
            guard status?.isTrue("converged") == true else {
                return "\(node.name) does not say converged=true"
            }
            let count = cluster.members.count
            guard status?["members"] == "\(count)/\(count)" else {
                return "\(node.name) sees members=\(status?["members"] ?? "none") of \(count)"
            }
        }
        return placements.finding
    }

    /// Returns per node the number of changes that it lacks of those that all nodes hold together.
    private func lacking(_ lines: [LineConnection]) async throws(BenchError) -> [Int] {
        var held: [HeldSeqs] = []
        for line in lines {
            let shards = try await cluster.ask("DIGEST", on: line).data("DIGEST").compactMap {
                $0["shard"].flatMap { Int($0) }
            }
            let replies = try await cluster.askAll(shards.map { "VECTOR \($0)" }, on: line)
            var seqs = HeldSeqs()
            for (shard, reply) in zip(shards, replies) {
                seqs.hold(shard)
                for fields in reply.data("VECTOR") where !seqs.add(fields, of: shard) {
                    throw BenchError("a VECTOR line cannot be read")
                }
            }
            held.append(seqs)
        }
        return HeldSeqs.lacking(held)
    }
}
