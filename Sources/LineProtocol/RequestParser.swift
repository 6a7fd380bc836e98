import Chat
import Wire

extension Request {
    /// Parses one line without its end; returns nil for one that is empty or only spaces.
    ///
    /// - Throws: 400, 413 or 429 with a description of the error. Errors that only a node can find
    ///   are not thrown, with one exception: a number that is beyond every shard's is 404.
    public static func parse(
        _ line: UnsafeRawBufferPointer, minting newID: () -> String
    ) throws(LineError) -> Request? {
        try parse(line, verbs: Verb.all, minting: newID)
    }

    /// - Parameters:
    ///   - traits: set to those of the line's verb, also where the rest of the line is invalid; nil
    ///     where there is no such verb.
    ///   - newID: creates the id of a message or an item that the line leaves to the node.
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

    /// The methods of HTTP and its extensions that are no verbs of this protocol, and the header
    /// that every HTTP request has.
    private static let browserWords: Set<String> = [
        "GET", "POST", "PUT", "HEAD", "OPTIONS", "PATCH", "CONNECT", "TRACE", "PRI", "PROPFIND",
        "PROPPATCH", "MKCOL", "COPY", "MOVE", "LOCK", "UNLOCK", "REPORT", "SEARCH", "HOST:",
    ]

    /// Whether a line that begins with this word belongs to an HTTP request.
    ///
    /// `DELETE` is also a verb of this protocol; the `Host:` line that follows it is not.
    private static func isHTTP(_ word: Slice<UnsafeRawBufferPointer>) -> Bool {
        let name = String(decoding: word.prefix(16), as: UTF8.self).uppercased()
        return (word.count <= 16 && browserWords.contains(name)) || name.hasPrefix("HOST:")
    }

    /// Returns the index of the verb whose words begin with `first`, and the index after them.
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
    /// Returns the words after `HELP`; nil where there are none.
    func help() -> String? {
        guard argumentCount > 0 else { return nil }
        return (0..<argumentCount)
            .map { String(decoding: bytes(ofArgument: $0), as: UTF8.self) }
            .joined(separator: " ")
    }
}

extension ParsedLine {
    /// Returns the secret as it is; the node refuses a wrong one.
    func secret(_ index: Int) throws(LineError) -> Secret {
        guard let text = LineProtocol.text(bytes(ofArgument: index)) else { throw .notUTF8 }
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

/// Whether every character has Unicode's property White_Space; true for an empty text.
public func isWhite(_ text: String) -> Bool {
    // For nearly every text the first byte decides.
    if let first = text.utf8.first, first > 0x20, first < 0x7F { return false }
    return text.unicodeScalars.allSatisfy(\.properties.isWhitespace)
}
