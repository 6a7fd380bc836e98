import Glibc

/// `grapevine-bench all`: every figure that the design aims for, beside the limits of the machine.
struct SuiteCommand: Sendable {
    private static let head = """
        usage: grapevine-bench all [--quick|--large] [--growth] [--runs 3] [--seconds 4]
               [--json FILE] [--grapevine PATH]

        Starts nodes of its own, a fresh cluster for each figure and run, and measures what they do,
        and in the same passes what this machine can do at most: its disk, its loopback, one core.
        The load runs on the same machine. Prints a table: the median of the runs, the least and
        the greatest, and whether the median keeps the floor. Exit status 1 only where something
        could not be measured.
          --quick      a look of about a minute: one run, smaller numbers
          --large      a quarter of an hour: a conversation of 1,000,000, and as many missed once
          --growth     only what verbs cost with conversations of several sizes
          --runs       how many passes there are over all rows
          --seconds    how long each load is measured, after one second of the same load
          --json       a file that gets the same, with every value and what each row means
          --grapevine  the binary; without it the one beside this


        """

    static var usage: String {
        let plan = SuitePlan.large
        let rows: [Row] =
            [
                .coreSpeed, .syncRate, .syncP50, .syncP99, .tcpRoundTrip, .tcpStream, .diskWrite,
                .diskRead,
                .oneClientP50, .oneClientP99, .threeNodesSends, .oneNodeSends, .socketSends,
                .httpSends,
                .socketEventLast, .socketMemory, .encryptedSocketMemory, .handshakes, .upload,
                .download, .wire, .idleWire,
                .idleMemory, .loadedMemory, .eventP50, .eventP99, .eventAfterOKP99,
                .eventsAstray, .killFailures, .killLongestWait, .watchersAnswered(plan.watchers),
                .watcherMemory(plan.watchers),
                .levelAfter(100_000), .mergeRate(100_000), .mergePerCPU(100_000),
                .newestP50(plan.messages), .middleP50(plan.messages), .start(plan.messages),
            ] + GrowingVerb.allCases.map { .growth($0, 10_000) }
        let width = rows.map(\.name.count).max() ?? 0
        return head
            + rows.map { row in
                let pad = String(repeating: " ", count: width - row.name.count)
                return "  \(row.name)\(pad)  \(row.meaning)\n"
            }.joined()
    }

    let plan: SuitePlan
    let json: String?
    let program: String
    private let words: [String]

    init(_ words: [String]) throws(BenchError) {
        var arguments = try Arguments(words, flags: ["--quick", "--large", "--growth"])
        let (isQuick, isLarge) = (
            arguments.remove(flag: "--quick"), arguments.remove(flag: "--large")
        )
        guard !(isQuick && isLarge) else {
            throw BenchError(usage: "--quick and --large exclude each other")
        }
        var plan = isQuick ? SuitePlan.quick : isLarge ? .large : SuitePlan()
        plan.isGrowthAlone = arguments.remove(flag: "--growth")
        plan.runs = try arguments.removeNumber("--runs", in: 1...99) ?? plan.runs
        plan.seconds = try arguments.removeNumber("--seconds", in: 1...600) ?? plan.seconds
        self.plan = plan
        json = try arguments.take("--json") { $0.isEmpty ? nil : $0 }
        program = try arguments.take("--grapevine") { $0 } ?? Bench.neighbour
        try arguments.finish()
        self.words = words
    }

    /// Empties the file, so that a file that cannot be written is reported before the measurements.
    func emptyFile() throws(BenchError) {
        if let json { try Files.write("", to: json) }
    }

    @Stage func run() async throws(BenchError) -> Int32 {
        var machine = try Machine()
        say(machine.text)
        let suite = Suite(plan, program: program)
        await suite.run()
        machine.loadAfter = try Machine.load()
        put("\n" + FigureTable.text(suite.figures), to: STDOUT_FILENO)
        say("what each row means: grapevine-bench all --help")
        if let json {
            let command = (["grapevine-bench", "all"] + words).joined(separator: " ")
            try Files.write(FigureFile.text(suite.figures, machine, command: command), to: json)
            say("the same as JSON, with every value: \(json)")
        }
        return suite.figures.failures.isEmpty ? 0 : 1
    }
}
