/// A JSON value, for writing only (RFC 8259).
indirect enum JSON: Hashable {
    case text(String)
    case number(Double)
    case whole(Int)
    case flag(Bool)
    case none
    case list([JSON])
    /// The members, in the order in which they are written.
    case object([Member])

    struct Member: Hashable {
        let name: String
        let value: JSON

        init(_ name: String, _ value: JSON) {
            self.name = name
            self.value = value
        }
    }

    /// Returns the JSON text, indented by two spaces per level; a list of plain values is on one
    /// line.
    func text(indent: String = "") -> String {
        switch self {
        case .text(let text): Self.quoted(text)
        // JSON has no infinity and no NaN.
        case .number(let number): number.isFinite ? "\(number)" : "null"
        case .whole(let number): "\(number)"
        case .flag(let flag): "\(flag)"
        case .none: "null"
        case .list(let values) where values.allSatisfy(\.isPlain):
            "[" + values.map { $0.text() }.joined(separator: ", ") + "]"
        case .list(let values):
            Self.block("[", values.map { $0.text(indent: indent + "  ") }, "]", indent)
        case .object(let members):
            Self.block(
                "{",
                members.map { "\(Self.quoted($0.name)): \($0.value.text(indent: indent + "  "))" },
                "}", indent)
        }
    }

    private var isPlain: Bool {
        switch self {
        case .list, .object: false
        default: true
        }
    }

    private static func block(
        _ start: String, _ items: [String], _ end: String, _ indent: String
    ) -> String {
        guard !items.isEmpty else { return start + end }
        let inner = items.map { "\n\(indent)  \($0)" }.joined(separator: ",")
        return "\(start)\(inner)\n\(indent)\(end)"
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\t": quoted += "\\t"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
