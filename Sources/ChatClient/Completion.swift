/// The completion of the word before the cursor, which goes round all that begins like it.
struct Completion {
    private var found: [String] = []
    private var index = 0
    private var start = 0
    /// What the line was after the last step; nil before the first.
    private var completed: (text: String, cursor: Int)?

    /// Completes the word, or puts the next one that fits in its place.
    ///
    /// - Parameters:
    ///   - words: all that may stand there, the likely ones first.
    ///   - suffix: what follows a word that is complete.
    /// - Returns: false where nothing begins so.
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
