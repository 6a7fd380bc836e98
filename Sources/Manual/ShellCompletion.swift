/// A shell, and the script with which it completes the words of the program.
public enum ShellCompletion: String, CaseIterable, Sendable {
    case bash
    case zsh
    case fish

    /// Returns the script for these commands of `grapevine`.
    ///
    /// - Parameter others: further first words, with what they do.
    public func script(
        for commands: [CommandHelp], others: [(word: String, summary: String)]
    ) -> String {
        let first = commands.map { (word: $0.name, summary: $0.summary) } + others
        let head = "Completion of grapevine; written by: grapevine completion \(rawValue)"
        switch self {
        case .bash: return "# \(head)\n" + bash(commands, first)
        case .zsh: return "#compdef grapevine\n# \(head)\n" + zsh(commands, first)
        case .fish: return "# \(head)\n" + fish(commands, first)
        }
    }

    // MARK: bash

    private func bash(
        _ commands: [CommandHelp], _ first: [(word: String, summary: String)]
    ) -> String {
        var lines = [
            "_grapevine() {",
            "    local IFS=$'\\n' word=${COMP_WORDS[COMP_CWORD]}",
            "    local before=${COMP_WORDS[COMP_CWORD - 1]}",
            "    COMPREPLY=()",
            "    if [ \"$COMP_CWORD\" -eq 1 ]; then",
            "        COMPREPLY=(\(generated(first.map(\.word))))",
            "        return",
            "    fi",
            "    case ${COMP_WORDS[1]} in",
        ]
        for command in commands {
            lines += ["        \(command.name))", "            case $before in"]
            for option in command.options {
                guard let values = bashValues(of: option) else { continue }
                lines.append(
                    "                \(option.name)) COMPREPLY=(\(values)); return ;;")
            }
            lines += [
                "            esac",
                "            COMPREPLY=(\(generated(command.words))) ;;",
            ]
        }
        lines += ["    esac", "}", "complete -o filenames -F _grapevine grapevine", ""]
        return lines.joined(separator: "\n")
    }

    private func bashValues(of option: CommandHelp.Option) -> String? {
        switch option.value {
        case .none: nil
        case .text: ""
        case .file: "$(compgen -f -- \"$word\")"
        case .folder: "$(compgen -d -- \"$word\")"
        case .words(let words): generated(words)
        }
    }

    private func generated(_ words: [String]) -> String {
        "$(compgen -W $'\(words.joined(separator: "\\n"))' -- \"$word\")"
    }

    // MARK: zsh

    private func zsh(
        _ commands: [CommandHelp], _ first: [(word: String, summary: String)]
    ) -> String {
        var lines = ["_grapevine() {", "    local -a commands=("]
        lines += first.map { "        '\(zshText($0.word)):\(zshText($0.summary))'" }
        lines += [
            "    )", "    if (( CURRENT == 2 )); then", "        _describe command commands",
            "        return", "    fi", "    shift words", "    (( CURRENT-- ))",
            "    case $words[1] in",
        ]
        for command in commands {
            lines.append("        \(command.name)) _arguments \\")
            lines += command.options.map { "            '\(zshSpecification(of: $0))' \\" }
            if !command.arguments.isEmpty {
                let words = command.arguments.joined(separator: " ")
                lines.append("            '1:word:(\(words))' \\")
            }
            lines.append("            ;;")
        }
        lines += [
            "    esac", "}",
            "if [ \"$funcstack[1]\" = _grapevine ]; then _grapevine \"$@\";"
                + " else compdef _grapevine grapevine; fi", "",
        ]
        return lines.joined(separator: "\n")
    }

    private func zshSpecification(of option: CommandHelp.Option) -> String {
        let help = "[\(zshText(option.brief))]"
        return switch option.value {
        case .none: option.name + help
        case .text(let name): "\(option.name)=\(help):\(zshText(name)):"
        case .file: "\(option.name)=\(help):file:_files"
        case .folder: "\(option.name)=\(help):folder:_files -/"
        case .words(let words):
            "\(option.name)=\(help):value:(\(words.joined(separator: " ")))"
        }
    }

    private func zshText(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            switch character {
            case "'": result += "'\\''"
            case "[", "]", ":", "\\": result += "\\\(character)"
            default: result.append(character)
            }
        }
    }

    // MARK: fish

    private func fish(
        _ commands: [CommandHelp], _ first: [(word: String, summary: String)]
    ) -> String {
        var lines = ["complete -c grapevine -f"]
        lines += first.map {
            "complete -c grapevine -n __fish_use_subcommand"
                + " -a '\(fishText($0.word))' -d '\(fishText($0.summary))'"
        }
        for command in commands {
            if !command.arguments.isEmpty {
                lines.append(
                    "complete -c grapevine -n '__fish_seen_subcommand_from \(command.name)'"
                        + " -a '\(command.arguments.joined(separator: " "))'")
            }
            lines += command.options.map {
                "complete -c grapevine -n '__fish_seen_subcommand_from \(command.name)'"
                    + " -l \($0.name.dropFirst(2))\(fishValues(of: $0))"
                    + " -d '\(fishText($0.brief))'"
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func fishValues(of option: CommandHelp.Option) -> String {
        switch option.value {
        case .none: ""
        case .text: " -x"
        case .file: " -r -F"
        case .folder: " -x -a '(__fish_complete_directories)'"
        case .words(let words): " -x -a '\(words.joined(separator: " "))'"
        }
    }

    private func fishText(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            if character == "'" || character == "\\" { result.append("\\") }
            result.append(character)
        }
    }
}

extension CommandHelp {
    var words: [String] { options.map(\.name) + arguments }
}

extension CommandHelp.Option {
    /// The help up to its first detail, for a list.
    var brief: String {
        let clause = help.prefix { !";:(,".contains($0) }
        return clause.split(separator: " ").joined(separator: " ")
    }
}
