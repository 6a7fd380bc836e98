/// The measurements of a run of all figures, row by row.
struct FigureRecord {
    struct Entry {
        let row: Row
        var values: [Double]

        var spread: Spread { Spread(values) }
        /// Nil for a row without a required bound.
        var meetsFloor: Bool? { row.floor?.isMet(by: spread.median) }
    }

    /// The entries in the order in which their rows were first measured.
    private var entriesInOrder: [Entry] = []
    /// The failed measurements, each as a sentence.
    private(set) var failures: [String] = []
    /// The measurements of the current pass.
    private var pass: [Row: Double] = [:]

    mutating func record(_ row: Row, _ value: Double) {
        pass[row] = value
        if let index = entriesInOrder.firstIndex(where: { $0.row == row }) {
            entriesInOrder[index].values.append(value)
        } else {
            entriesInOrder.append(Entry(row: row, values: [value]))
        }
    }

    /// - Parameter cause: a sentence, possibly with lines of a log, which become one line.
    mutating func fail(_ cause: String) {
        let lines = cause.split(separator: "\n").map { $0.drop { $0 == " " } }
        failures.append(lines.joined(separator: " | "))
    }

    /// Ends a pass over the rows: records the ratios of its measurements.
    mutating func endPass(_ ratios: [Ratio] = Ratio.all) {
        let measured = pass
        for ratio in ratios {
            guard let figure = measured[ratio.figure], let ceiling = measured[ratio.ceiling],
                ceiling > 0
            else { continue }
            record(ratio.row, figure / ceiling)
        }
        pass = [:]
    }

    func entries(_ part: Row.Part) -> [Entry] { entriesInOrder.filter { $0.row.part == part } }
}
