import Testing

@testable import Benchmarks

@Suite struct FigureRecordTests {
    private static let speed = Row(.figures, "speed", "/s", floor: .atLeast(100), "how fast")
    private static let limit = Row(.ceilings, "limit", "/s", "what there is")
    private static let ratio = Ratio("speed/limit", speed, limit)

    private func figures(_ passes: [(speed: Double?, limit: Double?)]) -> FigureRecord {
        var figures = FigureRecord()
        for pass in passes {
            if let limit = pass.limit { figures.record(Self.limit, limit) }
            if let speed = pass.speed { figures.record(Self.speed, speed) }
            figures.endPass([Self.ratio])
        }
        return figures
    }

    @Test func `a row gathers a value a pass`() throws {
        let entry = try #require(figures([(90, 10), (120, 20), (110, 30)]).entries(.figures).first)
        #expect(entry.values == [90, 120, 110])
        #expect(entry.spread.median == 110)
        #expect(entry.spread.least == 90)
        #expect(entry.spread.greatest == 120)
    }

    @Test func `the median keeps a floor or falls below it`() {
        #expect(
            figures([(90, nil), (120, nil), (100, nil)]).entries(.figures)[0].meetsFloor == true)
        #expect(
            figures([(90, nil), (120, nil), (99, nil)]).entries(.figures)[0].meetsFloor == false)
        #expect(figures([(nil, 1)]).entries(.ceilings)[0].meetsFloor == nil)
        #expect(Row.Bound.atMost(1).isMet(by: 1))
        #expect(!Row.Bound.atMost(1).isMet(by: 1.01))
    }

    @Test func `a ratio is that of one pass, and of a pass that has both`() {
        let ratios = figures([(100, 10), (100, nil), (nil, 50), (90, 3), (5, 0)]).entries(.ratios)
        #expect(ratios.map(\.row.name) == ["speed/limit"])
        #expect(ratios.first?.values == [10, 30])
    }
}
