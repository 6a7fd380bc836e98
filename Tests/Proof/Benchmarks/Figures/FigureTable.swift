/// The figures for a person: aligned, with one line per row so that `grep` finds one.
enum FigureTable {
    private static let head = [
        "row", "median", "unit", "least", "greatest", "runs", "aim", "floor", "verdict",
    ]

    /// The right-aligned columns: numbers.
    private static let rightColumns: Set = [1, 3, 4, 5]

    static func text(_ figures: FigureRecord) -> String {
        let parts = Row.Part.allCases.map { ($0, figures.entries($0)) }.filter { !$0.1.isEmpty }
        let rows = [head] + parts.flatMap { $0.1.map(cells) }
        let widths = head.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        var lines = [line(head, widths)]
        for (part, entries) in parts {
            lines.append("-- \(part.rawValue)")
            lines += entries.map { line(cells($0), widths) }
        }
        lines += figures.failures.map { "not measured: \($0)" }
        return lines.map { $0 + "\n" }.joined()
    }

    private static func cells(_ entry: FigureRecord.Entry) -> [String] {
        let (row, spread) = (entry.row, entry.spread)
        let verdict = entry.meetsFloor.map { $0 ? "ok" : "below" } ?? "-"
        return [
            row.name, decimal(spread.median, digits: row.digits), row.unit,
            decimal(spread.least, digits: row.digits),
            decimal(spread.greatest, digits: row.digits), "\(spread.runs)", bound(row.aim),
            bound(row.floor), verdict,
        ]
    }

    private static func bound(_ bound: Row.Bound?) -> String {
        switch bound {
        case .atMost(let limit): "<=\(short(limit))"
        case .atLeast(let limit): ">=\(short(limit))"
        case nil: "-"
        }
    }

    private static func short(_ value: Double) -> String {
        decimal(value, digits: value == value.rounded() ? 0 : 1)
    }

    private static func line(_ cells: [String], _ widths: [Int]) -> String {
        let padded = cells.indices.map { column in
            let pad = String(repeating: " ", count: widths[column] - cells[column].count)
            return rightColumns.contains(column) ? pad + cells[column] : cells[column] + pad
        }
        let line = padded.joined(separator: "  ")
        return String(line.reversed().drop { $0 == " " }.reversed())
    }
}
