/// The line that a person is typing.
struct LineEditor {
    /// The most lines that are kept to be called back.
    static let pastMax = 200

    private(set) var characters: [Character] = []
    private(set) var cursor = 0
    private var past: [String] = []
    /// Where in `past` the line was taken from, and what had been typed before that.
    private var recalled: (index: Int, typed: String)?

    var text: String { String(characters) }
    var isEmpty: Bool { characters.isEmpty }

    mutating func set(_ text: String) {
        characters = Array(text)
        cursor = characters.count
    }

    /// Takes the line off, and keeps it among the past ones.
    mutating func take() -> String {
        let line = text
        keep(line)
        recalled = nil
        set("")
        return line
    }

    /// Makes a line the one that is called back first.
    mutating func keep(_ line: String) {
        guard !line.isEmpty else { return }
        let place = recalled.map { past.count - $0.index }
        past.removeAll { $0 == line }
        past.append(line)
        if past.count > Self.pastMax { past.removeFirst() }
        // Who is calling lines back goes on from the same one.
        if let place, let typed = recalled?.typed {
            recalled = (max(0, past.count - place - 1), typed)
        }
    }

    /// Puts a word in the place of what stands between `start` and the cursor.
    mutating func replace(from start: Int, with word: String) {
        remove(start..<cursor)
        insert(Array(word))
    }

    /// - Returns: false for a key that is none of an editor.
    mutating func take(_ key: Keystroke) -> Bool {
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
        // A mark that combines with the character before it becomes a part of that one.
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

    /// What of the line fits in these columns around the cursor, and where the cursor is in it.
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
