/// A source, separated into code and comments, both with the line breaks of the original, so that a
/// check looks for a word only where it counts and still knows its line.
///
/// The scanner is not a parser: it recognises comments, string literals of every kind with their
/// interpolations, and names in backticks, and blanks out what is not wanted. A regex literal that
/// contains a quote would mislead it; write such a pattern as a string.
struct SourceText {
    let path: String
    let lines: [Substring]
    /// The text without comments and without the contents of string literals.
    let code: String
    /// The comments alone.
    let comments: String

    init(path: String, _ text: String) {
        self.path = path
        self.lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        var scanner = Scanner(text)
        scanner.scanCode(until: nil)
        self.code = String(decoding: scanner.code, as: UTF8.self)
        self.comments = String(decoding: scanner.comments, as: UTF8.self)
    }

    var codeLines: [Substring] { code.split(separator: "\n", omittingEmptySubsequences: false) }

    var commentLines: [Substring] {
        comments.split(separator: "\n", omittingEmptySubsequences: false)
    }

    var fileName: Substring { path.split(separator: "/").last ?? "" }
}

private struct Scanner {
    private let text: [UInt8]
    private var index = 0
    private(set) var code: [UInt8] = []
    private(set) var comments: [UInt8] = []

    init(_ text: String) {
        self.text = Array(text.utf8)
    }

    private enum Kind {
        case code
        case comment
        case literal
    }

    /// Reads code to the end, or to the parenthesis that closes an interpolation.
    mutating func scanCode(until close: UInt8?) {
        var depth = 0
        while index < text.count {
            if starts(with: "//") {
                while index < text.count, text[index] != UInt8(ascii: "\n") { take(.comment) }
            } else if starts(with: "/*") {
                scanBlockComment()
            } else if let hashes = hashesOfString() {
                scanString(hashes: hashes)
            } else if text[index] == UInt8(ascii: "`") {
                scanName()
            } else {
                if text[index] == UInt8(ascii: "(") { depth += 1 }
                if text[index] == UInt8(ascii: ")") { depth -= 1 }
                take(.code)
                if close != nil, depth < 0 { return }
            }
        }
    }

    private mutating func scanBlockComment() {
        var depth = 0
        repeat {
            if starts(with: "/*") {
                depth += 1
                take(.comment, 2)
            } else if starts(with: "*/") {
                depth -= 1
                take(.comment, 2)
            } else {
                take(.comment)
            }
        } while depth > 0 && index < text.count
    }

    /// A name in backticks ends on its line.
    private mutating func scanName() {
        repeat {
            take(.literal)
        } while index < text.count && text[index] != UInt8(ascii: "`")
            && text[index] != UInt8(ascii: "\n")
        take(.literal)
    }

    /// Returns the number of `#` that open the string that begins here; nil where none begins.
    private func hashesOfString() -> Int? {
        var ahead = index
        while ahead < text.count, text[ahead] == UInt8(ascii: "#") { ahead += 1 }
        return ahead < text.count && text[ahead] == UInt8(ascii: "\"") ? ahead - index : nil
    }

    private mutating func scanString(hashes: Int) {
        let pounds = String(repeating: "#", count: hashes)
        take(.literal, hashes)
        let isMultiline = starts(with: "\"\"\"")
        let quotes = isMultiline ? "\"\"\"" : "\""
        let (end, escape, interpolation) = (quotes + pounds, "\\" + pounds, "\\" + pounds + "(")
        take(.literal, quotes.utf8.count)
        while index < text.count {
            if starts(with: end) {
                take(.literal, end.utf8.count)
                return
            }
            if !isMultiline, text[index] == UInt8(ascii: "\n") { return }
            if starts(with: interpolation) {
                take(.literal, 1 + hashes)
                take(.code)
                scanCode(until: UInt8(ascii: ")"))
            } else if starts(with: escape) {
                take(.literal, 1 + hashes)
                take(.literal)
            } else {
                take(.literal)
            }
        }
    }

    private func starts(with prefix: String) -> Bool {
        text[index...].starts(with: prefix.utf8)
    }

    private mutating func take(_ kind: Kind, _ count: Int = 1) {
        for byte in text[index...].prefix(count) {
            let blank = byte == UInt8(ascii: "\n") ? byte : UInt8(ascii: " ")
            code.append(kind == .code ? byte : blank)
            comments.append(kind == .comment ? byte : blank)
        }
        index = min(index + count, text.count)
    }
}
