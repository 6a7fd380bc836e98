/// Words of a command line that make no sense, and what to do about it.
package struct UsageError: Error, Hashable, Sendable {
    package let sentence: String

    package init(_ sentence: String) { self.sentence = sentence }
}

/// The options of a command line: `--name value` or `--name=value`, each at most once, and flags.
struct Options {
    private var values: [String: String] = [:]

    init(_ words: [String], flags: Set<String> = []) throws(UsageError) {
        var rest = words[...]
        while let word = rest.popFirst() {
            guard word.hasPrefix("--") else {
                throw UsageError("unexpected word: \(word)")
            }
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            guard values[name] == nil else { throw UsageError("\(name) is given twice") }
            if parts.count > 1 {
                values[name] = String(parts[1])
            } else if flags.contains(name) {
                values[name] = "true"
            } else if let value = rest.popFirst() {
                values[name] = value
            } else {
                throw UsageError("\(name) needs a value")
            }
        }
        for flag in flags { values[flag] = nil }
    }

    mutating func optional<Value>(
        _ name: String, _ parse: (String) -> Value?
    ) throws(UsageError) -> Value? {
        guard let text = values.removeValue(forKey: name) else { return nil }
        guard let value = parse(text) else {
            throw UsageError("\(name) cannot be '\(text)' here")
        }
        return value
    }

    mutating func required<Value>(
        _ name: String, _ parse: (String) -> Value?
    ) throws(UsageError) -> Value {
        guard let value = try optional(name, parse) else {
            throw UsageError("\(name) is missing")
        }
        return value
    }

    /// Throws where an option is left over that nobody knows.
    func finish() throws(UsageError) {
        guard let name = values.keys.min() else { return }
        throw UsageError("unknown option: \(name)")
    }
}
