/// The manual page of the program, in the macros of man(7).
public struct ManualPage: Sendable {
    private let version: String
    private let commands: [CommandHelp]

    public init(of commands: [CommandHelp], version: String) {
        self.commands = commands
        self.version = version
    }

    public var text: String {
        var lines = [
            ".TH GRAPEVINE 1 \"\" \"\(escaped(version))\" \"Grapevine\"",
            ".SH NAME",
            "grapevine \\- a chat backend that a team runs itself",
            ".SH SYNOPSIS",
            ".nf",
        ]
        for command in commands {
            lines.append(escaped(command.synopsis[0]))
            lines += command.synopsis.dropFirst().map { "    " + escaped($0) }
        }
        lines.append(".fi")
        for command in commands { lines += section(about: command) }
        lines += [
            ".SH SEE ALSO",
            "cluster/README.md, the handbook of operators, and cluster/PROTOCOL.md, the line "
                + "protocol, in the program's sources.",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    private func section(about command: CommandHelp) -> [String] {
        var lines = [".SH GRAPEVINE \(escaped(command.name.uppercased()))"]
        lines.append(escaped(command.description))
        for option in command.options {
            let value = option.value.placeholder.map { " \\fI\(escaped($0))\\fR" } ?? ""
            lines += [".TP", "\\fB\(escaped(option.name))\\fR\(value)", escaped(option.help)]
        }
        if !command.notes.isEmpty { lines += [".PP", escaped(command.notes)] }
        if !command.examples.isEmpty {
            lines += [".PP", ".nf"] + command.examples.map { "    " + escaped($0) } + [".fi"]
        }
        if !command.statuses.isEmpty { lines += [".PP", "Exit status:"] }
        for entry in command.statuses {
            lines += [".TP", "\\fB\(entry.status)\\fR", escaped(entry.meaning)]
        }
        return lines
    }

    /// Returns text of which no character is a command to the formatter.
    private func escaped(_ text: String) -> String {
        let isControl = text.hasPrefix(".") || text.hasPrefix("'")
        return text.reduce(into: isControl ? "\\&" : "") { result, character in
            switch character {
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case "…": result += "..."
            default: result.append(character)
            }
        }
    }
}
