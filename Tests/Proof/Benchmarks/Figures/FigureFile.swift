/// The figures for a program: the table with every value, as JSON.
enum FigureFile {
    static func text(_ figures: FigureRecord, _ machine: Machine, command: String) -> String {
        var members = [JSON.Member("command", .text(command)), .init("machine", machine.json)]
        for part in Row.Part.allCases {
            members.append(.init(part.rawValue, .list(figures.entries(part).map(json))))
        }
        members.append(.init("failures", .list(figures.failures.map(JSON.text))))
        return JSON.object(members).text() + "\n"
    }

    private static func json(_ entry: FigureRecord.Entry) -> JSON {
        let (row, spread) = (entry.row, entry.spread)
        return .object([
            .init("name", .text(row.name)), .init("unit", .text(row.unit)),
            .init("median", .number(spread.median)), .init("least", .number(spread.least)),
            .init("greatest", .number(spread.greatest)), .init("runs", .whole(spread.runs)),
            .init("values", .list(entry.values.map(JSON.number))),
            .init("aim", json(row.aim)), .init("floor", json(row.floor)),
            .init("meets_floor", entry.meetsFloor.map(JSON.flag) ?? .none),
            .init("meaning", .text(row.meaning)),
        ])
    }

    private static func json(_ bound: Row.Bound?) -> JSON {
        switch bound {
        case .atMost(let limit): .object([.init("at_most", .number(limit))])
        case .atLeast(let limit): .object([.init("at_least", .number(limit))])
        case nil: .none
        }
    }
}
