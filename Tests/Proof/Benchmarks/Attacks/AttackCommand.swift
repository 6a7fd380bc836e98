import Glibc

/// `grapevine-bench attack`: the effect of bad input on both ports on clients that send none.
struct AttackCommand: Sendable {
    static let usage = """
        usage: grapevine-bench attack [--only WORD] [--long] [--seed N] [--log DIR]
               [--grapevine PATH]

        Starts nodes of its own with a client on each that keeps to the rules, and meanwhile does
        to their three ports what an attacker or a broken program does. For each attack it prints
        what the attacker got, the most memory that the node took beyond what it has when idle, and
        the slowest answer to the others. Exit status 0 where every node bore everything, else 1.
          --only       the attacks that have this word in their name
          --long       more of everything, minutes instead of seconds
          --seed       of the random bytes, printed first
          --log        where the nodes' logs go; made where it is missing
          --grapevine  the binary; without it the one beside this

        """

    let only: String?
    let isLong: Bool
    let seed: UInt64
    let logs: String?
    let program: String

    init(_ words: [String]) throws(BenchError) {
        var arguments = try Arguments(words, flags: ["--long"])
        program = try arguments.take("--grapevine") { $0 } ?? Bench.neighbour
        logs = try arguments.take("--log") { $0.isEmpty ? nil : $0 }
        only = try arguments.take("--only") { $0.isEmpty ? nil : $0 }
        isLong = arguments.remove(flag: "--long")
        seed = try arguments.take("--seed") { UInt64($0) } ?? UInt64.random(in: 0..<1_000_000)
        try arguments.finish()
    }

    func wants(_ name: String) -> Bool { only.map { name.contains($0) } ?? true }

    @Stage func run() async throws(BenchError) -> Int32 {
        say("grapevine-bench attack --seed \(seed)\(isLong ? " --long" : "")")
        var isBorne = true
        for target in AttackRun.Target.allCases {
            let run = try AttackRun(self, on: target)
            isBorne = try await run.run() && isBorne
        }
        if isBorne { say("attack: all borne") }
        return isBorne ? 0 : 1
    }
}
