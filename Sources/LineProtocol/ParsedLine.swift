import Wire

/// The arguments, options and text of one request, split as its verb's row prescribes.
///
/// A parsed line points into the bytes of the request, so the line must not outlive those bytes.
struct ParsedLine: ~Copyable {
    /// The position of an option's value in the line's bytes.
    private struct Value {
        var range = 0..<0
        var isQuoted = false
        var isPresent = false
    }

    private let line: UnsafeRawBufferPointer
    let verb: Verb
    private var arguments = InlineArray<4, Range<Int>>(repeating: 0..<0)
    private(set) var argumentCount = 0
    /// The value of each option in `verb.options`, at the same index.
    private var values = InlineArray<8, Value>(repeating: Value())
    /// The index at which the text begins; the line's length if there is no text.
    private var textStart: Int
    /// Whether the text contains escapes, which is so in a line but not in a JSON request.
    private let isEscaped: Bool

    /// - Parameter start: the index in the line after the verb.
    init(
        cutting line: UnsafeRawBufferPointer, as verb: Verb, from start: Int
    ) throws(LineError) {
        self.line = line
        self.verb = verb
        textStart = line.count
        isEscaped = true
        var end = start
        takeArguments(&end)
        try checkArguments()
        while let (start, equals) = nextOption(in: line, from: end) {
            end = try takeOption(from: start, equals: equals)
        }
        try checkOptions()
        if verb.hasText {
            textStart = startOfText(in: line, behind: end)
        } else if let word = nextWord(in: line, from: end) {
            throw refused("Too many words\(plain(line[word], before: ", at "))")
        }
    }

    /// - Parameter bytes: the bytes of `parts`.
    init(_ parts: RequestParts, in bytes: UnsafeRawBufferPointer) throws(LineError) {
        line = bytes
        verb = parts.verb
        isEscaped = false
        textStart = parts.textStart
        for range in parts.arguments {
            arguments[argumentCount] = range
            argumentCount += 1
        }
        try checkArguments()
        for (slot, range) in parts.options {
            guard !range.isEmpty || verb.options[slot].isClearable else {
                throw refusedOption("Empty \(verb.options[slot].name)=")
            }
            values[slot] = Value(range: range, isQuoted: false, isPresent: true)
        }
        try checkOptions()
    }

    private func checkArguments() throws(LineError) {
        guard argumentCount >= verb.required.count else {
            throw refused("Missing \(verb.required[argumentCount])")
        }
    }

    private func checkOptions() throws(LineError) {
        for slot in verb.options.indices
        where verb.options[slot].isRequired && !values[slot].isPresent {
            throw refused("Missing \(verb.options[slot].name)=")
        }
    }

    private mutating func takeArguments(_ end: inout Int) {
        let countMax = verb.required.count + verb.optional.count
        while argumentCount < countMax, nextOption(in: line, from: end) == nil,
            let word = nextWord(in: line, from: end)
        {
            arguments[argumentCount] = word
            argumentCount += 1
            end = word.upperBound
        }
    }

    /// Reads the option whose `=` has the index `equals`; returns the index after the option's
    /// value.
    private mutating func takeOption(from start: Int, equals: Int) throws(LineError) -> Int {
        let keyword = Keyword(UnsafeRawBufferPointer(rebasing: line[start..<equals]))
        guard let slot = verb.options.firstIndex(where: { $0.keyword == keyword }) else {
            throw refusedOption("Unknown option\(plain(line[start...equals], before: " "))")
        }
        let option = verb.options[slot]
        guard !values[slot].isPresent else {
            throw refusedOption("Option \(option.name)= given twice")
        }
        let open = equals + 1
        let isQuoted = open < line.count && line[open] == UInt8(ascii: "\"")
        let end: Int
        if isQuoted {
            guard let close = endOfQuoted(in: line, open: open),
                close == line.count || line[close] == UInt8(ascii: " ")
            else { throw refusedOption("Bad quotes in \(option.name)=") }
            end = close
        } else {
            end = endOfWord(in: line, from: open)
        }
        let range = isQuoted ? (open + 1)..<(end - 1) : open..<end
        guard !range.isEmpty || option.isClearable else {
            throw refusedOption("Empty \(option.name)=")
        }
        values[slot] = Value(range: range, isQuoted: isQuoted, isPresent: true)
        return end
    }
}

/// The values of arguments, options and texts, with their checks.
extension ParsedLine {
    func bytes(ofArgument index: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: line[arguments[index]])
    }

    /// Returns the text at the line's end with its escapes; only the line's limit bounds its
    /// length.
    func word() throws(LineError) -> String {
        let raw = UnsafeRawBufferPointer(rebasing: line[textStart...])
        guard let text = String(utf8: raw) else { throw .notUTF8 }
        return text
    }

    /// Returns the text with its escapes replaced: UTF-8 without NUL, at most
    /// `LineLimits.textBytesMax` bytes.
    func text() throws(LineError) -> String {
        let raw = UnsafeRawBufferPointer(rebasing: line[textStart...])
        if raw.count <= LineLimits.textBytesMax, isPlain(raw) {
            return String(decoding: raw, as: UTF8.self)
        }
        guard firstIndex(of: 0, in: raw, from: 0) == nil else { throw .holdsNUL }
        let hasEscape =
            isEscaped && firstIndex(of: UInt8(ascii: "\\"), in: raw, from: 0) != nil
        let bytes = hasEscape ? unescapedText(raw) : []
        let text = hasEscape ? bytes.withUnsafeBytes { String(utf8: $0) } : String(utf8: raw)
        guard let text else { throw .notUTF8 }
        guard text.utf8.count <= LineLimits.textBytesMax else { throw .textTooLong }
        return text
    }

    /// Returns an option's value without its quotes; nil if the line lacks the option.
    func value(_ option: Option) throws(LineError) -> String? {
        guard let slot = verb.options.firstIndex(where: { $0.keyword == option.keyword }),
            values[slot].isPresent
        else { return nil }
        let raw = UnsafeRawBufferPointer(rebasing: line[values[slot].range])
        guard let text = values[slot].isQuoted ? unquoted(raw) : String(utf8: raw) else {
            throw refusedOption("Bad escape or broken UTF-8 in \(option.name)=")
        }
        guard !text.utf8.contains(0) else { throw .holdsNUL }
        return text
    }

    /// Returns an error 400 whose sentence ends with the verb's usage.
    func refused(_ sentence: String) -> LineError {
        LineError(400, "\(sentence); usage: \(verb.usage)")
    }

    /// Returns the error for a word that has the form of an option and may have been meant as text.
    func refusedOption(_ sentence: String) -> LineError {
        refused(verb.hasText ? sentence + "; write -- before a text that begins so" : sentence)
    }
}

/// Returns the range of the next word at or after `start`; nil if only spaces are left.
func nextWord(in line: UnsafeRawBufferPointer, from start: Int) -> Range<Int>? {
    let first = startOfWord(in: line, from: start)
    return first < line.count ? first..<endOfWord(in: line, from: first) : nil
}

/// Returns the index of the first byte at or after `start` that is not a space.
private func startOfWord(in line: UnsafeRawBufferPointer, from start: Int) -> Int {
    var first = start
    while first < line.count, line[first] == UInt8(ascii: " ") { first += 1 }
    return first
}

/// Returns the start of the next word and the index of its `=` if the word has the form `[a-z]+=…`.
///
/// The rest of the word is not examined, since the word is usually the first of a text.
private func nextOption(
    in line: UnsafeRawBufferPointer, from end: Int
) -> (start: Int, equals: Int)? {
    let (start, count) = (startOfWord(in: line, from: end), line.count)
    var index = start
    while index < count, isLowercase(line[index]) { index += 1 }
    guard index > start, index < count, line[index] == UInt8(ascii: "=") else { return nil }
    return (start, index)
}

private func isLowercase(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "a") < 26 }

/// Returns the index at which the text begins: after one space, or after a separate `-- `.
private func startOfText(in line: UnsafeRawBufferPointer, behind end: Int) -> Int {
    let start = startOfWord(in: line, from: end)
    let behind = start + 2
    let isMark =
        behind <= line.count && line[start] == UInt8(ascii: "-")
        && line[start + 1] == UInt8(ascii: "-")
        && (behind == line.count || line[behind] == UInt8(ascii: " "))
    return min((isMark ? behind : end) + 1, line.count)
}

func endOfWord(in line: UnsafeRawBufferPointer, from start: Int) -> Int {
    firstIndex(of: UInt8(ascii: " "), in: line, from: start) ?? line.count
}

/// Returns the word for an error's sentence; an empty text if the word has more than 40 bytes or is
/// not printable ASCII.
func plain(_ word: Slice<UnsafeRawBufferPointer>, before: String) -> String {
    guard word.count <= 40, word.allSatisfy({ (0x21...0x7E).contains($0) }) else { return "" }
    return before + String(decoding: word, as: UTF8.self)
}
