/// How many columns of a terminal a text takes, and how it is cut to fit.
///
/// A terminal draws most characters in one column, those of East Asia and emoji in two, and
/// combining marks in none. The ranges are those of Unicode's East Asian Width `W` and `F`.
enum Columns {
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
        0xA000...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
        0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF,
        0x1F900...0x1FAFF, 0x20000...0x3FFFD,
    ]

    static func count(_ character: Character) -> Int {
        guard let first = character.unicodeScalars.first else { return 0 }
        if first.value < 0x300 { return 1 }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        // A variation selector asks for the coloured form, which is wide.
        let isWide =
            first.properties.isEmojiPresentation
            || character.unicodeScalars.contains { $0.value == 0xFE0F }
            || wide.contains { $0.contains(first.value) }
        return isWide ? 2 : 1
    }

    static func count(_ text: some Sequence<Character>) -> Int {
        text.reduce(0) { $0 + count($1) }
    }

    /// The text cut to these columns, with `…` where something is missing.
    static func cut(_ text: String, to columns: Int) -> String {
        guard columns > 0 else { return "" }
        guard count(text) > columns else { return text }
        var cut = ""
        var taken = 0
        for character in text {
            let width = count(character)
            guard taken + width <= columns - 1 else { break }
            cut.append(character)
            taken += width
        }
        return cut + "…"
    }

    /// The text cut or filled with spaces to exactly these columns.
    static func fit(_ text: String, to columns: Int) -> String {
        let cut = cut(text, to: columns)
        return cut + String(repeating: " ", count: max(0, columns - count(cut)))
    }

    /// The text in lines of at most these columns, broken at spaces where there are some.
    static func wrap(_ text: String, to columns: Int) -> [String] {
        let columns = max(2, columns)
        return text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line in
            wrapLine(line, to: columns)
        }
    }

    private static func wrapLine(_ line: Substring, to columns: Int) -> [String] {
        var lines: [String] = []
        var current = ""
        var taken = 0
        /// Behind the last space of `current`.
        var breakAt: String.Index?
        for character in line {
            let width = count(character)
            if taken + width > columns, !current.isEmpty {
                let end = character == " " ? current.endIndex : breakAt ?? current.endIndex
                lines.append(trimmed(current[..<end]))
                current = String(current[end...])
                taken = count(current)
                breakAt = nil
                if character == " " && current.isEmpty { continue }
            }
            current.append(character)
            taken += width
            if character == " " { breakAt = current.endIndex }
        }
        return lines + [current]
    }

    private static func trimmed(_ line: Substring) -> String {
        var line = line
        while line.last == " " { line.removeLast() }
        return String(line)
    }

    /// Without what a terminal would take for a command; line ends stay.
    static func harmless(_ text: String) -> String {
        var harmless = ""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x0A: harmless.unicodeScalars.append(scalar)
            case 0x09: harmless += "    "
            case ..<0x20, 0x7F...0x9F: harmless += "·"
            // What turns the direction of all that follows, beyond its own message.
            case 0x202A...0x202E, 0x2066...0x2069: continue
            default: harmless.unicodeScalars.append(scalar)
            }
        }
        return harmless
    }
}
