import Testing

@testable import Simulator

@Suite struct TraceHashesTests {
    private let text = """
        machines 0 9e3779b97f4a7c15
        whole 2 0000000000000001
        whole 17 00000000000000ff

        """

    @Test func `a file is parsed and written again`() throws {
        let traces = try TraceHashes(parsing: text)
        #expect(traces.seeds(of: .whole) == [2, 17])
        #expect(traces.seeds(of: .members).isEmpty)
        #expect(traces.text == text)
    }

    @Test func `another hash, a missing run and a further run are differences`() throws {
        let kept = try TraceHashes(parsing: text)
        #expect(kept.differences(from: kept, in: .whole).isEmpty)
        var others = TraceHashes()
        others.add(1, of: TraceHashes.Run(.whole, 2))
        #expect(kept.differences(from: others, in: .whole) == [17])
        others.add(254, of: TraceHashes.Run(.whole, 17))
        others.add(1, of: TraceHashes.Run(.whole, 3))
        #expect(kept.differences(from: others, in: .whole) == [3, 17])
        #expect(kept.differences(from: others, in: .machines) == [0])
    }

    @Test(arguments: ["whole 1", "nothing 1 ff", "whole one ff", "whole 1 fg", "whole 1 ff 2"])
    func `a line that is no run is refused`(line: String) {
        #expect(throws: TraceHashes.Unreadable.self) { try TraceHashes(parsing: line) }
    }

    @Test func `a sweep keeps the hash of each run`() {
        var sweep = Sweep()
        sweep.add(Run(Plan(seed: 3)))
        sweep.add(Run(Plan(seed: 4)))
        #expect(sweep.traces.seeds(of: .machines) == [3, 4])
        var other = Sweep()
        other.add(Run(Plan(seed: 3)))
        #expect(sweep.traces.differences(from: other.traces, in: .machines) == [4])
    }
}
