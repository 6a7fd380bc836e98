/// A line of a reply whose values are read where they stand, for readers that hand them on.
///
/// It points into the line, and lives no longer than its reading.
public struct LineView {
    /// The first word.
    public let noun: UnsafeRawBufferPointer
    private let line: UnsafeRawBufferPointer

    /// Reads a line without its end; nil where it has no first word.
    public init?(_ line: UnsafeRawBufferPointer) {
        guard let head = nextWord(in: line, from: 0), head.lowerBound == 0 else { return nil }
        noun = UnsafeRawBufferPointer(rebasing: line[head])
        self.line = line
    }

    public var isOK: Bool { noun.equals("OK") }
    public var isEvent: Bool { noun.equals("EVENT") }

    /// The error of an `ERR` line; nil for another line.
    public var error: LineError? {
        guard noun.equals("ERR"), case .error(let error)? = ReplyLine(line) else {
            return nil
        }
        return error
    }

    /// Calls `body` with each pair: its key, and its value without the quotes around it but with
    /// the escapes inside; these a quoted value alone may have.
    public func forEachPair(
        _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void
    ) {
        var end = noun.count
        while let word = nextWord(in: line, from: end) {
            end = word.upperBound
            let equals = line[word].firstIndex(of: UInt8(ascii: "="))
            guard let equals else { continue }
            var value = (equals + 1)..<word.upperBound
            if equals + 1 < line.count, line[equals + 1] == UInt8(ascii: "\""),
                let close = endOfQuoted(in: line, open: equals + 1)
            {
                value = (equals + 2)..<(close - 1)
                end = close
            }
            body(
                UnsafeRawBufferPointer(rebasing: line[word.lowerBound..<equals]),
                UnsafeRawBufferPointer(rebasing: line[value]))
        }
    }

    /// Returns the value of a key that is never quoted, such as a token; nil where it is missing.
    public func plainValue(of key: StaticString) -> String? {
        var found: String?
        forEachPair { name, value in
            if found == nil, name.equals(key) {
                found = String(decoding: value, as: UTF8.self)
            }
        }
        return found
    }
}

extension UnsafeRawBufferPointer {
    /// Whether these are the bytes of the word.
    func equals(_ word: StaticString) -> Bool {
        guard count == word.utf8CodeUnitCount else { return false }
        for index in indices where self[index] != word.utf8Start[index] { return false }
        return true
    }
}
