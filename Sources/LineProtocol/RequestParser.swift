import Chat
import Wire

extension Request {
    /// Parses one line without its line end; returns nil for an empty line or a line of spaces.
    ///
    /// - Throws: 400, 413 or 429 with a description of the error. Errors that only a node can
    ///   detect are not thrown, except 404 for a shard number above 65,535.
    public static func parse(
        _ line: UnsafeRawBufferPointer, minting newID: () -> String
    ) throws(LineError) -> Request? {
        try parse(line, verbs: Verb.all, minting: newID)
    }

    /// - Parameters:
    ///   - traits: set to the traits of the line's verb, even if the rest of the line is invalid;
    ///     nil for a line with an unknown verb.
    ///   - newID: creates the id of a message or an action item for a line that specifies no id.
    public static func parse(
        _ line: UnsafeRawBufferPointer, traits: inout Verb.Traits?, minting newID: () -> String
    ) throws(LineError) -> Request? {
        traits = nil
        return try parse(line, verbs: Verb.all, minting: newID) {
            traits = Verb.all[$0].traits(at: $0)
        }
    }

    static func parse(
        _ line: UnsafeRawBufferPointer, verbs: [Verb], minting newID: () -> String,
        verbAt: (Int) -> Void = { _ in }
    ) throws(LineError) -> Request? {
        guard let first = nextWord(in: line, from: 0) else { return nil }
        guard let (place, end) = find(first, in: line, among: verbs) else {
            guard !isHTTP(line[first]) else { throw .speaksHTTP }
            throw LineError(
                400, "Unknown verb\(plain(line[first], before: " ")); HELP lists them all")
        }
        verbAt(place)
        let verb = verbs[place]
        return try ParsedLine(cutting: line, as: verb, from: end).request(minting: newID)
    }

    /// The HTTP methods and extension methods that are no verbs of this protocol, and the name of
    /// the `Host` header, which every HTTP/1.1 request contains.
    private static let browserWords: Set<String> = [
        "GET", "POST", "PUT", "HEAD", "OPTIONS", "PATCH", "CONNECT", "TRACE", "PRI", "PROPFIND",
        "PROPPATCH", "MKCOL", "COPY", "MOVE", "LOCK", "UNLOCK", "REPORT", "SEARCH", "HOST:",
    ]

    /// Whether a line that begins with this word is part of an HTTP request.
    ///
    /// `DELETE` is a verb of both protocols, so an HTTP `DELETE` is recognised by its `Host:` line.
    private static func isHTTP(_ word: Slice<UnsafeRawBufferPointer>) -> Bool {
        let name = String(decoding: word.prefix(16), as: UTF8.self).uppercased()
        return (word.count <= 16 && browserWords.contains(name)) || name.hasPrefix("HOST:")
    }

    /// Returns the index of the verb that begins with `first`, and the line's index after the verb.
    private static func find(
        _ first: Range<Int>, in line: UnsafeRawBufferPointer, among verbs: [Verb]
    ) -> (place: Int, end: Int)? {
        guard let keyword = Keyword(UnsafeRawBufferPointer(rebasing: line[first])) else {
            return nil
        }
        for (place, verb) in verbs.enumerated() where verb.first == keyword {
            guard let second = verb.second else { return (place, first.upperBound) }
            if let word = nextWord(in: line, from: first.upperBound),
                Keyword(UnsafeRawBufferPointer(rebasing: line[word])) == second
            {
                return (place, word.upperBound)
            }
        }
        return nil
    }
}

extension ParsedLine {
    /// Returns the words after `HELP`; nil if the line contains only `HELP`.
    func help() -> String? {
        guard argumentCount > 0 else { return nil }
        return (0..<argumentCount)
            .map { String(decoding: bytes(ofArgument: $0), as: UTF8.self) }
            .joined(separator: " ")
    }
}

extension ParsedLine {
    /// Returns the secret as the client sent it, unchecked: the node compares it with its keys.
    func secret(_ index: Int) throws(LineError) -> Secret {
        guard let text = String(utf8: bytes(ofArgument: index)) else { throw .notUTF8 }
        return Secret(text)
    }
}

extension Request.SetLevel {
    init(_ words: borrowing ParsedLine) throws(LineError) {
        level = try words.choice(.ack, of: AckLevel.self) ?? .majority
        isStrict = try words.choice(.strict, of: Truth.self) == .yes
    }
}

extension Request.Wait {
    init(_ words: borrowing ParsedLine) throws(LineError) {
        replicas = try words.number(0)
        let milliseconds = try words.number(1, atMost: LineLimits.waitMillisecondsMax)
        timeout = .milliseconds(milliseconds)
    }
}

extension Request.Block {
    init(_ words: borrowing ParsedLine) throws(LineError) {
        node = try words.name(0)
        direction =
            words.argumentCount > 1 ? try words.choice(1, of: BlockDirection.self) : .both
    }
}

/// Whether all characters of the text have Unicode's property White_Space; true for an empty text.
public func isWhite(_ text: String) -> Bool {
    // Nearly every text begins with visible ASCII, which makes the Unicode check unnecessary.
    if let first = text.utf8.first, first > 0x20, first < 0x7F { return false }
    return text.unicodeScalars.allSatisfy(\.properties.isWhitespace)
}
