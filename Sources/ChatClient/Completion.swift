/// The completion of the word before the cursor, which cycles through all candidates.
struct Completion {
    private var found: [String] = []
    private var index = 0
    private var start = 0
    /// The line after the last step; nil before the first.
    private var completed: (text: String, cursor: Int)?

    /// Completes the word, or replaces it by the next candidate.
    ///
    /// - Parameters:
    ///   - words: all candidates, the likely ones first.
    ///   - suffix: the text that follows a completed word.
    /// - Returns: false if no candidate begins like the word.
    mutating func step(_ editor: inout LineEditor, words: [String], suffix: String) -> Bool {
        if let completed, completed == (editor.text, editor.cursor) {
            index = (index + 1) % max(1, found.count)
        } else {
            start = editor.wordStart
            let typed = String(editor.characters[start..<editor.cursor])
            let isAddressed = typed.hasPrefix("@")
            let beginning = (isAddressed ? String(typed.dropFirst()) : typed).lowercased()
            found = []
            for word in words where word.lowercased().hasPrefix(beginning) {
                if !found.contains(word) { found.append(word) }
            }
            found = found.map { (isAddressed ? "@" : "") + $0 + suffix }
            index = 0
        }
        guard found.indices.contains(index) else {
            completed = nil
            return false
        }
        editor.replace(from: start, with: found[index])
        completed = (editor.text, editor.cursor)
        return true
    }
}
