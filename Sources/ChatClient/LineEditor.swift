/// The input line and its history.
struct LineEditor {
    /// The limit of lines in the history.
    static let pastMax = 200

    private(set) var characters: [Character] = []
    private(set) var cursor = 0
    private var past: [String] = []
    /// The index in `past` of the recalled line, and the text that was typed before.
    private var recalled: (index: Int, typed: String)?

    var text: String { String(characters) }
    var isEmpty: Bool { characters.isEmpty }

    mutating func set(_ text: String) {
        characters = Array(text)
        cursor = characters.count
    }

    /// Returns and empties the line, and adds it to the history.
    mutating func removeText() -> String {
        let line = text
        keep(line)
        recalled = nil
        set("")
        return line
    }

    /// Adds a line to the history as the newest.
    mutating func keep(_ line: String) {
        guard !line.isEmpty else { return }
        let place = recalled.map { past.count - $0.index }
        past.removeAll { $0 == line }
        past.append(line)
        if past.count > Self.pastMax { past.removeFirst() }
        // A person who is recalling lines continues from the same one.
        if let place, let typed = recalled?.typed {
            recalled = (max(0, past.count - place - 1), typed)
        }
    }

    /// Replaces the text between `start` and the cursor by a word.
    mutating func replace(from start: Int, with word: String) {
        remove(start..<cursor)
        insert(Array(word))
    }

    /// - Returns: false for a key that the editor does not handle.
    mutating func handleKey(_ key: Keystroke) -> Bool {
        switch key {
        case .character(let character): insert([character])
        case .paste(let text):
            insert(Array(text.split { $0.isNewline }.joined(separator: "\n")))
        case .backspace: if cursor > 0 { remove(cursor - 1..<cursor) }
        case .delete: if cursor < characters.count { remove(cursor..<cursor + 1) }
        case .left, .control("b"): cursor = max(0, cursor - 1)
        case .right, .control("f"): cursor = min(characters.count, cursor + 1)
        case .home, .control("a"): cursor = 0
        case .end, .control("e"): cursor = characters.count
        case .control("u"): remove(0..<cursor)
        case .control("k"): remove(cursor..<characters.count)
        case .control("w"), .altBackspace: remove(wordStart..<cursor)
        case .alt("d"): remove(cursor..<wordEnd)
        case .alt("b"), .controlLeft: cursor = wordStart
        case .alt("f"), .controlRight: cursor = wordEnd
        case .up: recall(by: -1)
        case .down: recall(by: 1)
        default: return false
        }
        return true
    }

    private var wordEnd: Int {
        var end = cursor
        while end < characters.count, characters[end] == " " { end += 1 }
        while end < characters.count, characters[end] != " " { end += 1 }
        return end
    }

    var wordStart: Int {
        var start = cursor
        while start > 0, characters[start - 1] == " " { start -= 1 }
        while start > 0, characters[start - 1] != " " { start -= 1 }
        return start
    }

    private mutating func insert(_ new: [Character]) {
        // A combining mark becomes part of the character before it.
        let before = String(characters[..<cursor]) + String(new)
        let rest = characters[cursor...]
        characters = Array(before)
        cursor = characters.count
        characters += rest
    }

    private mutating func remove(_ range: Range<Int>) {
        characters.removeSubrange(range)
        cursor = range.lowerBound
    }

    private mutating func recall(by step: Int) {
        let index = (recalled?.index ?? past.count) + step
        guard index >= 0, index <= past.count else { return }
        let typed = recalled?.typed ?? text
        recalled = index == past.count ? nil : (index, typed)
        set(index == past.count ? typed : past[index])
    }

    /// Returns the part of the line around the cursor that fits in these columns, and the cursor's
    /// column in it.
    func shown(in columns: Int, _ measure: Columns) -> (text: String, cursor: Int) {
        var start = cursor
        var before = 0
        while start > 0 {
            let width = measure.count(visible(characters[start - 1]))
            guard before + width < columns else { break }
            before += width
            start -= 1
        }
        var text = ""
        var taken = 0
        for character in characters[start...].map(visible) {
            let width = measure.count(character)
            guard taken + width <= columns else { break }
            text.append(character)
            taken += width
        }
        return (text, before)
    }

    private func visible(_ character: Character) -> Character {
        if character.isNewline { return "⏎" }
        return character.unicodeScalars.first.map { $0.value < 0x20 } == true ? "·" : character
    }
}
