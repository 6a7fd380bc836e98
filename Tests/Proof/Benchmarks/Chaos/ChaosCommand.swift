import Glibc

/// `grapevine-bench chaos`: whether real nodes keep their promises while they are killed.
struct ChaosCommand: Sendable {
    static let usage = """
        usage: grapevine-bench chaos [--nodes 5] [--replicas all] [--seconds 30] [--seed N]
               [--rate 2000] [--cut 2] [--log DIR] [--key-file FILE] [--grapevine PATH]

        Starts nodes of its own, sends, edits, deletes, pins, archives, reads and invites on all of
        them, and meanwhile kills and restarts them, stops them for up to 3 s, cuts cables both ways
        and one way, removes the disk of one, kills all at once, lets one more join and one leave.
        Then waits until they are level, has two sides of a cut change the same things, and reads
        everything from every node: it looks for what was acknowledged and is gone, what was deleted
        and shows, what a conflict should have become, and where nodes differ.
        Exit status 0 where there is nothing of it, else 1; then the folder with data stays.
          --replicas   how many nodes hold each conversation, or all
          --seed       the plan's, printed first: the same seed, the same faults at the same times
          --rate       how many requests a second are begun, as far as the nodes keep up
          --cut        for how many seconds the two sides are cut off after the load
          --log        where the nodes' logs go; made where it is missing
          --key-file   has the nodes prove this key to each other, and encrypt
          --grapevine  the binary; without it the one beside this

        """

    let plan: ChaosPlan
    let replicas: String
    let rate: Int
    let cutSeconds: Int
    let logs: String?
    let keyFile: String?
    let program: String

    init(_ words: [String]) throws(BenchError) {
        var arguments = try Arguments(words, flags: [])
        program = try arguments.take("--grapevine") { $0 } ?? Bench.neighbour
        logs = try arguments.take("--log") { $0.isEmpty ? nil : $0 }
        keyFile = try arguments.take("--key-file") { $0.isEmpty ? nil : $0 }
        rate = try arguments.removeNumber("--rate", in: 1...100_000) ?? 2_000
        cutSeconds = try arguments.removeNumber("--cut", in: 1...600) ?? 2
        replicas =
            try arguments.take("--replicas") { text in
                text == "all" ? text : Int(text).flatMap { (1...9).contains($0) ? text : nil }
            } ?? "all"
        plan = ChaosPlan(
            seed: try arguments.take("--seed") { UInt64($0) } ?? UInt64.random(in: 0..<1_000_000),
            nodes: try arguments.removeNumber("--nodes", in: 1...9) ?? 5,
            seconds: try arguments.removeNumber("--seconds", in: ChaosPlan.secondsMin...3_600) ?? 30
        )
        try arguments.finish()
    }

    /// The command line that repeats this plan.
    var rerun: String {
        "grapevine-bench chaos --nodes \(plan.nodes) --replicas \(replicas) "
            + "--seconds \(plan.seconds) --seed \(plan.seed) --rate \(rate) --cut \(cutSeconds)"
            + (keyFile.map { " --key-file \($0)" } ?? "")
    }

    /// Whether each of the first nodes holds every shard, even after another has joined.
    var ownsEverything: Bool { replicas == "all" }

    @Stage func run() async throws(BenchError) -> Int32 {
        say("\(rerun)\n\(plan.text)")
        return try await ChaosRun(self).run() ? 0 : 1
    }
}
