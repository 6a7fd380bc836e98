import LineProtocol
import Testing

@testable import Benchmarks

@Suite struct VectorsTests {
    private func fields(_ line: String) throws -> ReplyFields {
        guard case .data(_, let fields) = ReplyLine("VECTOR \(line)") else {
            throw BenchError("not a line: \(line)")
        }
        return fields
    }

    private func held(_ lines: [(Int, String)]) throws -> HeldSeqs {
        var seqs = HeldSeqs()
        for (shard, line) in lines {
            let isTaken = seqs.add(try fields(line), of: shard)
            #expect(isTaken)
        }
        for shard in 0...1 { seqs.hold(shard) }
        return seqs
    }

    @Test func `what a node lacks is what all hold together and it does not`() throws {
        let full = try held([(0, "replica=a seq=10"), (1, "replica=a seq=5")])
        let gaps = try held([(0, "replica=a seq=4 above=6-7,9-9"), (1, "replica=b seq=3")])
        let empty = try held([])
        #expect(HeldSeqs.lacking([full, gaps, empty]) == [3, 8, 18])
        #expect(HeldSeqs.lacking([full, full]) == [0, 0])
        var one = HeldSeqs()
        one.hold(1)
        // It holds nothing of shard 0, and does not need to.
        #expect(HeldSeqs.lacking([full, one]) == [0, 5])
    }

    @Test(arguments: ["replica=a", "seq=4", "replica=a seq=1 above=9-2"])
    func `a line that cannot be read is refused`(line: String) throws {
        var seqs = HeldSeqs()
        let isTaken = seqs.add(try fields(line), of: 0)
        #expect(!isTaken)
    }
}
