import Foundation
import Testing

@testable import Benchmarks

@Suite struct FigureTableTests {
    private static var figures: FigureRecord {
        var figures = FigureRecord()
        for rate in [1_200, 1_000, 1_400] {
            figures.record(Row(.ceilings, "disk", "/s", "syncs"), Double(rate))
            figures.record(
                Row(
                    .figures, "sends", "/s", aim: .atLeast(150_000), floor: .atLeast(50_000),
                    "as many as go"), Double(rate * 10))
            figures.record(
                Row(.figures, "p50", "ms", digits: 2, aim: .atMost(0.6), floor: .atMost(1), "one"),
                Double(rate) / 10_000)
        }
        figures.fail("kill -9: n1 cannot be reached: \"refused\"\n    its last words\n")
        return figures
    }

    @Test func `a row is a line, aligned, and its last word is about the floor`() {
        #expect(
            FigureTable.text(Self.figures) == """
                row    median  unit   least  greatest  runs  aim        floor     verdict
                -- ceilings
                disk    1,200  /s     1,000     1,400     3  -          -         -
                -- figures
                sends  12,000  /s    10,000    14,000     3  >=150,000  >=50,000  below
                p50      0.12  ms      0.10      0.14     3  <=0.6      <=1       ok
                not measured: kill -9: n1 cannot be reached: "refused" | its last words

                """)
    }

    @Test func `the file has every value, and any reader of JSON takes it`() throws {
        let text = FigureFile.text(Self.figures, try Machine(), command: "grapevine-bench all")
        let file = try #require(
            try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect(file["command"] as? String == "grapevine-bench all")
        #expect((file["failures"] as? [String])?.count == 1)
        let figures = try #require(file["figures"] as? [[String: Any]])
        #expect(figures.map { $0["name"] as? String } == ["sends", "p50"])
        #expect(figures[0]["values"] as? [Double] == [12_000, 10_000, 14_000])
        #expect(figures[0]["meets_floor"] as? Bool == false)
        #expect(figures[0]["floor"] as? [String: Double] == ["at_least": 50_000])
        let ceilings = try #require(file["ceilings"] as? [[String: Any]])
        #expect(ceilings[0]["floor"] is NSNull)
        let machine = try #require(file["machine"] as? [String: Any])
        #expect((machine["load_before"] as? [Double])?.count == 3)
    }
}
