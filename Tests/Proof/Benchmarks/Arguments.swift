/// The error that ends a command early: one sentence for a person.
struct BenchError: Error, Hashable, CustomStringConvertible {
    enum Kind { case usage, failure }

    let kind: Kind
    let sentence: String

    init(_ sentence: String) {
        kind = .failure
        self.sentence = sentence
    }

    init(usage sentence: String) {
        kind = .usage
        self.sentence = sentence
    }

    var description: String { sentence }
}

/// The options of a command: `--name value` or `--name=value`, each at most once, and flags.
struct Arguments {
    private var values: [String: String] = [:]
    private var flags: Set<String> = []

    init(_ words: [String], flags known: Set<String>) throws(BenchError) {
        var rest = words[...]
        while let word = rest.popFirst() {
            guard word.hasPrefix("--") else { throw BenchError(usage: "unexpected word: \(word)") }
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            guard values[name] == nil, !flags.contains(name) else {
                throw BenchError(usage: "\(name) is given twice")
            }
            if known.contains(name), parts.count == 1 {
                flags.insert(name)
            } else if let value = parts.count > 1 ? String(parts[1]) : rest.popFirst() {
                values[name] = value
            } else {
                throw BenchError(usage: "\(name) needs a value")
            }
        }
    }

    /// Removes a flag, and returns whether it was given.
    mutating func remove(flag name: String) -> Bool { flags.remove(name) != nil }

    mutating func take<Value>(
        _ name: String, _ parse: (String) -> Value?
    ) throws(BenchError) -> Value? {
        guard let text = values.removeValue(forKey: name) else { return nil }
        guard let value = parse(text) else {
            throw BenchError(usage: "\(name) cannot be '\(text)'")
        }
        return value
    }

    mutating func removeNumber(_ name: String, in range: ClosedRange<Int>) throws(BenchError)
        -> Int?
    {
        try take(name) { Int($0).flatMap { range.contains($0) ? $0 : nil } }
    }

    /// Throws if an option is left that no caller has taken.
    func finish() throws(BenchError) {
        guard let name = flags.union(values.keys).min() else { return }
        throw BenchError(usage: "unknown option: \(name)")
    }
}
