import Wire

/// A line of a reply, parsed by a client.
public enum ReplyLine: Hashable, Sendable {
    case data(noun: String, ReplyFields)
    case ok(ReplyFields)
    case error(LineError)

    /// Whether the line is a status line, which ends a reply.
    public var isStatus: Bool {
        switch self {
        case .data: false
        case .ok, .error: true
        }
    }

    /// Parses a line without its line end; returns nil if the line is no reply of this protocol.
    public init?(_ line: UnsafeRawBufferPointer) {
        guard let head = nextWord(in: line, from: 0), head.lowerBound == 0,
            let word = String(utf8: UnsafeRawBufferPointer(rebasing: line[head]))
        else { return nil }
        if word == "ERR" {
            guard let error = Self.error(line, from: head.upperBound) else { return nil }
            self = .error(error)
            return
        }
        guard let fields = ReplyFields(line, from: head.upperBound) else { return nil }
        if word == "OK" {
            self = .ok(fields)
        } else {
            guard word.utf8.allSatisfy({ (0x41...0x5A).contains($0) }) else { return nil }
            self = .data(noun: word, fields)
        }
    }

    public init?(_ line: some Collection<UInt8>) {
        let parsed = Array(line).withUnsafeBytes { ReplyLine($0) }
        guard let parsed else { return nil }
        self = parsed
    }

    public init?(_ line: String) { self.init(line.utf8) }

    private static func error(_ line: UnsafeRawBufferPointer, from start: Int) -> LineError? {
        guard let word = nextWord(in: line, from: start), let code = decimal(line[word]),
            (100...999).contains(code),
            let sentence = String(
                utf8: UnsafeRawBufferPointer(
                    rebasing: line[min(word.upperBound + 1, line.count)...]))
        else { return nil }
        return LineError(code, sentence)
    }
}

/// The words and `key=value` pairs that follow the first word of a reply line.
public struct ReplyFields: Hashable, Sendable {
    public struct Pair: Hashable, Sendable {
        public let key: String
        public let value: String
    }

    /// The `key=value` pairs in the order in which the line contains them.
    public private(set) var pairs: [Pair] = []
    /// The words of the line that are not `key=value` pairs, as `pong` in `OK pong`.
    public private(set) var words: [String] = []

    /// The value of `key` without its quotes; the first value if the line contains the key twice.
    public subscript(_ key: String) -> String? {
        pairs.first { $0.key == key }?.value
    }

    /// Whether the line contains `key=true`.
    public func isTrue(_ key: String) -> Bool { self[key] == "true" }

    /// Returns the elements of a list separated by commas; empty if the line lacks the key.
    public func set(_ key: String) -> [String] {
        (self[key] ?? "").split(separator: ",").map(String.init)
    }

    init?(_ line: UnsafeRawBufferPointer, from start: Int) {
        var end = start
        while let word = nextWord(in: line, from: end) {
            let equals = line[word].firstIndex(of: UInt8(ascii: "="))
            guard let equals, equals > word.lowerBound else {
                guard equals == nil, let word = Self.text(line, word) else { return nil }
                words.append(word)
                end = nextWord(in: line, from: end)?.upperBound ?? line.count
                continue
            }
            guard let key = Self.text(line, word.lowerBound..<equals),
                let value = Self.value(line, from: equals + 1, &end)
            else { return nil }
            pairs.append(Pair(key: key, value: value))
        }
    }

    /// Reads the value that begins at `start`, and sets `end` to the index after the value.
    private static func value(
        _ line: UnsafeRawBufferPointer, from start: Int, _ end: inout Int
    ) -> String? {
        guard start < line.count, line[start] == UInt8(ascii: "\"") else {
            end = endOfWord(in: line, from: start)
            return text(line, start..<end)
        }
        guard let close = endOfQuoted(in: line, open: start),
            close == line.count || line[close] == UInt8(ascii: " ")
        else { return nil }
        end = close
        return unquoted(UnsafeRawBufferPointer(rebasing: line[(start + 1)..<(close - 1)]))
    }

    private static func text(_ line: UnsafeRawBufferPointer, _ range: Range<Int>) -> String? {
        String(utf8: UnsafeRawBufferPointer(rebasing: line[range]))
    }
}
