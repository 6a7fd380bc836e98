import LineClient
import LineProtocol
import NetworkIO

/// A partition of a run's nodes in which both sides change the same things; after the heal, every
/// node must show the expected result.
@Stage final class ChaosConflicts {
    /// The number of names that are tried for conversations with an owner on both sides.
    private static let namesMax = 200
    /// The pause that gives the second side's changes greater times, in milliseconds.
    private static let gapMilliseconds: UInt64 = 20

    private let cluster: LocalCluster
    private let load: ChaosLoad
    private let partitioner: NetworkPartitioner
    private let level: Convergence
    private let command: ChaosCommand

    /// A node, with the connection to it.
    private struct Place {
        let node: LocalNode
        let line: LineConnection
    }

    init(
        _ cluster: LocalCluster, _ load: ChaosLoad, _ partitioner: NetworkPartitioner,
        _ level: Convergence,
        _ command: ChaosCommand
    ) {
        self.cluster = cluster
        self.load = load
        self.partitioner = partitioner
        self.level = level
        self.command = command
    }

    func run() async throws(BenchError) {
        let members = cluster.nodes.indices.filter { cluster.nodes[$0].isMember }
        let half = members.count / 2
        let near = Array(members[..<half])
        let names = try await names(across: near.map { cluster.nodes[$0] })
        guard names.count == 4 else {
            return say("no conflicts: no conversation has an owner on both sides of a cut")
        }
        var places: [Place] = []
        defer { for place in places { place.line.close() } }
        for number in members {
            let node = cluster.nodes[number]
            places.append(Place(node: node, line: try await cluster.connect(node)))
            _ = try await cluster.ask("SET ack=local", on: places[places.count - 1].line)
        }
        // In one turn the smaller side changes first, in the other turn the larger one.
        let sides = [Array(places[..<half]), Array(places[half...])]
        let turns = [
            Conflict.all(in: names[0], making: names[1]),
            Conflict.all(in: names[2], making: names[3]),
        ]
        try await prepare(Array(zip([names[0], names[2]], turns)), on: places[0])
        try await partitioner.cutAll(ChaosPlan.Cut(side: near, isOneWay: false))
        let began = Stage.loop.nanoseconds
        try await meet(turns, sides)
        let rest = command.cutSeconds * 1_000 - Int((Stage.loop.nanoseconds - began) / 1_000_000)
        if rest > 0 { await Stage.pause(milliseconds: UInt64(rest)) }
        try await partitioner.healAll()
        try await level.awaitAlive(since: partitioner.lastHealed)
        try await level.await(since: partitioner.lastHealed)
        try await ask(turns.flatMap(\.self))
    }

    /// Returns names of conversations that have an owner on this side and one on the other.
    private func names(across side: [LocalNode]) async throws(BenchError) -> [String] {
        let near = Set(side.map(\.name))
        var names: [String] = []
        for number in 0..<Self.namesMax where names.count < 4 {
            let name = "cut\(number)"
            let reply = try await cluster.ask(side[0], "OWNERS \(name)")
            let owners = Set(reply.data("SHARD").first?.set("owners") ?? [])
            guard !owners.isDisjoint(with: near), !owners.isSubset(of: near) else { continue }
            names.append(name)
        }
        return names
    }

    private func prepare(
        _ turns: [(conversation: String, conflicts: [Conflict])], on place: Place
    ) async throws(BenchError) {
        for (conversation, conflicts) in turns {
            let users = Conflict.users.joined(separator: ",")
            let requests = ["CREATE \(conversation) \(users)"] + conflicts.flatMap(\.before)
            report(
                try await cluster.askAll(requests, on: place.line), to: requests,
                on: place.node.name)
        }
        try await cluster.awaitCaughtUp()
    }

    private func meet(_ turns: [[Conflict]], _ sides: [[Place]]) async throws(BenchError) {
        for (turn, conflicts) in turns.enumerated() {
            try await change(conflicts.map(\.earlier), on: sides[turn % 2])
            await Stage.pause(milliseconds: Self.gapMilliseconds)
            try await change(conflicts.map(\.later), on: sides[(turn + 1) % 2])
            await Stage.pause(milliseconds: Self.gapMilliseconds)
        }
    }

    /// Spreads the requests over all nodes of a side, owners or not.
    private func change(_ requests: [String], on side: [Place]) async throws(BenchError) {
        for (number, place) in side.enumerated() {
            let share = requests.indices.filter { $0 % side.count == number }.map { requests[$0] }
            report(try await cluster.askAll(share, on: place.line), to: share, on: place.node.name)
        }
    }

    private func report(_ replies: [LineReply], to requests: [String], on node: String) {
        for (request, reply) in zip(requests, replies) where !reply.isOK {
            load.report(
                "\(node), asked for a conflict, answers '\(request)' with \(reply.statusText)")
        }
    }

    private func ask(_ conflicts: [Conflict]) async throws(BenchError) {
        var first: [LineReply] = []
        let questions = conflicts.flatMap(\.questions)
        let names = conflicts.flatMap { conflict in conflict.questions.map { _ in conflict.name } }
        for node in cluster.members {
            let line = try await cluster.connect(node)
            defer { line.close() }
            let replies = try await cluster.askAll(questions.map(\.line), on: line)
            if first.isEmpty { first = replies }
            for (index, reply) in replies.enumerated() {
                let place = "\(names[index]): \(node.name), asked '\(questions[index].line)',"
                for outcome in questions[index].outcomes {
                    if let finding = outcome.finding(in: reply) {
                        load.report("\(place) \(finding)")
                    }
                }
                if reply != first[index] { load.report("\(place) differs from the first node") }
            }
        }
        say(
            "\(conflicts.count) conflicts of two sides, cut off for \(command.cutSeconds) s and "
                + "asked about on \(cluster.members.count) nodes")
    }
}
