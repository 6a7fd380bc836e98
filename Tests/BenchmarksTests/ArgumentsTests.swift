import Testing

@testable import Benchmarks

@Suite struct ArgumentsTests {
    @Test func `options become a command`() throws {
        let command = try SendsCommand([
            "--nodes", "3", "--inflight=4", "--with-ids", "--ack", "all", "--grapevine", "/x",
        ])
        #expect(command.nodes == 3)
        #expect(command.shape.inFlight == 4)
        #expect(command.shape.connections == 50)
        #expect(command.shape.isWithIDs)
        #expect(command.shape.ackLevel == "all")
        #expect(command.program == "/x")
        #expect(try SendsCommand.first([]).map(\.nodes) == [1, 5, 1, 5])
    }

    @Test(arguments: [
        ["--nodes", "0"], ["--nodes"], ["--node", "3"], ["3"], ["--ack", "none"],
        ["--nodes", "3", "--nodes", "3"], ["--with-ids", "--with-ids"],
    ])
    func `words that make no sense are refused`(words: [String]) {
        #expect(throws: BenchError.self) { try SendsCommand(words) }
        #expect(Bench.run(["grapevine-bench", "sends"] + words) == 64)
    }

    @Test func `a chaos run says how to have it again`() throws {
        let command = try ChaosCommand(["--seed", "17", "--seconds", "12"])
        let words = command.rerun.split(separator: " ").dropFirst(2).map(String.init)
        #expect(try ChaosCommand(words).plan == command.plan)
        #expect(throws: BenchError.self) { try ChaosCommand(["--seconds", "3"]) }
        #expect(Bench.run(["grapevine-bench", "chaos", "--help"]) == 0)
        #expect(Bench.run(["grapevine-bench"]) == 64)
    }

    @Test func `a run of all figures is as large as it is asked to be`() throws {
        let command = try SuiteCommand(["--quick", "--runs", "2", "--json=/x/y.json"])
        #expect(command.plan.messages == SuitePlan.quick.messages)
        #expect(command.plan.runs == 2)
        #expect(command.json == "/x/y.json")
        #expect(try SuiteCommand([]).plan == SuitePlan())
        let large = try SuiteCommand(["--large"]).plan
        #expect(large.missed.contains(1_000_000))
        #expect(large.runs(missing: 1_000_000) == 1)
        #expect(large.runs(missing: 100_000) == large.runs)
        #expect(throws: BenchError.self) { try SuiteCommand(["--quick", "--large"]) }
        #expect(throws: BenchError.self) { try SuiteCommand(["--json="]) }
        #expect(Bench.run(["grapevine-bench", "all", "--help"]) == 0)
    }

    @Test func `a file that cannot be written is told before anything is measured`() throws {
        let command = try SuiteCommand(["--json", "/dev/null/x"])
        #expect(throws: BenchError.self) { try command.emptyFile() }
        try SuiteCommand([]).emptyFile()
    }
}
