/// The measure of texts in columns of a terminal, with functions that cut, fill and wrap them.
///
/// The terminal library determines the width of a character: a layout by another measure than the
/// library's would put texts into the wrong columns.
public struct Columns: Sendable {
    private let width: @Sendable (Unicode.Scalar) -> Int

    /// - Parameter width: the columns that a character beyond ASCII takes: 0, 1 or 2.
    public init(width: @escaping @Sendable (Unicode.Scalar) -> Int) { self.width = width }

    func count(_ character: Character) -> Int {
        if character.isASCII { return 1 }
        return character.unicodeScalars.reduce(0) { $0 + max(0, width($1)) }
    }

    func count(_ text: some Sequence<Character>) -> Int {
        text.reduce(0) { $0 + count($1) }
    }

    /// Returns the text cut to these columns, with `…` in place of the missing part.
    func cut(_ text: String, to columns: Int) -> String {
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

    /// Returns the text cut or filled with spaces to exactly these columns.
    func fit(_ text: String, to columns: Int) -> String {
        let cut = cut(text, to: columns)
        return cut + String(repeating: " ", count: max(0, columns - count(cut)))
    }

    /// Returns the text in lines of at most these columns, broken at spaces if there are any.
    func wrap(_ text: String, to columns: Int) -> [String] {
        let columns = max(2, columns)
        return text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line in
            wrapLine(line, to: columns)
        }
    }

    private func wrapLine(_ line: Substring, to columns: Int) -> [String] {
        var lines: [String] = []
        var current = ""
        var taken = 0
        /// The index after the last space of `current`.
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

    private func trimmed(_ line: Substring) -> String {
        var line = line
        while line.last == " " { line.removeLast() }
        return String(line)
    }

    /// Returns the text without characters that a terminal would take for a command; line ends
    /// stay.
    static func harmless(_ text: String) -> String {
        var harmless = ""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x0A: harmless.unicodeScalars.append(scalar)
            case 0x09: harmless += "    "
            case ..<0x20, 0x7F...0x9F: harmless += "·"
            // These characters change the text direction beyond their own message, or are line ends
            // that only some terminals know.
            case 0x202A...0x202E, 0x2066...0x2069, 0x2028, 0x2029: continue
            default: harmless.unicodeScalars.append(scalar)
            }
        }
        return harmless
    }
}
